"""Rankers on held-out queries, measured on the device: `rankloop.evaluation.measured` for very many of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.asked import OnDevice
from rankloop.data.collection import Split
from rankloop.evaluation import Measured
from rankloop.gpu.packing import Memory, Queries, packed_measures, words
from rankloop.metrics.averaging import NothingRelevant
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import Metric

DEEPEST = 32
"""Ranks that are looked at on the device; what looks deeper is measured on the CPU."""
COLUMNS = 128
"""Rankers that a block scores: there are whole groups of so many."""
_SCORES = 2 << 30


class HeldOut(NamedTuple):
    """A test split in a memory, with the metrics and the queries that means are over."""

    queries: Queries
    documents: int
    measures: Measures
    packed: NDArray[np.uint64]
    kept: int
    counts: int

    @classmethod
    def of(
        cls, split: Split, chosen: Sequence[Metric], highest: int, nothing_relevant: NothingRelevant, memory: Memory
    ) -> "HeldOut":
        """The split, packed."""
        rows = split.arrays
        measures = Measures.of(chosen, rows.grades, rows.offsets, highest)
        counted = measures.norm > 0 if nothing_relevant == "skip" else np.ones(measures.norm.shape, bool)
        kept = np.zeros(measures.norm.shape, np.int64)
        for row, own in zip(kept, counted, strict=True):
            row[: own.sum()] = np.flatnonzero(own)
        return cls(
            queries=Queries.of(split, memory),
            documents=len(rows.grades),
            measures=measures,
            packed=packed_measures(measures, memory),
            kept=memory.put(kept),
            counts=memory.put(counted.sum(axis=1)),
        )

    @property
    def depth(self) -> int:
        """How many ranks are looked at."""
        return min(self.measures.depth, self.queries.longest)

    def fields(self, columns: int, weights: int, scores: int, values: int, means: int) -> NDArray[np.uint64]:
        """The fields of `Evaluation`."""
        own = self.queries
        return np.concatenate(
            [
                words(own.features, own.offsets, own.grades, own.queries, own.stride, self.documents, columns),
                words(weights, scores),
                self.packed,
                words(values, self.kept, self.counts, means),
            ]
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(metrics, queries)"""
        metrics, queries = self.measures.norm.shape
        return int(metrics), int(queries)


def columns_at_once(test: HeldOut, rankers: int) -> int:
    """How many rankers are measured at once: whole groups, whose scores fit two gigabytes."""
    fit = max(1, _SCORES // (4 * test.documents * COLUMNS))
    return min(fit, -(-rankers // COLUMNS)) * COLUMNS


def measured_on_device(checkpoints: Any, test: HeldOut, chosen: Sequence[Metric], keep_all: bool) -> list[OnDevice]:
    """For each run the means at every point, and the values by query at the last one, or at all.

    `checkpoints` is (runs, points, stride) float64 on the device.
    """
    import cupy

    from rankloop.gpu.programs import evaluation

    runs, points, stride = checkpoints.shape
    metrics, queries = test.shape
    score, rank, average = evaluation(test.depth)
    flat = checkpoints.reshape(runs * points, stride)
    wide = columns_at_once(test, len(flat))
    weights = cupy.zeros((stride, wide), cupy.float32)
    scores = cupy.empty((test.documents, wide), cupy.float32)
    values = cupy.zeros((metrics, queries, wide), cupy.float64)
    means = cupy.zeros((metrics, wide), cupy.float64)
    fields = cupy.asarray(test.fields(wide, *(int(one.data.ptr) for one in (weights, scores, values, means))))
    all_means = np.zeros((metrics, runs * points))
    kept = np.zeros((metrics, runs * points if keep_all else runs, queries), np.float64)
    tiles = -(-test.documents // 64)
    for begin in range(0, len(flat), wide):
        end = min(begin + wide, len(flat))
        weights[:, : end - begin] = flat[begin:end].astype(cupy.float32).T
        score((tiles, wide // COLUMNS), (256,), (fields,))
        rank((queries, wide // COLUMNS), (128,), (fields,))
        average((wide // COLUMNS, metrics), (128,), (fields,))
        all_means[:, begin:end] = means[:, : end - begin].get()
        wanted = np.arange(begin, end) if keep_all else np.arange(begin + (-1 - begin) % points, end, points)
        if len(wanted):
            places = wanted if keep_all else wanted // points
            taken = values[:, :, cupy.asarray(wanted - begin)]
            kept[:, places] = cupy.ascontiguousarray(taken.transpose(0, 2, 1)).get()
    relevant = test.measures.norm > 0
    each = points if keep_all else 1
    return [
        OnDevice(
            all_means[:, run * points : (run + 1) * points],
            Measured(tuple(chosen), kept[:, run * each : (run + 1) * each], relevant),
        )
        for run in range(runs)
    ]
