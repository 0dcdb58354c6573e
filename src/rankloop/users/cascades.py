"""People who read a page from the top and may stop: the cascade, with both meanings of *stop* that are in circulation.

They begin at the first rank and click what they see with probability γ. The same tables of P(stop) go with two rules:

- `stop="after-click"`: who has clicked stops with P(stop); who has not goes on. The dependent click model, as in lerot
  and in the code of the ROLTR authors.
- `stop="anywhere"`: P(stop) applies at every document that is read, clicked or not. The code of the PDGD and PairRank
  papers.

They are far apart: on a page of irrelevant documents the navigational person reads 9.6 of 10 ranks under the first
rule, 4.5 under the second.
"""

from typing import Annotated, Any, Literal, Self

import numpy as np

from rankloop.data.collection import Split
from rankloop.settings import choice, settle
from rankloop.users.attraction import Attracted, Attraction
from rankloop.users.behaviour import Behaviour
from rankloop.users.stopping import Stopping, graded_stopping, settled_stopping, stops_of

Rule = Literal["after-click", "anywhere"]


class Cascade(Attracted, frozen=True):
    """From the top, until they stop.

    Args:
        attraction: P(click | examined), as of `PositionBased`.
        stop: which documents P(stop) applies at: `after-click` or `anywhere`.
        stopping: P(stop) for each grade, or the name of a table; by default the one of the attraction's name.

    >>> page = [0] * 10
    >>> for stop in ("after-click", "anywhere"):
    ...     print(round(Cascade("navigational", stop).examination_probabilities(page).sum(), 1))
    9.6
    4.5
    """

    stop: Annotated[str, choice(("after-click", "anywhere"))]
    stopping: Stopping = None

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, stopping=settled_stopping(self, "stopping", self.stopping))

    def default_name(self) -> str:
        """Which of the two rules is part of the name."""
        return f"{self.taste} cascade ({self.stop})"

    def graded(self, grades: int) -> Self:
        """The same person, with the tables for labels with so many grades."""
        made: Self = graded_stopping(super().graded(grades), "stopping", grades)
        return made

    @property
    def grades(self) -> int | None:
        """How many grades both tables are for."""
        return len(stops_of(self.stopping)) if super().grades is None else super().grades

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """After a click they go on with 1 − P(stop); after a skip always, or with the same."""
        gammas, by_row = self.gammas(split)
        goes_on = 1.0 - stops_of(self.stopping)
        after_skip: Any = np.ones(1) if self.stop == "after-click" else goes_on
        return Behaviour.of(page_size, gammas, by_row=by_row, after_click=goes_on, after_skip=after_skip)


def cascade(
    attraction: Attraction,
    *,
    stop: Rule,
    stopping: Stopping = None,
    grades: int | None = None,
    name: str = "",
) -> Cascade:
    """People who read from the top: `cascade("navigational", stop="after-click")`, or `stop="anywhere"`."""
    made = Cascade(attraction, stop, stopping, name=name)
    return made if grades is None else made.graded(grades)
