"""From features to scores, and the way back of a gradient. One file per kind; a new one is one line in `RANKERS`.

>>> from_settings({"kind": "linear"})
Linear()
"""

from typing import Any

import msgspec

from rankloop.errors import SettingsError
from rankloop.plugins import HINT
from rankloop.rankers.contract import RANKERS, Ranker
from rankloop.rankers.linear import INITIALS, LINEAR, Linear, LinearWeights, starting_weights
from rankloop.settings import explained

for _kind in (Linear,):
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


__all__ = [
    "INITIALS",
    "LINEAR",
    "RANKERS",
    "Linear",
    "LinearWeights",
    "Ranker",
    "from_settings",
    "starting_weights",
]
