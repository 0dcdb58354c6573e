"""What a user is, to the compiled loop and to the rest of the house.

A user's settings are a small frozen struct (`PositionBased(attraction="noisy")`). They make a named tuple, for which
`click` is compiled. Most kinds need no compiled function of their own: they say what they do as tables
(`behaviour`), and one kernel clicks for all of them (`rankloop.users.behaviour`). So another kind costs nothing to
compile, and kinds can be mixed.

A person with a mind that no table holds implements `click` for a named tuple of its own, and gives it as `compiled`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Collection, Split
from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.plugins import ATTRIBUTES, Registry, left_out, name_in_files, pickled, telling
from rankloop.propensities import Propensities
from rankloop.settings import check_settings, require_whole_number, settle
from rankloop.users.behaviour import Behaviour, People, click_people, forward, require_grades, shares_at, together

USERS = Registry("user")
"""By `kind`, as files call it."""


class Shown(NamedTuple):
    """A page as a simulated person sees it; the document at rank k is row `first + documents[k]` of the split.

    (ranks,) grades, (ranks,) numbers of the documents among the query's candidates, the row of the first candidate,
    and the query's place in the split.
    """

    grades: NDArray[np.int64]
    documents: NDArray[np.int64]
    first: int
    query: int


class Crowd(NamedTuple):
    """Who may come: people, and the share that each has at some impressions, linear in between."""

    people: tuple["User", ...]
    knots: NDArray[np.int64]
    shares: NDArray[np.float64]


class User(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag=name_in_files,
    tag_field="kind",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """Settings of a kind of people, and what the house asks of them. The answers here are those of most kinds."""

    registry: ClassVar[Registry] = USERS

    name: str = ""
    """What tables, figures and `--only` call this person; by default it follows from the settings."""

    def __post_init__(self) -> None:
        check_settings(self, type(self).__name__)
        if not isinstance(self.name, str):
            raise SettingsError(f"{type(self).__name__}: name must be text; got {self.name!r}")
        if not self.name:
            settle(self, name=self.default_name())

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process a person brings along its kernels, and the functions behind attributes it looks at."""
        brought = tuple(ATTRIBUTES[name] for name in self.attributes if name in ATTRIBUTES)
        made: tuple[Any, ...] = super().__reduce__()  # type: ignore[assignment]
        return pickled(self, (_arrived, (brought, *made)) if brought else made)

    def default_name(self) -> str:
        """What a person is called who was given no name."""
        return str(self.__struct_config__.tag).replace("_", " ")

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """What this person does on a page, as tables; `split` has the attributes of the documents."""
        if type(self).compiled is User.compiled:
            raise left_out(type(self), "behaviour(page_size, split) or compiled(page_size, split)")
        raise SettingsError(
            f"user {self.name!r} has a click of its own, and no tables that say what it does, which mixtures, drifts "
            f"and probabilities are made of"
        )

    def compiled(self, page_size: int, split: Split | None = None) -> Any:
        """What the compiled loop needs to know of this user: a named tuple that `click` is implemented for."""
        people, knots, shares = self.crowd()
        tables = [person.behaviour(page_size, split) for person in people]
        for person, table in zip(people, tables, strict=True):
            if split is not None:
                table.require_fit(f"user {person.name!r}", int(split.grades.max()), len(split.grades))
        return together(tables, knots, shares)

    def crowd(self) -> Crowd:
        """Who may come: this person alone, unless it is a mixture or changes."""
        return Crowd((self,), np.zeros(1, np.int64), np.ones((1, 1)))

    @property
    def grades(self) -> int | None:
        """How many grades there are tables for; None: any."""
        return None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of documents that this person looks at."""
        return ()

    @property
    def all_attributes(self) -> tuple[str, ...]:
        """Those of everybody who may come."""
        return tuple(dict.fromkeys(name for person in self.crowd().people for name in person.attributes))

    def seen_on(self, data: Collection) -> Collection:
        """The collection as this person sees it: with attributes that it lacks, where a plugin brings them."""
        lacking = [name for name in self.all_attributes if name not in data.train.attributes]
        brought = {name: telling(name) for name in lacking if name in ATTRIBUTES}
        return data.with_attributes(**brought) if brought else data

    @property
    def rank_examination(self) -> Propensities | None:
        """The examination curve of people who look by rank alone and trust nobody; None for all others."""
        return None

    def graded(self, grades: int) -> Self:
        """The same person, with the tables for labels with so many grades."""
        return self

    def on(self, data: Collection) -> Self:
        """The same person on a collection, with tables for its grades; refuses one who does not fit it."""
        found = self.graded(data.grades)
        for person in found.crowd().people:
            person.require_fit(data)
        return found

    def require_fit(self, data: Collection) -> None:
        """Refuse a collection that this person cannot click on: one with more or fewer grades than there are tables
        for."""
        self.check_grades(int(data.train.grades.max()), f"{data.name}'s training split")
        if self.grades is not None and self.grades > data.grades:
            raise SettingsError(
                f"user {self.name!r} has a table for {self.grades} grades, but {data.name} has {data.grades} "
                f"(0 to {data.grades - 1}); give one click probability for each grade, or, where labels could be "
                f"higher than those that occur, say so: Collection(…, highest_grade=…)"
            )

    def check_grades(self, highest: int, where: str) -> None:
        """Refuse grades for which this user has no click probability."""
        for person in self.crowd().people:
            if person.grades is not None and highest >= person.grades:
                raise SettingsError(
                    f"user {person.name!r} knows grades 0 to {person.grades - 1}, but {where} has "
                    f"grade {highest}; choose a user with one click probability for each grade"
                )

    def click_probabilities(
        self,
        page_grades: Sequence[int],
        *,
        impression: int = 0,
        rows: Sequence[int] | None = None,
        split: Split | None = None,
    ) -> NDArray[np.float64]:
        """P(click) for each rank of a page with these grades, exactly.

        Args:
            page_grades: from the top.
            impression: when, for people who change.
            rows: which documents of the split these are, for people who look at attributes.
            split: where they are from.
        """
        return self._mean(page_grades, impression, rows, split)[0]

    def examination_probabilities(
        self,
        page_grades: Sequence[int],
        *,
        impression: int = 0,
        rows: Sequence[int] | None = None,
        split: Split | None = None,
    ) -> NDArray[np.float64]:
        """P(examined) for each rank of a page with these grades, exactly; arguments as of `click_probabilities`."""
        return self._mean(page_grades, impression, rows, split)[1]

    def clicks(
        self,
        page_grades: Sequence[int],
        seed: int,
        impression: int,
        *,
        rows: Sequence[int] | None = None,
        query: int = 0,
        split: Split | None = None,
    ) -> NDArray[np.float64]:
        """What this user does on the page of an impression: the very draws of the simulation with that seed."""
        grades, documents = self._page(page_grades, rows)
        made = _alone(self, len(grades)) if split is None else self.compiled(len(grades), split)
        if isinstance(made, People):
            require_grades(made, f"user {self.name!r}", int(grades.max(initial=0)))
        clicks = np.zeros(len(grades))
        click_page(made, grades, documents, 0, query, np.uint64(seed), impression, clicks)
        return clicks

    def _mean(
        self, page_grades: Sequence[int], impression: int, rows: Sequence[int] | None, split: Split | None
    ) -> NDArray[np.float64]:
        """(clicked, examined) × ranks, the mean over who may come."""
        grades, documents = self._page(page_grades, rows)
        people, knots, shares = self.crowd()
        each = [forward(person.behaviour(len(grades), split), grades, documents) for person in people]
        return np.tensordot(shares_at(require_whole_number("user", "impression", impression), knots, shares), each, 1)

    def _page(
        self, page_grades: Sequence[int], rows: Sequence[int] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        grades = np.array([require_whole_number("user", "grade", grade) for grade in page_grades], dtype=np.int64)
        self.check_grades(int(grades.max(initial=0)), "the page")
        documents = np.arange(len(grades)) if rows is None else np.array(rows, dtype=np.int64)
        if documents.shape != grades.shape:
            raise SettingsError(f"user: rows must be one for each of the {len(grades)} grades; got {documents.size}")
        return grades, documents


def _arrived(_brought: tuple[Any, ...], make: Any, settings: tuple[Any, ...]) -> Any:
    """Somebody in another process: to unpickle a function is to import its module, which registers it."""
    return make(*settings)


@lru_cache(maxsize=64)
def _alone(user: User, page_size: int) -> Any:
    """A person's tables where no collection is needed: a service asks for them at every page."""
    return user.compiled(page_size)


def click(user: Any, shown: Any, seed: Any, impression: Any, clicks: Any) -> None:
    """Fill `clicks` (one value per rank) with what this user does on the page that is `shown`."""
    raise TypeError(f"no compiled click is registered for {type(user).__name__}")


implements(click, People)(click_people)


@kernel
def click_page(user, grades, documents, first, query, seed, impression, clicks):
    """One page, clicked outside the loop."""
    click(user, Shown(grades, documents, first, query), seed, impression, clicks)
