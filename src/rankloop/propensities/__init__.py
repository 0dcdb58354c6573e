"""What somebody believes about examination: the probability that a person looks at a rank at all.

The simulated user follows one curve, the learner assumes another; when the two differ, the paper's RQ5
begins. Both are made here. What is estimated from pages is compiled, and loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloop.propensities.curves import Known, PowerLaw, Propensities, known, named, power_law

if TYPE_CHECKING:
    from rankloop.propensities.learning import Learned, learned
    from rankloop.propensities.rank_effect import RankEffect
    from rankloop.propensities.swaps import SwapCurve, Swaps
    from rankloop.propensities.trust_effect import TrustEffect

__all__ = [
    "Known",
    "Learned",
    "PowerLaw",
    "Propensities",
    "RankEffect",
    "SwapCurve",
    "Swaps",
    "TrustEffect",
    "known",
    "learned",
    "named",
    "power_law",
]

_COMPILED = {
    "Learned": "learning",
    "learned": "learning",
    "RankEffect": "rank_effect",
    "SwapCurve": "swaps",
    "Swaps": "swaps",
    "TrustEffect": "trust_effect",
}


def __getattr__(name: str) -> Any:
    if name not in _COMPILED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_COMPILED[name]}"), name)
    globals()[name] = value
    return value
