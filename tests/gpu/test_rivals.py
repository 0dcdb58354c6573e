"""PMGD and COLTR on a device, run by a host: by one thread, and by many that take turns, in the bits of the CPU."""

import numpy as np
import pytest
from tests.gpu.hosted import compared, rivals_library
from tests.gpu.test_beliefs import H200, odd_lists
from tests.gpu.test_packing import PEOPLE, assert_equal_bits

import rankloop as rl
from rankloop.benchmark.yardsticks import mslr_shaped
from rankloop.gpu.beliefs import RESERVED
from rankloop.gpu.packing import RATE
from rankloop.gpu.planning import room_for
from rankloop.gpu.rivals import (
    at_once_for,
    comparison_bytes,
    comparison_shape,
    comparison_words,
    counterfactual_bytes,
    counterfactual_shape,
    order_bytes,
    packed_comparison,
    packed_counterfactual,
    rivals_shared,
)

MULTILEAVED = [
    [rl.PMGD(), rl.PMGD(delta=0.3, learning_rate=0.1), rl.PMGD(initial="zeros")],
    [rl.PMGD(candidates=1), rl.PMGD(candidates=1, delta=2.0, initial="truncated-normal")],
    [rl.PMGD(candidates=120), rl.PMGD(candidates=120, delta=0.5)],
]
COUNTERFACTUAL = [
    [rl.COLTR(), rl.COLTR(delta=0.3, learning_rate=0.5, decay=0.99), rl.COLTR(initial="zeros", variance_weight=0.0)],
    [rl.COLTR(candidates=1), rl.COLTR(candidates=1, temperature=1.0, variance_weight=3.0)],
    [rl.COLTR(candidates=60, decay=0.9, floor=0.05), rl.COLTR(candidates=60, initial="truncated-normal")],
]
BOTH = [[rl.PMGD(), rl.PMGD(delta=0.3)], [rl.COLTR(candidates=49), rl.COLTR(candidates=49, temperature=1.0, delta=0.3)]]


@pytest.mark.parametrize("learners", [*MULTILEAVED, *COUNTERFACTUAL], ids=str)
def test_runs_have_the_bits_of_the_cpu(learners):
    data, user = rl.load("tiny"), rl.users.noisy()
    assert_equal_bits(compared(learners, user, data, 400, [3, 2**63 + 5]), user, data, 400)


@pytest.mark.parametrize("learners", BOTH, ids=["PMGD", "COLTR"])
@pytest.mark.parametrize("page_size", [*range(1, 13), 30, 32])
def test_pages_of_any_size(page_size, learners):
    data, user = rl.load("tiny"), rl.users.noisy()
    found = compared(learners, user, data, 200, [1], page_size=page_size, at_once=32, ordered=8_192)
    assert_equal_bits(found, user, data, 200, page_size=page_size)


@pytest.mark.parametrize("learners", BOTH, ids=["PMGD", "COLTR"])
@pytest.mark.parametrize("shaped", [{"at_once": 16}, {"at_once": 32}, {"ordered": 0}, {"ordered": 8_000}], ids=str)
def test_rivals_drawn_some_after_others_and_orders_in_the_devices_memory(learners, shaped):
    """8,000 bytes hold the shorter lists of candidates, and not the longer ones."""
    data, user = rl.load("tiny"), rl.users.noisy()
    assert_equal_bits(compared(learners, user, data, 200, [2], threads=7, **shaped), user, data, 200)


@pytest.mark.parametrize("learners", BOTH, ids=["PMGD", "COLTR"])
@pytest.mark.parametrize("threads", [1, 7])
def test_lists_of_any_length_and_an_odd_number_of_features(learners, threads):
    data, user = odd_lists(), rl.users.perfect()
    assert_equal_bits(compared(learners, user, data, 400, [1], threads=threads), user, data, 400)


@pytest.mark.slow
@pytest.mark.parametrize("last_first", [False, True], ids=["first first", "last first"])
@pytest.mark.parametrize("threads", [5, 40, 256])
@pytest.mark.parametrize("shaped", [{}, {"at_once": 16, "ordered": 0}], ids=["all at once", "some after others"])
@pytest.mark.parametrize("learners", BOTH, ids=["PMGD", "COLTR"])
def test_it_does_not_matter_which_thread_comes_first_between_two_barriers(threads, last_first, shaped, learners):
    """Every page passes all barriers, whether or not it is clicked: fifty of them do what thousands would."""
    data, user = rl.load("tiny"), rl.users.noisy()
    found = compared(learners, user, data, 50, [2], threads=threads, last_first=last_first, **shaped)
    assert_equal_bits(found, user, data, 50)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [rl.PMGD(), rl.COLTR()], ids=lambda one: one.name)
@pytest.mark.parametrize("user", PEOPLE.values(), ids=PEOPLE)
def test_people_click_where_they_do_on_the_cpu(learner, user):
    data = rl.load("tiny")
    assert_equal_bits(compared([learner], user, data, 300, [1]), user, data, 300)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [rl.PMGD(), rl.PMGD(candidates=150, delta=0.5), rl.COLTR()], ids=str)
def test_long_lists_with_features_like_those_of_a_real_collection(learner):
    data, user = mslr_shaped(64), rl.users.noisy()
    assert_equal_bits(compared([learner], user, data, 40, [1], threads=256), user, data, 40)


def test_rivals_take_as_much_as_planned():
    data = rl.load("tiny")
    for candidates in (1, 49, 120):
        shape = comparison_shape(candidates, data.features, 10, 208, H200)
        code = rivals_library(rl.PMGD(candidates=candidates), data, shape)
        assert code.rivals_bytes() == rivals_shared(data.features, shape.rankers, shape.at_once)


@pytest.mark.parametrize(
    ("rivals", "features", "longest"), [(49, 46, 120), (49, 136, 800), (499, 136, 200), (49, 700, 140)]
)
def test_two_blocks_fit_a_processor(rivals, features, longest):
    room = room_for(longest, 10)
    shape = comparison_shape(rivals, features, 10, room, H200)
    assert shape.blocks == 2
    assert shape.at_once in at_once_for(rivals + 1)
    assert 2 * (comparison_bytes(features, room, shape) + RESERVED) <= H200 + RESERVED
    assert shape.ordered <= order_bytes(rivals + 1, 10, room)


def test_lists_as_long_as_shared_memory_lasts():
    room = room_for(1251, 10)
    least = comparison_shape(49, 136, 10, room, H200)._replace(at_once=16, ordered=0)
    needed = comparison_bytes(136, room, least)
    assert comparison_shape(49, 136, 10, room, needed) == least._replace(blocks=1)
    assert comparison_shape(49, 136, 10, room, needed - 1) is None
    assert 8 * comparison_words(50, 10, room) == 16 * (room + 1) + order_bytes(50, 10, room)


@pytest.mark.parametrize(("features", "at_once", "blocks"), [(46, 128, 2), (136, 128, 2), (700, 32, 2), (2_000, 16, 1)])
def test_as_many_rivals_of_coltr_are_drawn_at_once_as_shared_memory_has_room_for(features, at_once, blocks):
    room = room_for(200, 10)
    shape = counterfactual_shape(499, features, 10, room, H200)
    assert (shape.rankers, shape.at_once, shape.blocks) == (500, at_once, blocks)
    assert blocks * (counterfactual_bytes(features, 10, room, shape) + RESERVED) <= H200 + RESERVED
    assert counterfactual_shape(499, 20_000, 10, room, H200) is None


def test_settings_are_packed():
    run = packed_counterfactual(rl.COLTR(delta=0.5, variance_weight=2.0, learning_rate=0.2).model(3, 2, 7), 7, 3)
    assert (run.tables[:2].tolist(), run.state[RATE]) == ([0.5, 2.0], 0.2)
    assert run.settings == (7, 0, 0.0, 0.1, 0.99966, 0.01, 0.0, 0.0)
    run = packed_comparison(rl.PMGD(delta=0.5, learning_rate=0.2).model(3, 2, 7, np.ones(3)), 7, 3)
    assert run.tables[:2].tolist() == [0.5, 0.2]
    assert run.weights.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert run.settings[:2] == (7, 0)
