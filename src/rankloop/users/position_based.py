"""People who look at a rank with a probability of its own, and click what they see as its grade deserves.

    P(click at rank k) = P(examined at k) · P(click | examined, grade)

Ranks are independent and nobody stops: the position-based model of the paper.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.draws import USER, stream_key, uniform
from rankloop.propensities import Known, PowerLaw, Propensities
from rankloop.propensities.curves import BELIEF
from rankloop.settings import require_choice, require_probabilities, require_whole_number, settle
from rankloop.users.contract import click

# P(click | examined) by grade, for five- and three-grade labels. Perfect and noisy are the paper's Table 1;
# navigational and near-random are the click probabilities of the same names in the online learning to rank
# literature (Hofmann et al., 2013; Oosterhuis and de Rijke, 2018).
ATTRACTIONS: dict[str, dict[int, tuple[float, ...]]] = {
    "perfect": {5: (0.0, 0.2, 0.4, 0.8, 1.0), 3: (0.0, 0.5, 1.0)},
    "noisy": {5: (0.4, 0.6, 0.7, 0.8, 0.9), 3: (0.4, 0.7, 0.9)},
    "navigational": {5: (0.05, 0.3, 0.5, 0.7, 0.95), 3: (0.05, 0.5, 0.95)},
    "near-random": {5: (0.4, 0.45, 0.5, 0.55, 0.6), 3: (0.4, 0.5, 0.6)},
}


class PositionBased(msgspec.Struct, frozen=True, tag="position_based", tag_field="kind"):
    """Examination by rank × attraction by grade.

    `examination` is a curve over ranks (the power law with η = 1 unless told otherwise) or a list with one
    probability per rank.

    >>> user = PositionBased(attraction=[0.1, 0.9], examination=[1.0, 0.5])
    >>> user.click_probabilities([1, 0])
    array([0.9 , 0.05])
    """

    attraction: tuple[float, ...]
    examination: Propensities = BELIEF
    name: str = "custom"

    def __post_init__(self) -> None:
        settle(self, attraction=require_probabilities("PositionBased", "attraction", self.attraction))
        if not isinstance(self.examination, (PowerLaw, Known)):
            listed = require_probabilities("PositionBased", "examination", self.examination)
            settle(self, examination=Known(listed))

    def click_probabilities(self, page_grades: Sequence[int]) -> NDArray[np.float64]:
        """P(click) for each rank of a page with these grades."""
        grades = np.array([require_whole_number("user", "grade", grade) for grade in page_grades], dtype=np.int64)
        self.check_grades(int(grades.max(initial=0)), "the page")
        return self.examination.at(len(grades)) * np.array(self.attraction)[grades]

    def clicks(self, page_grades: Sequence[int], seed: int, impression: int) -> NDArray[np.float64]:
        """What this user does on the page of an impression: the very draws of the simulation with that seed.

        >>> PositionBased(attraction=[0.0, 1.0], examination=[1.0, 1.0]).clicks([1, 0], seed=1, impression=0)
        array([1., 0.])
        """
        grades = np.array(page_grades, dtype=np.int64)
        clicks = np.zeros(len(grades))
        click_by_position(self.compiled(len(grades)), grades, np.uint64(seed), impression, clicks)
        return clicks

    def check_grades(self, highest: int, where: str) -> None:
        """Refuse grades for which this user has no click probability."""
        if highest >= len(self.attraction):
            raise SettingsError(
                f"user {self.name!r} knows grades 0 to {len(self.attraction) - 1}, but {where} has "
                f"grade {highest}; choose a user with one click probability for each grade"
            )

    def compiled(self, page_size: int) -> "PositionBasedClicks":
        """What the compiled loop needs to know of this user."""
        return PositionBasedClicks(np.array(self.attraction), self.examination.at(page_size))


class PositionBasedClicks(NamedTuple):
    """(grades,) attraction and (ranks,) examination."""

    attraction: NDArray[np.float64]
    examination: NDArray[np.float64]


@implements(click, PositionBasedClicks)
@kernel
def click_by_position(user, page_grades, seed, impression, clicks):
    """c_k ~ Bernoulli(attraction[grade_k] · examination[k]), one draw per rank."""
    key = stream_key(seed, USER, impression)
    for k in range(page_grades.size):
        probability = user.attraction[page_grades[k]] * user.examination[k]
        clicks[k] = 1.0 if uniform(key, k) < probability else 0.0


def perfect(grades: int = 5, eta: float = 1.0) -> PositionBased:
    """A user who sees relevance as it is and never clicks an irrelevant document."""
    return by_name("perfect", grades, eta)


def noisy(grades: int = 5, eta: float = 1.0) -> PositionBased:
    """A user who also clicks irrelevant documents and skips relevant ones."""
    return by_name("noisy", grades, eta)


def navigational(grades: int = 5, eta: float = 1.0) -> PositionBased:
    """A user who looks for one page: few clicks on anything that is not highly relevant."""
    return by_name("navigational", grades, eta)


def near_random(grades: int = 5, eta: float = 1.0) -> PositionBased:
    """A user whose clicks say almost nothing about relevance."""
    return by_name("near-random", grades, eta)


def by_name(name: str, grades: int = 5, eta: float = 1.0) -> PositionBased:
    """One of the literature's users, for labels with five or three grades."""
    require_choice("user", "name", name, ATTRACTIONS)
    if grades not in ATTRACTIONS[name]:
        raise SettingsError(
            f"user {name!r} is defined for 5 or 3 grades; got {grades!r}. "
            f"For others give your own table: PositionBased(attraction=[...])"
        )
    return PositionBased(ATTRACTIONS[name][grades], PowerLaw(eta), name)
