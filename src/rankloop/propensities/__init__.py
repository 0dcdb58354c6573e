"""What somebody believes about examination: the probability that a person looks at a rank at all.

The simulated user follows one curve, the learner assumes another; when the two differ, the paper's RQ5
begins. Both are made here.
"""

from rankloop.propensities.curves import Known, PowerLaw, Propensities, known, named, power_law
from rankloop.propensities.learned import Learned, learned
from rankloop.propensities.rank_effect import RankEffect
from rankloop.propensities.swaps import SwapCurve, Swaps

__all__ = [
    "Known",
    "Learned",
    "PowerLaw",
    "Propensities",
    "RankEffect",
    "SwapCurve",
    "Swaps",
    "known",
    "learned",
    "named",
    "power_law",
]
