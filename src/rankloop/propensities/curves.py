"""Examination curves over ranks: the power law of the paper, or any list of probabilities."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.settings import require_number, require_probabilities, settle


class PowerLaw(msgspec.Struct, frozen=True, tag="power_law", tag_field="kind", forbid_unknown_fields=True):
    """P(examined at rank k) = (1/k)^η. η = 0: everybody sees everything.

    >>> PowerLaw(eta=1.0).at(4)
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    eta: float = 1.0

    def __post_init__(self) -> None:
        settle(self, eta=require_number("power_law", "eta", self.eta, at_least=0))

    def at(self, ranks: int) -> NDArray[np.float64]:
        """The probabilities of ranks 1 … `ranks`."""
        return np.power(1.0 / np.arange(1, ranks + 1), self.eta)


class Known(msgspec.Struct, frozen=True, tag="known", tag_field="kind", forbid_unknown_fields=True):
    """One probability per rank, from the top.

    >>> Known((0.9, 0.5)).at(2)
    array([0.9, 0.5])
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        settle(self, values=require_probabilities("known", "values", self.values))

    def at(self, ranks: int) -> NDArray[np.float64]:
        """The probabilities of ranks 1 … `ranks`."""
        if ranks > len(self.values):
            raise SettingsError(
                f"propensities are given for {len(self.values)} ranks, but a page shows {ranks}; "
                f"give one probability per rank"
            )
        return np.array(self.values[:ranks])


Propensities = PowerLaw | Known

BELIEF = PowerLaw(1.0)
"""What a learner assumes unless told otherwise, and what a user does."""


def assumed(owner: str, name: str, curve: object) -> Propensities:
    """The curve; refuse anything that is none. Equal to the default, it *is* the default, and not printed."""
    if not isinstance(curve, (PowerLaw, Known)):
        raise SettingsError(
            f"{owner}: {name} must be rl.propensities.power_law(eta) or rl.propensities.known([...]); got {curve!r}"
        )
    return BELIEF if curve == BELIEF else curve


def power_law(eta: float = 1.0) -> PowerLaw:
    """P(examined at rank k) = (1/k)^η, the paper's position bias."""
    return PowerLaw(eta)


def known(values: Sequence[float]) -> Known:
    """The probability of examination for each rank, from the top."""
    return Known(tuple(values))
