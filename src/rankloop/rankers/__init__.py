"""From features to scores, and the way back of a gradient. One file per kind; a new one is one line in `RANKERS`.

>>> from_settings({"kind": "linear"})
Linear()
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from rankloop.errors import SettingsError
from rankloop.mistakes import explained
from rankloop.plugins import HINT
from rankloop.rankers.contract import RANKERS, Ranker
from rankloop.rankers.linear import INITIALS, LINEAR, Linear, LinearWeights, starting_weights
from rankloop.rankers.mlp import MLP

for _kind in (Linear, MLP):
    RANKERS.add(_kind)


def from_settings(settings: dict[str, Any]) -> Ranker:
    """The ranker that plain values describe; unknown kinds and keys are refused."""
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in RANKERS:
        raise SettingsError(f"kind must be one of {', '.join(RANKERS)}; got {kind!r}{HINT}")
    try:
        made: Ranker = msgspec.convert(settings, RANKERS[kind])
    except msgspec.ValidationError as error:
        raise SettingsError(explained(error, RANKERS[kind], settings)) from None
    return made


def weight_count(ranker: Any, features: int) -> int:
    """How many weights a ranker has on so many features, whatever its kind."""
    return int(ranker.parameters("zeros", features, 0).weights.size)


def weight_names(ranker: Any, features: Sequence[str]) -> list[str]:
    """A name for every weight: the feature's own where there is one weight per feature.

    >>> weight_names(Linear(), ["price"]), weight_names(MLP(hidden=(1,)), ["price"])
    (['price'], ['price → 1.1', 'bias → 1.1', '1.1 → score'])
    """
    if hasattr(ranker, "weight_names"):
        return list(ranker.weight_names(features))
    count = weight_count(ranker, len(features))
    return list(features) if count == len(features) else [f"weight {number + 1}" for number in range(count)]


__all__ = [
    "INITIALS",
    "LINEAR",
    "MLP",
    "RANKERS",
    "Linear",
    "LinearWeights",
    "Ranker",
    "from_settings",
    "starting_weights",
    "weight_count",
    "weight_names",
]
