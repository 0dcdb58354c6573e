"""The settings of a replay: the model's own, with another learner or other values in the place of some."""

from collections.abc import Iterable
from typing import Any

import msgspec

from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS, from_settings, require_click_learner, to_settings
from rankloop.live.models import require_affordable
from rankloop.live.requests import Limits
from rankloop.live.settings import ModelSettings
from rankloop.live.staleness import is_foldable
from rankloop.live.start import settled
from rankloop.mistakes import explained
from rankloop.settings import parse_setting

CHANGEABLE = ("scaling", "start", "late_updates", "guards")
"""Of the model's own settings. The others say what is in the log, and cannot be otherwise."""


def other_settings(own: ModelSettings, learner: str | None = None, changes: Iterable[str] = ()) -> ModelSettings:
    """A model's settings with another learner and with changes such as `learning_rate=0.03` or `guards.update_cap=1`.

    A learner of the same name keeps the settings that are not changed; another one begins with its own defaults.

    >>> shop = ModelSettings(name="shop", features=2, seed=1)
    >>> other_settings(shop, "PDGD", ["learning_rate=0.03"]).learner
    PDGD(learning_rate=0.03)
    >>> other_settings(shop, "ROLTR", ["learning_rat=0.03"])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: replay: there is no setting 'learning_rat'; ROLTR has reward, ...
    """
    method: dict[str, Any] = to_settings(own.learner)
    if learner is not None and learner != own.learner.name:
        method = {"learner": learner}
    model: dict[str, Any] = msgspec.to_builtins(own)
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise SettingsError(f"replay: a change must look like SETTING=VALUE; got {change!r}")
        _change(method, model, name.strip(), parse_setting(text.strip()))
    chosen = from_settings(method)
    require_click_learner("replay", chosen)
    model["learner"] = to_settings(chosen)
    try:
        changed = msgspec.convert(model, ModelSettings)
        if type(changed.learner) is not type(own.learner) or changed.start != own.start:
            changed = settled(changed)
    except msgspec.ValidationError as error:
        raise SettingsError(f"replay: {explained(error, ModelSettings, model)}") from None
    require_foldable(own, changed)
    if changed != own:
        require_affordable(changed, Limits())
    return changed


def require_foldable(own: ModelSettings, other: ModelSettings) -> None:
    """Refuse methods that can learn from nothing but pages that they filled themselves."""
    old, new = own.learner, other.learner
    if not is_foldable(own, other):
        able = [name for name, kind in LEARNERS.items() if not kind.needs_grades() and not kind.needs_own_pages]
        raise SettingsError(
            f"replay: {new.name} learns by comparing rankers on pages that they filled together, and these pages were "
            f"drawn by {old!r}; choose one of {', '.join(able[:-1])} or {able[-1]}"
        )


def _change(method: dict[str, Any], model: dict[str, Any], name: str, value: Any) -> None:
    fields = LEARNERS[method["learner"]].__struct_fields__ if method["learner"] in LEARNERS else ()
    first, _, rest = name.partition(".")
    if name in fields:
        method[name] = value
    elif first == "guards" and rest:
        model["guards"] = model["guards"] | {rest: value}
    elif first == "actions" and rest:
        if rest not in model["actions"]:
            raise SettingsError(f"replay: {rest!r} is not one of the model's actions: {', '.join(model['actions'])}")
        model["actions"] = model["actions"] | {rest: value}
    elif name in CHANGEABLE:
        model[name] = value
    else:
        raise SettingsError(
            f"replay: there is no setting {name!r}; {method['learner']} has {', '.join(fields)}, and of the model "
            f"{', '.join(CHANGEABLE)} and the values of actions (actions.NAME) can be changed"
        )
