"""From the fields of a form to the settings of a model or an experiment: whatever is wrong is said in a sentence."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from rankloop.errors import SettingsError
from rankloop.live.challengers import ChallengerSettings
from rankloop.live.errors import RequestError
from rankloop.live.experiments import ExperimentSettings
from rankloop.live.settings import ModelSettings
from rankloop.mistakes import explained

T = TypeVar("T")
FIELDS = {
    "name": "", "features": "", "start": "engine", "engine": "", "page_size": "10", "control": "5", "window": "30",
    "missing": "",
}  # fmt: skip
"""Of the form that makes a model, as it is first shown."""


def model_of(fields: Mapping[str, str]) -> ModelSettings:
    """The settings that somebody typed in; features are separated by commas or lines."""
    names = [name for part in re.split(r"[,\n]", fields.get("features", "")) if (name := part.strip())]
    if not names:
        raise _bad("features: name at least one number that comes with each result, such as bm25 or price")
    given: dict[str, Any] = {
        "name": fields.get("name", "").strip(),
        "features": names,
        "page_size": _number(fields, "page_size", whole=True),
        "window": 60 * _number(fields, "window"),
        "guards": {"control": _number(fields, "control") / 100},
    }
    if fields.get("start", "engine") == "engine":
        engine = fields.get("engine", "").strip()
        given["start"] = {"from": "incoming"} | ({"feature": engine} if engine else {})
    if fields.get("missing", "").strip():
        given["missing"] = _number(fields, "missing")
    return _converted(given, ModelSettings)


def experiment_of(arms: list[str], fields: Mapping[str, str]) -> ExperimentSettings:
    """The experiment that somebody chose."""
    return _converted({"arms": arms, "share": _number(fields, "share") / 100}, ExperimentSettings)


def challenger_of(fields: Mapping[str, str]) -> ChallengerSettings:
    """A challenger with another method, and a name if one was typed."""
    given: dict[str, Any] = {"learner": {"learner": fields.get("learner", "")}}
    if name := fields.get("name", "").strip():
        given["name"] = name
    return _converted(given, ChallengerSettings)


def _converted(given: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise _bad(explained(error, kind, given)) from None
    except SettingsError as error:
        raise _bad(str(error)) from None


def _number(fields: Mapping[str, str], name: str, *, whole: bool = False) -> Any:
    text = fields.get(name, "").strip()
    try:
        return int(text) if whole else float(text)
    except ValueError:
        what = "a whole number" if whole else "a number"
        raise _bad(f"{name.replace('_', ' ')}: must be {what}; got {text[:40]!r}") from None


def _bad(message: str) -> RequestError:
    return RequestError("invalid_request", message)
