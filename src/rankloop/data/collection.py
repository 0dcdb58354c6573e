"""What every room shares about data: a `Split` of queries with their candidates, and a `Collection` of three.

A split is four arrays: one row of float32 features per document, the rows of a query side by side,
`offsets` to tell where each query begins, integer grades, and the queries' own numbers. The arrays may lie
in memory or be mapped from the store; nothing that reads them can tell the difference.

Everybody sees them read-only: a collection's hash must go on describing it. Compiled code takes the same arrays
from `Split.arrays`, as plain writable ones, because a read-only array is another type to Numba and would
compile every kernel again. Nothing writes to those either.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.content import digest_of_arrays, digest_of_splits, digests_of_columns
from rankloop.errors import DataError
from rankloop.metrics import MAX_GRADE, ideal_dcg
from rankloop.settings import is_whole


class Arrays(NamedTuple):
    """A split as compiled code takes it; shapes and types as in `Split`."""

    features: NDArray[np.float32]
    offsets: NDArray[np.int64]
    grades: NDArray[np.uint8]
    ideal_dcg: NDArray[np.float64]
    query_ids: NDArray[np.int64]


class Place(NamedTuple):
    """Where the store keeps a split: the collection that it belongs to, as `load` names it."""

    collection: str
    fold: int | None
    split: str
    source: str | None = None

    def __str__(self) -> str:
        fold = "" if self.fold is None else f", fold {self.fold}"
        return f"{self.collection}{fold}"


class Split:
    """Queries with their candidate documents.

    Args:
        features: (documents, features), float32, rows of one query side by side.
        offsets: (queries + 1,), int64; query q owns rows `offsets[q]` … `offsets[q + 1] − 1`.
        grades: (documents,), uint8, 0 = irrelevant.
        query_ids: (queries,), int64, the queries' numbers in the source.
        digest: of these four, where it is known already.
        place: where the store keeps it. A pickle then carries the place and the digest, and no data.

    The arrays are taken as they are, and only their shapes are looked at; those that cannot be written to are
    copied. `Split.of` takes anything like an array, and checks the values too.

    >>> split = Split.of(features=[[1.0], [0.5], [0.2]], grades=[2, 0, 1], queries=[7, 7, 9])
    >>> split
    Split(2 queries, 3 documents, 1 features)
    >>> split.offsets
    array([0, 2, 3])
    >>> split.grades[0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """

    def __init__(
        self,
        features: NDArray[np.float32],
        offsets: NDArray[np.int64],
        grades: NDArray[np.uint8],
        query_ids: NDArray[np.int64],
        *,
        digest: str | None = None,
        place: Place | None = None,
    ) -> None:
        self._features = _plain("features", features, np.float32, 2)
        self._offsets = _plain("offsets", offsets, np.int64, 1)
        self._grades = _plain("grades", grades, np.uint8, 1)
        self._query_ids = _plain("query_ids", query_ids, np.int64, 1)
        self._known_digest = digest
        self._place = place
        self._attributes: dict[str, NDArray[np.float64]] = {}
        self._check_shapes()

    @classmethod
    def of(cls, features: ArrayLike, grades: ArrayLike, queries: ArrayLike) -> "Split":
        """A split from arrays in memory: one row, one grade and one query number per document.

        The rows of a query must stand side by side. Values are checked: finite features, grades
        that are whole numbers from 0 to 30, whole query numbers.
        """
        rows, labels, ids = _numbers("features", features), _numbers("grades", grades), _numbers("queries", queries)
        if rows.ndim != 2 or labels.shape != rows.shape[:1] or ids.shape != rows.shape[:1]:
            raise DataError(
                f"features must be a table, and grades and queries lists with one entry per document; "
                f"got shapes {rows.shape}, {labels.shape} and {ids.shape}"
            )
        if 0 in rows.shape:
            raise DataError(f"a split needs at least one document and one feature; got features {rows.shape}")
        with np.errstate(over="ignore"):
            rows = np.array(rows, dtype=np.float32, order="C")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise DataError(
                f"features must be finite in single precision; row {row}, feature {column + 1} is {rows[row, column]}"
            )
        if (labels != np.floor(labels)).any() or labels.min() < 0 or labels.max() > MAX_GRADE:
            raise DataError(f"grades must be whole numbers from 0 to {MAX_GRADE}")
        numbers = _query_numbers(ids)
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
        firsts = numbers[starts]
        if len(np.unique(firsts)) != len(firsts):
            raise DataError("the rows of a query must be adjacent; sort them by query first")
        return cls(
            features=rows,
            offsets=np.r_[starts, len(rows)].astype(np.int64),
            grades=labels.astype(np.uint8),
            query_ids=firsts,
        )

    def __repr__(self) -> str:
        documents, features = self._features.shape
        return f"Split({self.queries:,} queries, {documents:,} documents, {features} features)"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._attributes:
            return _with_attributes, (self._without_attributes(), self._attributes)
        if self._place is not None:
            from rankloop.data.store.entries import reopened

            return reopened, (self._place, self.digest)
        return _unpickled, (self._features, self._offsets, self._grades, self._query_ids, self._known_digest)

    @property
    def features(self) -> NDArray[np.float32]:
        """(documents, features), float32, read-only."""
        return _read_only(self._features)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """(queries + 1,), where each query's rows begin, read-only."""
        return _read_only(self._offsets)

    @property
    def grades(self) -> NDArray[np.uint8]:
        """(documents,), 0 = irrelevant, read-only."""
        return _read_only(self._grades)

    @property
    def query_ids(self) -> NDArray[np.int64]:
        """(queries,), the queries' numbers in the source, read-only."""
        return _read_only(self._query_ids)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of what is known of each document besides its features: what people may look at."""
        return tuple(self._attributes)

    def attribute(self, name: str) -> NDArray[np.float64]:
        """(documents,), float64, read-only."""
        if name not in self._attributes:
            there = ", ".join(self._attributes) or "none"
            raise DataError(
                f"the documents have no attribute {name!r}; they have {there}. "
                f"Give it to the collection: data.with_attributes({name}=…); in a study a plugin brings it, with "
                f"@rl.attribute"
            )
        return _read_only(self._attributes[name])

    def with_attributes(self, **values: ArrayLike) -> "Split":
        """The same split, with attributes: one finite number per document, by name.

        >>> split = Split.of(features=[[1.0], [0.5]], grades=[2, 0], queries=[7, 7])
        >>> split.with_attributes(price=[9.9, 12.0]).attribute("price")
        array([ 9.9, 12. ])
        """
        checked = dict(self._attributes)
        for name, given in values.items():
            column = np.array(_numbers(name, given), dtype=np.float64)
            if column.shape != self._grades.shape or not np.isfinite(column).all():
                raise DataError(
                    f"attribute {name!r} must be {len(self._grades):,} finite numbers, one for each document; "
                    f"got shape {column.shape}"
                )
            checked[name] = column
        return _with_attributes(self._without_attributes(), checked)

    def _without_attributes(self) -> "Split":
        content = self._features, self._offsets, self._grades, self._query_ids
        return Split(*content, digest=self._content_digest, place=self._place)

    @property
    def ideal_dcg(self) -> NDArray[np.float64]:
        """(queries,), the DCG@10 of each query's best possible ranking, read-only; 0 where nothing is relevant."""
        return _read_only(self.arrays.ideal_dcg)

    @cached_property
    def arrays(self) -> Arrays:
        """The arrays themselves, for compiled code, which must not write to them."""
        ideal = ideal_dcg(self._grades, self._offsets)
        return Arrays(self._features, self._offsets, self._grades, ideal, self._query_ids)

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self._query_ids)

    @cached_property
    def longest(self) -> int:
        """The number of candidates of the query that has most."""
        return int(np.diff(self._offsets).max())

    @cached_property
    def digest(self) -> str:
        """A name for the content: equal arrays, equal digest, in memory or in the store."""
        if not self._attributes:
            return self._content_digest
        return digest_of_splits({"": self._content_digest, **digests_of_columns(self._attributes)})

    @cached_property
    def largest(self) -> float:
        """The largest feature, whatever its sign."""
        return max(float(self._features.max()), -float(self._features.min()))

    @cached_property
    def _content_digest(self) -> str:
        """Of the four arrays, without attributes."""
        if self._known_digest is not None:
            return self._known_digest
        return digest_of_arrays((self._features, self._offsets, self._grades, self._query_ids))

    def _check_shapes(self) -> None:
        """The arrays fit together; kernels do not look where they read."""
        documents, features = self._features.shape
        offsets = self._offsets
        if features == 0 or len(offsets) < 2:
            raise DataError(
                f"a split needs at least one feature and one query; "
                f"got features {self._features.shape} and offsets {offsets.shape}"
            )
        if offsets[0] != 0 or offsets[-1] != documents:
            raise DataError(
                f"offsets must go from 0 to the number of documents, {documents}; got {offsets[0]} to {offsets[-1]}"
            )
        empty = np.flatnonzero(offsets[1:] <= offsets[:-1])
        if len(empty):
            q = empty[0]
            raise DataError(
                f"offsets must increase, so that each query has a document; "
                f"query {q} goes from {offsets[q]} to {offsets[q + 1]}"
            )
        if len(self._grades) != documents or len(self._query_ids) != len(offsets) - 1:
            raise DataError(
                f"{documents} documents and {len(offsets) - 1} queries need as many grades and query_ids; "
                f"got {len(self._grades)} and {len(self._query_ids)}"
            )


def _with_attributes(split: Split, attributes: dict[str, NDArray[np.float64]]) -> Split:
    split._attributes = attributes
    return split


def _unpickled(*parts: Any) -> Split:
    *arrays, digest = parts
    return Split(*arrays, digest=digest)


def _plain(name: str, array: Any, dtype: Any, ndim: int) -> NDArray[Any]:
    """The array, as the one type that kernels are compiled for."""
    wanted = f"{name} must be a C-contiguous array of {np.dtype(dtype)} with {ndim} dimension{'s' * (ndim > 1)}"
    if not isinstance(array, np.ndarray):
        raise DataError(f"{wanted}; got {type(array).__name__}. Split.of takes anything like an array.")
    if array.dtype != dtype or array.ndim != ndim or not (array.flags.c_contiguous and array.flags.aligned):
        order = "" if array.flags.c_contiguous and array.flags.aligned else ", not contiguous"
        raise DataError(f"{wanted}; got {array.dtype} of shape {array.shape}{order}. Split.of converts.")
    return np.asarray(array) if array.flags.writeable else np.array(array)


def _numbers(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers in rows of equal length; got {type(values).__name__}") from None
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must be numbers; got {type(values).__name__} of {array.dtype}")
    return array


def _query_numbers(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Query numbers as int64, where that changes none of them."""
    with np.errstate(invalid="ignore"):
        numbers = ids.astype(np.int64)
    changed = np.flatnonzero((numbers != ids) | ((ids > 0) != (numbers > 0)))
    if len(changed):
        row = changed[0]
        raise DataError(f"queries must be whole numbers that fit 64 bits; row {row} has {ids[row]}")
    return numbers


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """A collection to learn and to be measured on: `train`, `vali` (None where there is none) and `test`.

    `highest_grade` is the best grade that its labels could have, where that is known. A pickled collection that came
    from the store carries its name and hash, not its data, and is mapped from the store again where it is unpickled.
    """

    name: str
    train: Split
    test: Split
    vali: Split | None = None
    fold: int | None = None
    feature_names: tuple[str, ...] = field(default=())
    highest_grade: int | None = None

    def __post_init__(self) -> None:
        for split, found in (("train", self.train), ("test", self.test), ("vali", self.vali)):
            if not (isinstance(found, Split) or (split == "vali" and found is None)):
                raise DataError(f"{self.name}: {split} must be a Split; got {type(found).__name__}")
        widths = {split.features.shape[1] for split in self.splits.values()}
        if len(widths) > 1:
            raise DataError(f"{self.name}: the splits have different feature counts {sorted(widths)}")
        names = self.feature_names or tuple(f"f{j + 1}" for j in range(self.features))
        if len(names) != self.features:
            raise DataError(f"{self.name}: {len(names)} feature names for {self.features} features")
        object.__setattr__(self, "feature_names", tuple(names))
        highest = self.highest_grade
        if highest is not None and not (is_whole(highest) and 0 <= highest <= MAX_GRADE):
            raise DataError(f"{self.name}: highest_grade must be a whole number from 0 to {MAX_GRADE}; got {highest!r}")

    def __repr__(self) -> str:
        fold = "" if self.fold is None else f", fold {self.fold}"
        parts = ", ".join(f"{name}={split!r}" for name, split in self.splits.items())
        return f"Collection({self.name!r}{fold}: {parts})"

    @property
    def splits(self) -> dict[str, Split]:
        """The splits that are there, by name, in the order train, vali, test."""
        found = {"train": self.train, "vali": self.vali, "test": self.test}
        return {name: split for name, split in found.items() if split is not None}

    @property
    def features(self) -> int:
        """How many features a document has."""
        return int(self.train.features.shape[1])

    @cached_property
    def grades(self) -> int:
        """How many grades the labels can take: 3 where they go up to 2, else 5 or more.

        Where `highest_grade` is not known, the best grade that occurs stands in for it.
        """
        seen = max(int(split.grades.max()) for split in self.splits.values())
        highest = max(seen, self.highest_grade or 0)
        return 3 if highest <= 2 else max(5, highest + 1)

    @cached_property
    def content_hash(self) -> str:
        """A name for the content: equal data, equal hash, wherever it came from."""
        return digest_of_splits({name: split.digest for name, split in self.splits.items()})

    def with_attributes(self, **values: "ArrayLike | Callable[[Split], ArrayLike]") -> "Collection":
        """The same collection, with attributes of its documents, for people who look at more than grades.

        Each is a list with one number for each document of the training split, where people click; or a function
        that makes such a list of a split, and is asked for all of them. The collection's hash tells them apart.

        >>> import rankloop as rl
        >>> data = rl.load("tiny").with_attributes(taste=lambda split: split.features[:, 0])
        >>> data.train.attributes, data.test.attributes
        (('taste',), ('taste',))
        """
        for name, given in values.items():
            of = {"train": self.train} if not callable(given) else self.splits
            made = {
                split: found.with_attributes(**{name: given(found) if callable(given) else given})
                for split, found in of.items()
            }
            self = replace(self, **made)  # type: ignore[arg-type]
        return self
