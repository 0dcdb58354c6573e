"""People who look at a rank with a probability of its own, and click what they see as its grade deserves.

    P(click at rank k) = P(examined at k) · P(click | examined, grade)

Ranks are independent and nobody stops: the position-based model of the paper.
"""

from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.propensities import PowerLaw, Propensities
from rankloop.propensities.curves import BELIEF, Examination, curve_of
from rankloop.settings import require_choice, settle
from rankloop.users.attraction import ATTRACTIONS, Attracted
from rankloop.users.behaviour import Behaviour


class PositionBased(Attracted, frozen=True):
    """Examination by rank × attraction by grade.

    Args:
        attraction: P(click | examined) for each grade; the name of a table (`"noisy"`), which is chosen by the
            grades of the collection; `ByGain` or `ByAttribute`.
        examination: a curve over ranks (the power law with η = 1 unless told otherwise), the name of one (`"baidu"`,
            `"eye-tracking"`, `"slow"`), or a list with one probability per rank.

    >>> user = PositionBased(attraction=[0.1, 0.9], examination=[1.0, 0.5])
    >>> user.click_probabilities([1, 0])
    array([0.9 , 0.05])
    >>> PositionBased("noisy", examination="slow").name
    'noisy (slow)'
    """

    examination: Examination = BELIEF

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, examination=curve_of("PositionBased", "examination", self.examination))

    def default_name(self) -> str:
        """The taste, and the examination curve if it has a name."""
        return f"{self.taste} ({self.examination})" if isinstance(self.examination, str) else self.taste

    @property
    def rank_examination(self) -> Propensities:
        """The examination curve."""
        return curve_of("PositionBased", "examination", self.examination)

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """Everybody looks by rank, whatever they clicked before."""
        gammas, by_row = self.gammas(split)
        return Behaviour.of(page_size, gammas, by_row=by_row, look=self.rank_examination.at(page_size))


def perfect(grades: int | None = None, eta: float = 1.0) -> PositionBased:
    """A user who sees relevance as it is and never clicks an irrelevant document."""
    return by_name("perfect", grades, eta)


def noisy(grades: int | None = None, eta: float = 1.0) -> PositionBased:
    """A user who also clicks irrelevant documents and skips relevant ones."""
    return by_name("noisy", grades, eta)


def navigational(grades: int | None = None, eta: float = 1.0) -> PositionBased:
    """A user who looks for one page: few clicks on anything that is not highly relevant."""
    return by_name("navigational", grades, eta)


def near_random(grades: int | None = None, eta: float = 1.0) -> PositionBased:
    """A user whose clicks say almost nothing about relevance."""
    return by_name("near-random", grades, eta)


def by_name(name: str, grades: int | None = None, eta: float = 1.0) -> PositionBased:
    """One of the literature's users, for labels with five or three grades; None: as the collection has."""
    require_choice("user", "name", name, ATTRACTIONS)
    user = PositionBased(name, PowerLaw(eta), name=name)
    if grades is None:
        return user
    if grades not in ATTRACTIONS[name]:
        raise SettingsError(
            f"user {name!r} is defined for 5 or 3 grades; got {grades!r}. "
            f"For others give your own table: PositionBased(attraction=[...])"
        )
    return user.graded(grades)
