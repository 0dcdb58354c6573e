"""What to try: the values of each searched setting, checked against the learner before anything runs."""

import tomllib
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import msgspec
import numpy as np

from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS, Learner, from_settings, to_settings
from rankloop.settings import parse_value

LEARNING_RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


def search_space(learner: Learner, search: Mapping[str, Sequence[Any]] | None = None) -> dict[str, list[Any]]:
    """The values to try by setting, as plain values; refused, with a sentence, where the learner cannot take them.

    >>> from rankloop import PDGD
    >>> search_space(PDGD(), {"learning_rat": [0.1]})
    Traceback (most recent call last):
    rankloop.errors.SettingsError: tune: PDGD has no setting 'learning_rat'; it has learning_rate, ...
    """
    known = [entry.name for entry in msgspec.structs.fields(LEARNERS[learner.name])]
    if search is None:
        if "learning_rate" not in known:
            raise SettingsError(f"tune: {learner.name} has no learning_rate; say which settings to search")
        search = {"learning_rate": LEARNING_RATES}
    if not search:
        raise SettingsError("tune: search must name at least one setting")
    for name, values in search.items():
        if name not in known:
            raise SettingsError(f"tune: {learner.name} has no setting {name!r}; it has {', '.join(known) or 'none'}")
        listed = isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))
        if not listed or len(values) == 0:
            raise SettingsError(f"tune: {name} must be a list of values to try, at least one; got {values!r}")
    space = {name: [_plain(value) for value in values] for name, values in search.items()}
    for name, values in space.items():
        for value in values:
            _with(learner, {name: value})
    return space


def parse_search(texts: Sequence[str]) -> dict[str, list[Any]] | None:
    """A search from the command line's `SETTING=VALUE,VALUE,…`; values as in TOML, bare words are text.

    >>> parse_search(["learning_rate=0.001,0.01", "reward=ips+,naive+", "baseline=true,false"])
    {'learning_rate': [0.001, 0.01], 'reward': ['ips+', 'naive+'], 'baseline': [True, False]}
    """
    search: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise SettingsError(f"tune: --set takes SETTING=VALUE,VALUE,…; got {text!r}")
        if name.strip() in search:
            raise SettingsError(f"tune: {name.strip()} is set twice; give all its values at once, with commas")
        search[name.strip()] = _values(values)
    return search or None


def learners_of(learner: Learner, space: dict[str, list[Any]]) -> list[Any]:
    """The learner of every point of the grid; the same point twice is one."""
    learners: list[Any] = []
    for values in product(*space.values()):
        one = _with(learner, dict(zip(space, values, strict=True)))
        if one not in learners:
            learners.append(one)
    return learners


def chosen_of(learner: Learner, space: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a learner has for the searched settings."""
    return {name: _plain(getattr(learner, name)) for name in space}


def _with(learner: Learner, settings: dict[str, Any]) -> Any:
    try:
        return from_settings(to_settings(learner) | settings)
    except SettingsError as error:
        raise SettingsError(f"tune: {error}") from None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else msgspec.to_builtins(value)


def _values(text: str) -> list[Any]:
    try:
        return list(tomllib.loads(f"values = [{text}]")["values"])
    except tomllib.TOMLDecodeError:
        return [parse_value(word.strip()) for word in text.split(",")]
