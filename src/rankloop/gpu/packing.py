"""What the device reads, packed: structs of 8-byte fields in the order of `cuda/layout.cuh`, and arrays.

Where the arrays lie is the memory's affair: a device's, or a host's, for tests that run the same sources there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Split
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, MDPRank, Posterior
from rankloop.metrics.formulas import Measures
from rankloop.propensities.learning import LearnedExamination
from rankloop.users.behaviour import People

RANKS = 32
"""That a page may have at most: a lane of a warp each."""
ROWS = 16
"""Of features that are read at once at most: so many rows of zeros stand behind the last document."""
TABLES, STATE = 160, 168
CLICK_REWARD, SKIP_REWARD, PER_LOOK, OFFSET, PRIOR_RATIO = range(0, TABLES, RANKS)
RATE, CURVE = 0, 136
DISCOUNT_STEPS, BASELINE, SKIP_CLICKLESS, LEARNED, MONOTONE = (1 << bit for bit in range(5))
LEARNERS: dict[type, int] = {ROLTR: 0, MDPRank: 1, PDGD: 2, Posterior: 3, DBGD: 4, PMGD: 5, COLTR: 6}
"""Methods with device code, by the number that the sources know them by."""


class Memory(Protocol):
    """Where arrays lie that the device reads and writes."""

    def put(self, array: NDArray[Any]) -> int:
        """A copy of the array, or the array itself, kept as long as this memory is; its address."""

    def room(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of zeros that the device writes to, as this memory's own kind of array."""

    def address(self, array: Any) -> int:
        """Where an array of this memory lies."""


def stride_of(features: int) -> int:
    """How many floats a row of features has: whole groups of four, which are read at once.

    >>> stride_of(46), stride_of(136)
    (48, 136)
    """
    return -(-features // 4) * 4


def words(*fields: int | float) -> NDArray[np.uint64]:
    """A struct of 8-byte fields: whole numbers and addresses as they are, floats by their bits."""
    return np.concatenate([np.array([one], _kind(one)).view(np.uint64) for one in fields])


def _kind(value: int | float) -> Any:
    if isinstance(value, float):
        return np.float64
    return np.uint64 if value >= 0 else np.int64


class Queries(NamedTuple):
    """A split in a memory: addresses, and how large it is."""

    features: int
    offsets: int
    grades: int
    queries: int
    stride: int
    longest: int
    highest_grade: int

    @classmethod
    def of(cls, split: Split, memory: Memory) -> "Queries":
        """Rows padded to whole groups of four, with some rows of zeros behind them."""
        rows = split.arrays
        documents, features = rows.features.shape
        stride = stride_of(features)
        padded = np.zeros((documents + ROWS, stride), np.float32)
        padded[:documents, :features] = rows.features
        return cls(
            features=memory.put(padded),
            offsets=memory.put(rows.offsets),
            grades=memory.put(rows.grades),
            queries=len(rows.offsets) - 1,
            stride=stride,
            longest=split.longest,
            highest_grade=int(rows.grades.max()),
        )


def packed_measures(measures: Measures, memory: Memory) -> NDArray[np.uint64]:
    """The fields of `Measures`."""
    return words(
        len(measures.formula),
        measures.weight.shape[1],
        measures.norm.shape[1],
        *(memory.put(np.ascontiguousarray(array)) for array in measures),
    )


def packed_people(people: People, memory: Memory) -> NDArray[np.uint64]:
    """The fields of `People`."""
    arrays = [array.astype(np.uint8) if array.dtype == bool else array for array in people]
    ranks = people.look.shape[1]
    return words(
        *(memory.put(np.ascontiguousarray(array)) for array in arrays), len(people.begin), len(people.knots), ranks
    )


class PackedRun(NamedTuple):
    """A run before its first impression: settings but for where its people are, tables, weights and state."""

    settings: tuple[int | float, ...]
    tables: NDArray[np.float64]
    weights: NDArray[np.float64]
    state: NDArray[np.float64]

    def fields(self, people: int) -> NDArray[np.uint64]:
        """The fields of `Settings`."""
        seed, flags, *rest = self.settings
        return words(seed, flags, people, *rest)


def packed_run(model: Any, seed: int, features: int) -> PackedRun:
    """A model as its learner makes it, for the device."""
    settings = model.settings
    weights = np.zeros(stride_of(features))
    weights[:features] = model.ranker.weights
    tables, state = np.zeros(TABLES), np.zeros(STATE)
    state[RATE] = model.rate[0]
    flags, discount, clip, prior_pages = 0, 0.0, 0.0, 0.0
    if hasattr(model, "step_weight"):
        discount = model.discount
        fill(tables, {CLICK_REWARD: model.gain, SKIP_REWARD: model.step_weight})
    elif hasattr(model, "click_reward"):
        discount = settings.discount
        flags |= DISCOUNT_STEPS * settings.discount_steps | BASELINE * settings.baseline
        flags |= SKIP_CLICKLESS * settings.skip_clickless
        fill(tables, {CLICK_REWARD: model.click_reward, SKIP_REWARD: model.skip_reward})
        learned = model.examination
        if isinstance(learned, LearnedExamination):
            flags |= LEARNED | MONOTONE * learned.monotone
            clip, prior_pages = learned.clip, learned.weight
            fill(tables, {PER_LOOK: learned.per_look, OFFSET: learned.offset, PRIOR_RATIO: learned.prior_ratio})
            fill(state, {CURVE: learned.curve})
    numbers = (discount, settings.temperature, settings.decay, settings.floor, clip, prior_pages)
    return PackedRun((int(seed), int(flags), *map(float, numbers)), tables, weights, state)


def fill(array: NDArray[np.float64], parts: dict[int, NDArray[np.float64]]) -> None:
    """Put values where they begin."""
    for begin, values in parts.items():
        array[begin : begin + len(values)] = values


class Results(NamedTuple):
    """What a batch of runs leaves in a memory, and the runs themselves as they go."""

    weights: Any
    values: Any
    clicks: Any
    variance: Any
    problem: NDArray[np.uint64]


def packed_problem(
    queries: Queries,
    page_size: int,
    room: int,
    measures: Measures,
    runs: Sequence[PackedRun],
    people: Sequence[People],
    groups: NDArray[np.int64],
    impressions: int,
    memory: Memory,
    *,
    variance: bool,
    features: int = 0,
    words_each: int = 0,
) -> Results:
    """Everything of a batch, in a memory. `people` has those of each run; the same ones are packed once.

    `features`, and `words_each`, which a run has of its own and finds full of zeros, are for methods with a run to a
    block.
    """
    packed: dict[int, int] = {}
    for one in people:
        if id(one) not in packed:
            packed[id(one)] = memory.put(packed_people(one, memory))
    settings = np.concatenate([run.fields(packed[id(one)]) for run, one in zip(runs, people, strict=True)])
    metrics = len(measures.formula)
    weights = memory.room((len(runs), queries.stride), np.float64)
    state = memory.room((len(runs), STATE), np.float64)
    _assign(weights, np.stack([run.weights for run in runs]))
    _assign(state, np.stack([run.state for run in runs]))
    values = memory.room((len(runs), impressions, metrics), np.float64)
    clicks = memory.room((len(runs), impressions), np.uint8)
    spread = memory.room((len(runs), impressions if variance else 0), np.float64)
    noise = memory.room((len(groups), room), np.float64)
    own = memory.room((len(runs), words_each), np.float64)
    problem = np.concatenate(
        [
            words(queries.features, queries.offsets, queries.grades, queries.queries, queries.stride, room, page_size),
            words(queries.highest_grade),
            packed_measures(measures, memory),
            words(
                memory.put(settings),
                memory.put(groups),
                memory.put(np.stack([run.tables for run in runs])),
                *(memory.address(array) for array in (weights, state, values, clicks)),
                memory.address(spread) if variance else 0,
                memory.address(noise),
                impressions,
                features,
                words_each,
                memory.address(own) if words_each else 0,
            ),
        ]
    )
    return Results(weights, values, clicks, spread, problem)


def _assign(array: Any, values: NDArray[Any]) -> None:
    if isinstance(array, np.ndarray):
        array[...] = values
    else:
        array.set(values)
