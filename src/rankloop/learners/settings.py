"""Settings that several methods have, each with what it may be."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from rankloop import rankers
from rankloop.errors import SettingsError
from rankloop.rankers import INITIALS
from rankloop.settings import Rule, choice, number, whole_number

LearningRate = Annotated[float, number(above=0, usable=(1e-12, 1e6))]
Decay = Annotated[float, number(above=0, at_most=1)]
Floor = Annotated[float, number(at_least=0, usable=(0.0, 1e6))]
Temperature = Annotated[float, number(above=0, usable=(1e-6, 1e6))]
Delta = Annotated[float, number(above=0, usable=(1e-12, 1e6))]
Initial = Annotated[str, choice(INITIALS)]
Rivals = Annotated[int, whole_number(at_least=1)]
"""How many rankers are compared with the current one."""


def _ranker(owner: str, name: str, value: Any) -> rankers.Ranker:
    """A ranker, or one that plain values describe: which kinds there are is known when a setting is read."""
    if isinstance(value, dict):
        try:
            return rankers.from_settings(value)
        except SettingsError as error:
            raise SettingsError(f"{owner}: {name}: {error}") from None
    if isinstance(value, str) and value in rankers.RANKERS:
        raise SettingsError(
            f'{owner}: {name} must be the settings of a ranker, in a file {{ kind = "{value}" }}; got {value!r}'
        )
    if isinstance(value, type) or not hasattr(value, "several"):
        raise SettingsError(f"{owner}: {name} must be the settings of a ranker, such as rl.Linear(); got {value!r}")
    made: rankers.Ranker = value
    return made


if TYPE_CHECKING:
    Ranker = rankers.Ranker
else:
    _DESCRIBED = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    Ranker = Annotated[Any, Rule(_ranker), msgspec.Meta(extra_json_schema=_DESCRIBED)]
