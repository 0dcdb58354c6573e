"""Examination curves over ranks: the power law of the paper, curves of the literature by name, or any list."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.settings import require_choice, require_number, require_probabilities, settle


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


Examination = PowerLaw | Known | tuple[float, ...] | str
"""A curve as settings may give it: as one, as a list of probabilities, or by name."""

POWER_LAW = "power-law"
CURVES = {
    "baidu": (1.0, 0.674, 0.414, 0.293, 0.208, 0.171, 0.136, 0.117, 0.084, 0.058),
    "eye-tracking": (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06),
    "slow": (1.0, 0.85, 0.70, 0.60, 0.50, 0.45, 0.40, 0.36, 0.33, 0.30),
}
"""Curves for ten ranks: measured on a search engine, measured with eye tracking, and one that falls slowly."""


def curve_of(owner: str, name: str, value: Any) -> Propensities:
    """The curve that a setting means; refuse what means none. Equal to the default, it *is* the default."""
    if isinstance(value, str):
        require_choice(owner, name, value, (POWER_LAW, *CURVES))
        return BELIEF if value == POWER_LAW else Known(CURVES[value])
    if not isinstance(value, (PowerLaw, Known)):
        return Known(require_probabilities(owner, name, value))
    return BELIEF if value == BELIEF else value


def named(name: str) -> Propensities:
    """A curve by name: `power-law` (η = 1), `baidu`, `eye-tracking` or `slow`.

    >>> named("slow").at(3)
    array([1.  , 0.85, 0.7 ])
    """
    return curve_of("propensities", "name", name)


def assumed(owner: str, name: str, curve: object, what: str = "") -> Propensities:
    """The curve; refuse anything that is none. Equal to the default, it *is* the default, and not printed.

    `what` is said of it in the refusal: what the owner does with it, or takes in its place.
    """
    if not isinstance(curve, (PowerLaw, Known)):
        raise SettingsError(
            f"{owner}: {name} must be rl.propensities.power_law(eta) or .known([...]){what}; got {curve!r}"
        )
    return BELIEF if curve == BELIEF else curve


def power_law(eta: float = 1.0) -> PowerLaw:
    """P(examined at rank k) = (1/k)^η, the paper's position bias."""
    return PowerLaw(eta)


def known(values: Sequence[float]) -> Known:
    """The probability of examination for each rank, from the top."""
    return Known(tuple(values))
