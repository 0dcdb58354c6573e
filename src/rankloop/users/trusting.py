"""People who trust the ranking: near the top they click what they should not (Agarwal et al., 2019).

P(click at rank k) = θ_k (ε⁺_k γ + ε⁻_k (1 − γ)) = α_k γ + β_k,   α = θ (ε⁺ − ε⁻), β = θ ε⁻
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Split
from rankloop.propensities import Propensities
from rankloop.propensities.curves import Examination, curve_of
from rankloop.settings import settle
from rankloop.users.attraction import Attracted, Attraction
from rankloop.users.behaviour import Behaviour

_SETTINGS = ("examination", "attracted", "repelled")


class Trust(Attracted, frozen=True):
    """Examination by rank, and clicks that depend on the rank as well as on the document.

    Args:
        attraction: γ, as of `PositionBased`: how likely somebody finds the document relevant.
        examination: θ, as of `PositionBased`; by default .35/(r + 1) + .65/(1 + .05 r), with r = k − 1.
        attracted: ε⁺, P(click | examined, found relevant) by rank, as a curve; by default 1/(1 + .005 r).
        repelled: ε⁻, P(click | examined, not found relevant) by rank; by default .65/(r + 1).

    >>> trust("perfect").click_probabilities([0, 0]).round(3)
    array([0.65 , 0.258])
    """

    examination: Examination | None = None
    attracted: Examination | None = None
    repelled: Examination | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for setting in _SETTINGS:
            if getattr(self, setting) is not None:
                settle(self, **{setting: curve_of("Trust", setting, getattr(self, setting))})

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """Everybody looks by rank, and clicks with ε⁺ or ε⁻."""
        r = np.arange(page_size)
        theta = _given(self.examination, page_size, 0.35 / (r + 1) + 0.65 / (1 + 0.05 * r))
        plus = _given(self.attracted, page_size, 1 / (1 + 0.005 * r))
        minus = _given(self.repelled, page_size, 0.65 / (r + 1))
        gammas, by_row = self.gammas(split)
        return Behaviour.of(page_size, gammas, by_row=by_row, look=theta, plus=plus, minus=minus)


def _given(curve: Any, ranks: int, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    if curve is None:
        return otherwise
    settled: Propensities = curve
    return settled.at(ranks)


def trust(
    attraction: Attraction,
    *,
    examination: Any = None,
    attracted: Any = None,
    repelled: Any = None,
    grades: int | None = None,
    name: str = "",
) -> Trust:
    """People who trust the ranking: `trust("noisy")`."""
    made = Trust(attraction, examination, attracted, repelled, name=name)
    return made if grades is None else made.graded(grades)
