"""People who read on until they are satisfied or tired: the dynamic Bayesian network (Chapelle and Zhang, 2009).

Somebody who clicks is satisfied with probability σ and leaves; whoever is not satisfied, or did not click, goes on with
probability λ.
"""

from typing import Annotated, Self

from rankloop.data.collection import Split
from rankloop.settings import number, settle
from rankloop.users.attraction import Attracted, Attraction
from rankloop.users.behaviour import Behaviour
from rankloop.users.stopping import Stopping, graded_stopping, settled_stopping, stops_of


class DynamicBayesianNetwork(Attracted, frozen=True):
    """Goes on with λ (1 − σ) after a click, with λ after a skip.

    Args:
        attraction: P(click | examined), as of `PositionBased`.
        satisfaction: σ for each grade, or the name of a table of P(stop); by default the one of the attraction's name.
        continuation: λ.

    >>> dbn("perfect").click_probabilities([4, 4, 4])
    array([1.  , 0.9 , 0.81])
    """

    satisfaction: Stopping = None
    continuation: Annotated[float, number(at_least=0, at_most=1)] = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, satisfaction=settled_stopping(self, "satisfaction", self.satisfaction))

    def default_name(self) -> str:
        """By the abbreviation that everybody uses."""
        return f"{self.taste} DBN"

    def graded(self, grades: int) -> Self:
        """The same person, with the tables for labels with so many grades."""
        made: Self = graded_stopping(super().graded(grades), "satisfaction", grades)
        return made

    @property
    def grades(self) -> int | None:
        """How many grades both tables are for."""
        return len(stops_of(self.satisfaction)) if super().grades is None else super().grades

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """Satisfied people leave, the others get tired."""
        gammas, by_row = self.gammas(split)
        after_click = self.continuation * (1.0 - stops_of(self.satisfaction))
        return Behaviour.of(
            page_size, gammas, by_row=by_row, after_click=after_click, after_skip=self.continuation
        )  # fmt: skip


def dbn(
    attraction: Attraction,
    *,
    satisfaction: Stopping = None,
    continuation: float = 0.9,
    grades: int | None = None,
    name: str = "",
) -> DynamicBayesianNetwork:
    """People who leave when they are satisfied, or tired: `dbn("navigational")`."""
    made = DynamicBayesianNetwork(attraction, satisfaction, continuation, name=name)
    return made if grades is None else made.graded(grades)
