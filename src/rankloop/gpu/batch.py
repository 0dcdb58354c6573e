"""A batch of runs that share a launch: how they map to blocks, what each needs of the device, and the runs packed."""

from collections.abc import Sequence

from rankloop.asked import Asked
from rankloop.gpu.beliefs import belief_words, packed_belief, places_of, posterior_bytes, posterior_shape
from rankloop.gpu.duels import duel_bytes, duel_shape, duel_words, packed_duel
from rankloop.gpu.packing import PackedRun, packed_run
from rankloop.gpu.planning import Shape, bytes_of_run, room_for, shape_for, shared_bytes
from rankloop.gpu.rivals import (
    comparison_bytes,
    comparison_shape,
    comparison_words,
    counterfactual_bytes,
    counterfactual_shape,
    packed_comparison,
    packed_counterfactual,
)
from rankloop.learners import COLTR, DBGD, PMGD, Learner, Posterior

ONE_EACH = (Posterior, DBGD, PMGD, COLTR)
"""Methods that have a run to a block."""


def own_blocks(
    learner: Learner, features: int, page_size: int, room: int, most_shared: int
) -> tuple[Shape | None, int]:
    """How runs of a method that has one to a block map to blocks, None where they do not fit, and a block's bytes."""
    shape: Shape | None
    if isinstance(learner, Posterior):
        shape = posterior_shape(features, page_size, room, most_shared)
        return shape, posterior_bytes(features, page_size, room, root=shape.root_shared) if shape else 0
    if isinstance(learner, DBGD):
        return duel_shape(features, room, most_shared), duel_bytes(features, room)
    if isinstance(learner, PMGD):
        shape = comparison_shape(learner.candidates, features, page_size, room, most_shared)
        return shape, comparison_bytes(features, room, shape) if shape else 0
    assert isinstance(learner, COLTR), f"{learner.name} has blocks of several runs"
    shape = counterfactual_shape(learner.candidates, features, page_size, room, most_shared)
    return shape, counterfactual_bytes(features, page_size, room, shape) if shape else 0


def planned(first: Asked, seeds: Sequence[int], room: int, processors: int, most_shared: int) -> tuple[Shape, int]:
    """How runs such as the first one map to blocks, and how much shared memory each block takes."""
    features, page_size = first.data.features, first.settings["page_size"]
    if isinstance(first.learner, ONE_EACH):
        shape, needed = own_blocks(first.learner, features, page_size, room, most_shared)
    else:
        variance = bool(first.settings["gradient_variance"])
        shape = shape_for(seeds, processors, most_shared, features, room, variance=variance)
        needed = shared_bytes(shape.group, features, room, variance=variance) if shape else 0
    assert shape is not None, "why_not has refused what does not fit"
    return shape, needed


def bytes_of_each(batch: Sequence[Asked]) -> int:
    """That a run takes on the device at most, from the first impression to the last."""
    one = batch[0]
    impressions, variance = one.settings["impressions"], one.settings["gradient_variance"]
    left = bytes_of_run(impressions, len(one.online), len(one.points), one.data.features, variance=variance)
    return left + 8 * words_of_each(batch)


def words_of_each(batch: Sequence[Asked]) -> int:
    """Of 8 bytes that a run has for what its method keeps of its own; most need none."""
    first = batch[0]
    page_size = first.settings["page_size"]
    room = room_for(first.data.train.longest, page_size)
    if isinstance(first.learner, DBGD):
        return duel_words(room)
    if isinstance(first.learner, PMGD):
        return comparison_words(first.learner.candidates + 1, page_size, room)
    if not isinstance(first.learner, Posterior):
        return 0
    return belief_words(first.data.features, page_size, room, max(_places_by_memory(batch).values()))


def _places_by_memory(batch: Sequence[Asked]) -> dict[int, int]:
    """Places of the tables of merits: as many as a learner's memory has, or as the documents need."""
    learners = {one.learner.memory: one.learner for one in batch}
    documents = len(batch[0].data.train.grades)
    return {memory: places_of(learner, documents) for memory, learner in learners.items()}


def packed_batch(batch: Sequence[Asked]) -> list[PackedRun]:
    """Every run before its first impression."""
    features, page_size = batch[0].data.features, batch[0].settings["page_size"]
    places = _places_by_memory(batch) if isinstance(batch[0].learner, Posterior) else {}
    packed = []
    for one in batch:
        seed = one.settings["seed"]
        model = one.learner.model(features, page_size, seed, one.weights)
        if places:
            packed.append(packed_belief(model, seed, features, places[one.learner.memory]))
        elif isinstance(one.learner, DBGD):
            packed.append(packed_duel(model, seed, features))
        elif isinstance(one.learner, PMGD):
            packed.append(packed_comparison(model, seed, features))
        elif isinstance(one.learner, COLTR):
            packed.append(packed_counterfactual(model, seed, features))
        else:
            packed.append(packed_run(model, seed, features))
    return packed
