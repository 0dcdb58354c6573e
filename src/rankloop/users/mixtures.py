"""A crowd: each impression has a person of one kind, drawn with given weights."""

from collections.abc import Sequence
from typing import Any, Self

import msgspec
import numpy as np

from rankloop.errors import SettingsError
from rankloop.settings import require_numbers, settle
from rankloop.users.behaviour import shares_at
from rankloop.users.contract import Crowd, User
from rankloop.users.registry import person


class Mixture(User, frozen=True):
    """Different people, in turn by chance.

    Args:
        people: who may come; in files names and tables of settings.
        weights: how often each does, in proportion; equally, unless given.

    >>> half = mixture(["perfect", "near-random"])
    >>> half.click_probabilities([0, 4])
    array([0.2, 0.4])
    """

    people: tuple[Any, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        settle(self, people=settled_people("Mixture", self.people))
        given = self.weights if len(self.weights) else (1.0,) * len(self.people)
        weights = require_numbers("Mixture", "weights", given)
        if len(weights) != len(self.people) or min(weights) < 0 or sum(weights) <= 0:
            raise SettingsError(
                f"Mixture: weights must be numbers from 0, one for each of the {len(self.people)} people and not all "
                f"0; got {list(weights)}"
            )
        settle(self, weights=weights)
        super().__post_init__()

    def default_name(self) -> str:
        """Everybody, in the order of the settings."""
        return " + ".join(one.name for one in self.people)

    def crowd(self) -> Crowd:
        """Everybody's own crowd, in proportion; the shares of who drifts go on drifting."""
        crowds = [one.crowd() for one in self.people]
        knots = np.unique(np.concatenate([one.knots for one in crowds]))
        shares = [
            weight / sum(self.weights) * np.array([shares_at(knot, one.knots, one.shares) for knot in knots])
            for weight, one in zip(self.weights, crowds, strict=True)
        ]
        return Crowd(tuple(who for one in crowds for who in one.people), knots, np.hstack(shares))

    def graded(self, grades: int) -> Self:
        """The same people, with the tables for labels with so many grades."""
        return msgspec.structs.replace(self, people=tuple(one.graded(grades) for one in self.people))

    def require_fit(self, data: Any) -> None:
        """Everybody must fit."""
        for one in self.crowd().people:
            one.require_fit(data)


def settled_people(owner: str, people: Any) -> tuple[User, ...]:
    """Users, from users, names and tables of settings."""
    if not isinstance(people, (list, tuple)) or not people:
        raise SettingsError(f"{owner}: people must be a list of users, at least one; got {people!r}")
    return tuple(person(owner, one) for one in people)


def mixture(people: Sequence[Any], weights: Sequence[float] = (), *, name: str = "") -> Mixture:
    """Different people, in turn by chance: `mixture(["perfect", dbn("navigational")], weights=[3, 1])`."""
    return Mixture(tuple(people), tuple(weights), name=name)
