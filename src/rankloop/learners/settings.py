"""Settings that several methods have, each with what it may be."""

from typing import Annotated, Any

from rankloop.errors import SettingsError
from rankloop.rankers import INITIALS
from rankloop.rankers import Ranker as AnyRanker
from rankloop.settings import Rule, choice, number, whole_number

LearningRate = Annotated[float, number(above=0, usable=(1e-12, 1e6))]
Decay = Annotated[float, number(above=0, at_most=1)]
Floor = Annotated[float, number(at_least=0, usable=(0.0, 1e6))]
Temperature = Annotated[float, number(above=0, usable=(1e-6, 1e6))]
Delta = Annotated[float, number(above=0, usable=(1e-12, 1e6))]
Initial = Annotated[str, choice(INITIALS)]
Rivals = Annotated[int, whole_number(at_least=1)]
"""How many rankers are compared with the current one."""


def _require_ranker(owner: str, name: str, value: Any) -> Any:
    if isinstance(value, type) or not hasattr(value, "several"):
        raise SettingsError(f"{owner}: {name} must be the settings of a ranker, such as rl.Linear(); got {value!r}")
    return value


Ranker = Annotated[AnyRanker, Rule(_require_ranker)]
