"""Reading SVMlight/LETOR text of any size in bounded memory.

    2 qid:13 1:0.03 2:1 5:0.666667 # a comment

Text comes in chunks, a compiled scanner turns it into float64 rows, and whole queries leave as soon
as they are complete: normalised or as they are, in float32. The number of features need not be
known beforehand. Every broken rule of the format is a `DataError` that names file, line, text and
remedy.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Split
from rankloop.data.normalise import normalise_into
from rankloop.data.svmlight.chunks import Chunk, Progress, chunks
from rankloop.data.svmlight.grammar import MAX_FEATURE, Location, read_line
from rankloop.data.svmlight.scanner import (
    AT,
    FINISHED,
    LINE,
    NEEDED,
    ODD_LINE,
    ROW,
    ROWS_FULL,
    WIDEST,
    scan,
)
from rankloop.data.svmlight.seen import SeenQueries
from rankloop.errors import DataError
from rankloop.kernels import kernel

CHUNK = 4 << 20  # bytes of text at a time
LARGEST_QUERY = 256 << 20  # bytes, as float64
_ENOUGH = 1000  # documents, to tell whether features have raw scales
_ROOM = 16 << 20  # bytes of rows at a time, unless a query needs more


class Block(NamedTuple):
    """Some whole queries, one after another.

    query_ids (queries,) int64, offsets (queries + 1,) int64 from 0, features (documents, features)
    float32, grades (documents,) uint8. The feature count is the highest so far: it may grow from
    block to block.
    """

    query_ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    features: NDArray[np.float32]
    grades: NDArray[np.uint8]


def read(
    path: str | os.PathLike[str],
    *,
    features: int | None = None,
    normalise: bool = False,
    zero_based: bool = False,
) -> Split:
    """A whole file as a `Split` in memory.

    Args:
        path: plain or gzipped SVMlight text.
        features: how many features the split has; None: as many as the highest number in the file.
        normalise: min–max per query and feature (`rankloop.data.normalise`).
        zero_based: the file numbers its features from 0.
    """
    parts = list(blocks(path, features=features, normalise=normalise, zero_based=zero_based))
    width = parts[-1].features.shape[1]
    rows = np.empty((sum(len(block.grades) for block in parts), width), np.float32)
    offsets, at = [np.zeros(1, np.int64)], 0
    for i, block in enumerate(parts):
        part = rows[at : at + len(block.grades)]
        part[:, : block.features.shape[1]] = block.features
        part[:, block.features.shape[1] :] = 0.0
        offsets.append(block.offsets[1:] + at)
        at += len(part)
        parts[i] = block._replace(features=rows[:0])  # its memory is free again
    return Split(
        features=rows,
        offsets=np.concatenate(offsets),
        grades=np.concatenate([block.grades for block in parts]),
        query_ids=np.concatenate([block.query_ids for block in parts]),
    )


def blocks(
    path: str | os.PathLike[str],
    *,
    features: int | None = None,
    normalise: bool = False,
    zero_based: bool = False,
    progress: Progress | None = None,
) -> Iterator[Block]:
    """The same as a stream of whole queries, in bounded memory; at least one block.

    `progress` is called with the number of bytes of the file that have been read.
    """
    reader = _Reader(Path(path), features, zero_based, progress)
    for offsets in reader.queries():
        rows = np.empty((offsets[-1], features or max(reader.widest, 1)), np.float32)
        if normalise:
            normalise_into(reader.values, offsets, rows)
        else:
            reader.narrow(rows)
        grades = reader.grades[: offsets[-1]].copy()
        yield Block(reader.query_ids[offsets[:-1]], offsets, rows, grades)


def has_raw_scales(path: str | os.PathLike[str], *, zero_based: bool = False) -> bool:
    """Whether a value outside [−1, 1] stands in the first queries, 1,000 documents or more."""
    reader = _Reader(Path(path), None, zero_based, None)
    documents = 0
    for offsets in reader.queries():
        seen = reader.values[: offsets[-1], : reader.widest]
        if (np.abs(seen) > 1.0).any():
            return True
        documents += len(seen)
        if documents >= _ENOUGH:
            break
    return False


class _Reader:
    """Rows of float64 with their grades, queries and line numbers, filled by the scanner."""

    def __init__(self, path: Path, features: int | None, zero_based: bool, progress: Progress | None) -> None:
        if features is not None and not 1 <= features <= MAX_FEATURE:
            raise DataError(f"features must be between 1 and {MAX_FEATURE:,}; got {features}")
        self.path, self.features, self.zero_based = path, features, zero_based
        self.progress = progress
        self.state = np.zeros(5, np.int64)
        self.state[LINE] = 1
        self.values = np.empty((0, 0))
        self.grades = np.empty(0, np.uint8)
        self.query_ids = np.empty(0, np.int64)
        self.lines = np.empty(0, np.int64)
        self.stamps = np.empty(0, np.int64)
        self.seen = SeenQueries()
        self._resize(features or 64, 0)

    @property
    def widest(self) -> int:
        return int(self.state[WIDEST])

    def queries(self) -> Iterator[NDArray[np.int64]]:
        """Offsets of the complete queries that the rows now begin with; gone at the next step."""
        for text in chunks(self.path, self.progress, CHUNK):
            self.state[AT] = text.start
            while (reason := self._scan(text)) != FINISHED:
                if reason == ODD_LINE and self._read_slowly(text):
                    continue
                # More room is needed: what is complete leaves first.
                if (offsets := self._complete(last=False)) is not None:
                    yield offsets
                    self._drop(int(offsets[-1]))
                elif reason == ROWS_FULL:
                    self._resize(self.values.shape[1], max(2 * len(self.values), 8))
                if reason != ROWS_FULL:
                    self._widen(int(self.state[NEEDED]))
            if (offsets := self._complete(last=text.last)) is not None:
                yield offsets
                self._drop(int(offsets[-1]))
        if not self.seen.count:
            raise DataError(f"{self.path}: it contains no documents. A line reads 'grade qid:number 1:value …'.")
        if not self.features and not self.widest:
            raise DataError(
                f"{self.path}: no feature in any document; got only grades and queries. "
                f"Write 'feature:value' after them."
            )

    def narrow(self, rows: NDArray[np.float32]) -> None:
        """Copy the first rows to float32, or say which value does not fit."""
        worst = _narrow_into(self.values, rows)
        if worst >= 0:
            row, column = divmod(worst, rows.shape[1])
            shown = column if self.zero_based else column + 1
            raise DataError(
                f"{self.path}, line {self.lines[row]}: the value of feature {shown} is beyond "
                f"float32; got {self.values[row, column]}. Turn normalisation on for such data."
            )

    def _scan(self, text: Chunk) -> int:
        limit = self.features or MAX_FEATURE
        arrays = (self.values, self.grades, self.query_ids, self.lines, self.stamps)
        return int(scan(text.bytes, text.stop, self.state, *arrays, limit, int(self.zero_based)))

    def _read_slowly(self, text: Chunk) -> bool:
        """Read the next line in Python, or refuse it; False where the rows are too narrow."""
        at, line = int(self.state[AT]), int(self.state[LINE])
        end = text.line_end(at)
        row = read_line(
            text.bytes[at:end].tobytes(),
            Location(str(self.path), line),
            features=self.features,
            zero_based=self.zero_based,
        )
        if row is not None:
            highest = max(row.features, default=0)
            if highest > self.values.shape[1]:
                self.state[NEEDED] = highest
                return False
            here = self.state[ROW]
            self.values[here] = 0.0
            for feature, value in row.features.items():
                self.values[here, feature - 1] = value
            self.grades[here], self.query_ids[here], self.lines[here] = row.grade, row.query, line
            self.state[ROW] += 1
            self.state[WIDEST] = max(self.widest, highest)
        self.state[AT], self.state[LINE] = end + 1, line + 1
        return True

    def _complete(self, *, last: bool) -> NDArray[np.int64] | None:
        """Offsets of the queries whose rows are all there, none of them seen before."""
        ids = self.query_ids[: self.state[ROW]]
        ends = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        if last and len(ids):
            ends = np.append(ends, len(ids))
        if not len(ends):
            return None
        offsets = np.concatenate([[0], ends]).astype(np.int64)
        again = self.seen.add(ids[offsets[:-1]])
        if again >= 0:
            row = offsets[again]
            raise DataError(
                f"{self.path}, line {self.lines[row]}: the rows of query {ids[row]} are not "
                f"adjacent; got 'qid:{ids[row]}' again after other queries. Sort the file by query."
            )
        return offsets

    def _drop(self, rows: int) -> None:
        kept = int(self.state[ROW]) - rows
        for array in (self.values, self.grades, self.query_ids, self.lines):
            array[:kept] = array[rows : rows + kept]
        self.state[ROW] = kept

    def _widen(self, needed: int) -> None:
        width = min(max(needed, 2 * self.values.shape[1]), self.features or MAX_FEATURE)
        self._resize(width, int(self.state[ROW]) + 1)

    def _resize(self, width: int, needed_rows: int) -> None:
        """Make room for `width` features and at least `needed_rows` rows, keeping what is there."""
        count = int(self.state[ROW])
        capacity = max(needed_rows, _ROOM // (8 * width), 1)
        if needed_rows * width * 8 > LARGEST_QUERY and capacity > 1:
            capacity = LARGEST_QUERY // (8 * width)
            if capacity <= count:
                self._refuse_large_query(width)
        values = np.empty((capacity, width))
        values[:count, : self.values.shape[1]] = self.values[:count]
        values[:count, self.values.shape[1] :] = 0.0
        self.values = values
        for name in ("grades", "query_ids", "lines"):
            old = getattr(self, name)
            new = np.empty(capacity, old.dtype)
            new[:count] = old[:count]
            setattr(self, name, new)
        self.stamps = np.zeros(width, np.int64)

    def _refuse_large_query(self, width: int) -> None:
        query, rows = self.query_ids[self.state[ROW] - 1], self.state[ROW]
        raise DataError(
            f"{self.path}, line {self.state[LINE]}: query {query} is too large; "
            f"got more than {rows:,} documents of {width:,} features, which is over "
            f"{LARGEST_QUERY >> 20} MB. Leave out features or split the query."
        )


@kernel
def _narrow_into(values, rows):
    """Copy to float32; the flat index of the first value that becomes infinite, else −1."""
    documents, columns = rows.shape
    for i in range(documents):
        overflow = False
        for j in range(columns):
            rows[i, j] = values[i, j]
            overflow |= abs(rows[i, j]) == np.inf
        if overflow:
            for j in range(columns):
                if abs(rows[i, j]) == np.inf:
                    return i * columns + j
    return -1
