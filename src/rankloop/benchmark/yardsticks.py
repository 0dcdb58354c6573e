"""What speed is measured on, and against: data with MSLR's shape, and the least that anybody could do with it."""

import resource
from collections.abc import Iterable
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Arrays, Collection, Split

DOCUMENTS, FEATURES = 125, 136
"""Of a query of MSLR-WEB10K, and of a document."""


def mslr_shaped(queries: int, documents: int = DOCUMENTS, features: int = FEATURES) -> Collection:
    """Random features with MSLR's shape; what they mean is of no interest here."""
    draws = np.random.default_rng(1)
    lengths = np.clip(draws.lognormal(np.log(documents) - 0.125, 0.5, queries), 5, 8 * documents)
    offsets = np.r_[0, np.cumsum(lengths.astype(np.int64))]
    grades = draws.choice(5, size=offsets[-1], p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(np.uint8)
    rows = draws.random((offsets[-1], features), dtype=np.float32)
    split = Split(rows, offsets, grades, np.arange(queries))
    return Collection("benchmark", train=split, test=split)


@numba.njit(fastmath=True)
def sum_rows(features, offsets, order):
    """The sum of all features of the queries, in their order: as fast as memory can be read."""
    total = np.float32(0.0)
    for q in order:
        rows = features[offsets[q] : offsets[q + 1]].reshape(-1)
        part = np.float32(0.0)
        for j in range(rows.size):
            part += rows[j]
        total += part
    return total


def multiply_rows(arrays: Arrays, order: Iterable[int], W: NDArray[np.float32]) -> NDArray[np.float32]:
    """X W for the queries in their order; the last product."""
    for q in order:
        product = arrays.features[arrays.offsets[q] : arrays.offsets[q + 1]] @ W
    return product


def numpy_roltr(arrays: Arrays, order: NDArray[np.int64]) -> None:
    """The same update in NumPy, closed form: what careful array code without a compiler can do."""
    draws = np.random.default_rng(1)
    weights = np.zeros(arrays.features.shape[1], np.float32)
    discount = 1.0 / np.log2(np.arange(2, 12))
    propensity = 1.0 / np.arange(1, 11)
    attraction = np.array([0.4, 0.6, 0.7, 0.8, 0.9])
    for q in order:
        rows = slice(arrays.offsets[q], arrays.offsets[q + 1])
        X, grades = arrays.features[rows], arrays.grades[rows]
        scores = (X @ weights).astype(np.float64)
        keys = scores + draws.gumbel(size=len(scores))
        k = min(10, len(scores))
        page = np.argpartition(-keys, k - 1)[:k]
        page = page[np.argsort(-keys[page])]
        clicks = draws.random(k) < attraction[grades[page]] * propensity[:k]
        p, weight = propensity[:k], discount[:k]
        returns = np.where(clicks, weight * (2.0 - p) / p, -weight)
        hidden = scores.copy()
        hidden[page] = -np.inf
        top = hidden.max()
        bottom = top + np.log(np.exp(hidden - top).sum()) if np.isfinite(top) else -np.inf
        logs = np.logaddexp.accumulate(np.r_[bottom, scores[page][::-1]])[:0:-1]
        carried = np.empty(k)
        total = 0.0
        for t in range(k):
            total = total * np.exp(logs[t] - logs[t - 1]) + returns[t] if t else returns[0]
            carried[t] = total
        slope = -np.exp(hidden - logs[-1]) * total
        slope[page] = returns - np.exp(scores[page] - logs) * carried
        weights += np.float32(0.01) * (slope.astype(np.float32) @ X)


def write_svmlight(folder: Path, documents: int) -> Path:
    """Text as MSLR-WEB10K has it: small integers, six-digit decimals, large counts, all features given."""
    draws = np.random.default_rng(1)
    path = folder / "mslr-shaped.txt"
    kinds = draws.integers(0, 3, FEATURES)
    with path.open("w") as file:
        for d in range(documents):
            values = draws.gamma(1.0, 10.0, FEATURES)
            row = [
                f"{j + 1}:{value:.0f}" if kind == 0 else f"{j + 1}:{value:.6f}" if kind == 1 else f"{j + 1}:0"
                for j, (kind, value) in enumerate(zip(kinds, values, strict=True))
            ]
            file.write(f"{d % 5} qid:{d // DOCUMENTS} {' '.join(row)} \n")
    return path


def peak_memory_kb() -> int:
    """The largest resident set of this process so far, in kB.

    Linux keeps `ru_maxrss` across exec, so that a child reports its parent's peak; VmHWM starts anew.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
