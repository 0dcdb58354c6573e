"""People who change: from given impressions on others come, at once or more and more of them over a stretch."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import msgspec
import numpy as np

from rankloop.errors import SettingsError
from rankloop.settings import require_whole_number, settle, whole_number
from rankloop.users.contract import Crowd, User
from rankloop.users.mixtures import settled_people


class Drift(User, frozen=True):
    """One kind of people after the other: another kind, or the same kind with another table.

    Args:
        people: who comes, in order; in files names and tables of settings.
        at: the impressions from which on the second, the third … come.
        over: a change takes so many impressions: the share of the new people grows evenly from 0 to 1, beginning at
            the impression of `at`. 0: all come at once.

    >>> change = drift(["perfect", "near-random"], at=[5000], over=1000)
    >>> [change.click_probabilities([0], impression=i).item() for i in (0, 5000, 5500, 6000)]
    [0.0, 0.0, 0.2, 0.4]
    """

    people: tuple[Any, ...]
    at: tuple[int, ...]
    over: Annotated[int, whole_number()] = 0

    def __post_init__(self) -> None:
        settle(self, people=settled_people("Drift", self.people))
        if any(len(one.crowd().knots) > 1 for one in self.people):
            raise SettingsError("Drift: people must not drift themselves; put all changes into one list")
        super().__post_init__()
        given: Any = self.at
        if not isinstance(given, (list, tuple)) or len(given) != len(self.people) - 1:
            raise SettingsError(
                f"Drift: at must say from which impression on each of the people but the first comes, "
                f"{len(self.people) - 1} in all; got {given!r}"
            )
        settle(self, at=tuple(require_whole_number("Drift", "at", one, at_least=1) for one in given))
        if any(later < earlier + max(self.over, 1) for earlier, later in zip(self.at, self.at[1:], strict=False)):
            raise SettingsError(
                f"Drift: at must increase, each change beginning after the one before has ended; "
                f"got {list(self.at)} with over {self.over}"
            )

    def default_name(self) -> str:
        """Everybody, in order."""
        return " → ".join(one.name for one in self.people)

    def crowd(self) -> Crowd:
        """Shares that move from one kind's people to the next one's."""
        crowds = [one.crowd() for one in self.people]
        sizes = np.cumsum([0, *(len(one.people) for one in crowds)])
        stages = np.zeros((len(crowds), sizes[-1]))
        for stage, one in enumerate(crowds):
            stages[stage, sizes[stage] : sizes[stage + 1]] = one.shares[0]
        knots, shares = [0], [stages[0]]
        for stage, change in enumerate(self.at, start=1):
            begin, end = (change, change + self.over) if self.over else (change - 1, change)
            knots, shares = [*knots, begin, end], [*shares, stages[stage - 1], stages[stage]]
        # Two changes may meet, and a change at the first impression begins at 0: one knot each.
        kept = [i for i, knot in enumerate(knots) if i + 1 == len(knots) or knots[i + 1] > knot]
        people = tuple(who for one in crowds for who in one.people)
        return Crowd(people, np.array(knots, dtype=np.int64)[kept], np.array(shares)[kept])

    def graded(self, grades: int) -> Self:
        """The same people, with the tables for labels with so many grades."""
        return msgspec.structs.replace(self, people=tuple(one.graded(grades) for one in self.people))

    def require_fit(self, data: Any) -> None:
        """Everybody must fit."""
        for one in self.crowd().people:
            one.require_fit(data)


def drift(people: Sequence[Any], at: Sequence[int], *, over: int = 0, name: str = "") -> Drift:
    """People who change: `drift(["perfect", "noisy"], at=[5000])`, or `over=1000` impressions."""
    return Drift(tuple(people), tuple(at), over, name=name)
