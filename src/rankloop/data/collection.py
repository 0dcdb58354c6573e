"""What every room shares about data: a `Split` of queries with their candidates, and a `Collection` of three.

A split is four arrays: one row of float32 features per document, the rows of a query side by side,
`offsets` to tell where each query begins, integer grades, and the queries' own numbers. The arrays may lie
in memory or be mapped from the store; nothing that reads them can tell the difference.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import DataError
from rankloop.metrics import ideal_dcg

MAX_GRADE = 30  # 2^grade must stay an exact, sensible gain


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Queries with their candidate documents.

    Attributes:
        features: (documents, features), float32, rows of one query side by side.
        offsets: (queries + 1,), int64; query q owns rows `offsets[q]` … `offsets[q + 1] − 1`.
        grades: (documents,), uint8, 0 = irrelevant.
        query_ids: (queries,), int64, the queries' numbers in the source.

    >>> split = Split.of(features=[[1.0], [0.5], [0.2]], grades=[2, 0, 1], queries=[7, 7, 9])
    >>> split
    Split(2 queries, 3 documents, 1 features)
    >>> split.offsets
    array([0, 2, 3])
    """

    features: NDArray[np.float32]
    offsets: NDArray[np.int64]
    grades: NDArray[np.uint8]
    query_ids: NDArray[np.int64]

    @classmethod
    def of(cls, features: ArrayLike, grades: ArrayLike, queries: ArrayLike) -> "Split":
        """A split from arrays in memory: one row, one grade and one query number per document.

        The rows of a query must stand side by side. Values are checked: finite features, grades
        that are whole numbers from 0 to 30.
        """
        rows = np.array(features, dtype=np.float32, order="C", ndmin=2)
        numbers = np.asarray(queries, dtype=np.int64)
        labels = np.asarray(grades)
        if rows.ndim != 2 or len(rows) != len(numbers) or len(rows) != len(labels):
            raise DataError(
                f"features, grades and queries must have one entry per document; "
                f"got shapes {rows.shape}, {labels.shape} and {numbers.shape}"
            )
        if len(rows) == 0:
            raise DataError("a split needs at least one document; got none")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise DataError(f"features must be finite; row {row}, feature {column + 1} is {rows[row, column]}")
        if (labels != np.floor(labels)).any() or labels.min() < 0 or labels.max() > MAX_GRADE:
            raise DataError(f"grades must be whole numbers from 0 to {MAX_GRADE}")
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
        ids = numbers[starts]
        if len(np.unique(ids)) != len(ids):
            raise DataError("the rows of a query must stand side by side; sort them by query first")
        return cls(
            features=rows,
            offsets=np.r_[starts, len(rows)].astype(np.int64),
            grades=labels.astype(np.uint8),
            query_ids=ids,
        )

    def __repr__(self) -> str:
        return f"Split({self.queries:,} queries, {len(self.features):,} documents, {self.features.shape[1]} features)"

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self.offsets) - 1

    @property
    def longest(self) -> int:
        """The number of candidates of the query that has most."""
        return int(np.diff(self.offsets).max())

    @cached_property
    def ideal_dcg(self) -> NDArray[np.float64]:
        """(queries,), the DCG@10 of each query's best possible ranking; 0 where nothing is relevant."""
        return ideal_dcg(self.grades, self.offsets)


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """A collection to learn and to be measured on: `train`, `vali` (None where there is none) and `test`.

    `content_hash` names the content: equal data, equal hash, wherever it was loaded from.
    """

    name: str
    train: Split
    test: Split
    vali: Split | None = None
    fold: int | None = None
    feature_names: tuple[str, ...] = field(default=())
    content_hash: str = ""

    def __post_init__(self) -> None:
        widths = {split.features.shape[1] for split in self.splits.values()}
        if len(widths) > 1:
            raise DataError(f"{self.name}: the splits have different feature counts {sorted(widths)}")
        names = self.feature_names or tuple(f"f{j + 1}" for j in range(self.features))
        if len(names) != self.features:
            raise DataError(f"{self.name}: {len(names)} feature names for {self.features} features")
        object.__setattr__(self, "feature_names", tuple(names))

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
        return self.train.features.shape[1]

    @cached_property
    def grades(self) -> int:
        """How many grades the labels can take: 3 where they go up to 2, else 5 or more."""
        highest = max(int(split.grades.max()) for split in self.splits.values())
        return 3 if highest <= 2 else max(5, highest + 1)
