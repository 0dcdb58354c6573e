"""PMGD on a device, run by a host: by one thread, and by many that take turns, in the bits of the CPU."""

import numpy as np
import pytest
from tests.gpu.hosted import multileaved, rivals_library
from tests.gpu.test_beliefs import H200, odd_lists
from tests.gpu.test_packing import PEOPLE, assert_equal_bits

import rankloop as rl
from rankloop.benchmark.yardsticks import mslr_shaped
from rankloop.gpu.beliefs import RESERVED
from rankloop.gpu.planning import room_for
from rankloop.gpu.rivals import (
    at_once_for,
    comparison_bytes,
    comparison_shape,
    comparison_words,
    order_bytes,
    packed_comparison,
    rivals_shared,
)

MULTILEAVED = [
    [rl.PMGD(), rl.PMGD(delta=0.3, learning_rate=0.1), rl.PMGD(initial="zeros")],
    [rl.PMGD(candidates=1), rl.PMGD(candidates=1, delta=2.0, initial="truncated-normal")],
    [rl.PMGD(candidates=120), rl.PMGD(candidates=120, delta=0.5)],
]


@pytest.mark.parametrize("learners", MULTILEAVED, ids=str)
def test_runs_have_the_bits_of_the_cpu(learners):
    data, user = rl.load("tiny"), rl.users.noisy()
    assert_equal_bits(multileaved(learners, user, data, 400, [3, 2**63 + 5]), user, data, 400)


@pytest.mark.parametrize("page_size", [*range(1, 13), 30, 32])
def test_pages_of_any_size(page_size):
    data, user = rl.load("tiny"), rl.users.noisy()
    learners = [rl.PMGD(candidates=9), rl.PMGD(candidates=9, delta=0.5)]
    found = multileaved(learners, user, data, 200, [1], page_size=page_size, ordered=4_096)
    assert_equal_bits(found, user, data, 200, page_size=page_size)


@pytest.mark.parametrize("shaped", [{"at_once": 16}, {"at_once": 32}, {"ordered": 0}, {"ordered": 8_000}], ids=str)
def test_rivals_drawn_some_after_others_and_orders_in_the_devices_memory(shaped):
    """8,000 bytes hold the shorter lists of candidates, and not the longer ones."""
    data, user = rl.load("tiny"), rl.users.noisy()
    learners = [rl.PMGD(), rl.PMGD(delta=0.3)]
    assert_equal_bits(multileaved(learners, user, data, 200, [2], threads=7, **shaped), user, data, 200)


@pytest.mark.parametrize("threads", [1, 7])
def test_lists_of_any_length_and_an_odd_number_of_features(threads):
    data, user = odd_lists(), rl.users.perfect()
    learners = [rl.PMGD(candidates=20), rl.PMGD(candidates=20, delta=0.1)]
    assert_equal_bits(multileaved(learners, user, data, 400, [1], threads=threads), user, data, 400)


@pytest.mark.slow
@pytest.mark.parametrize("last_first", [False, True], ids=["first first", "last first"])
@pytest.mark.parametrize("threads", [5, 40, 256])
@pytest.mark.parametrize("shaped", [{}, {"at_once": 16, "ordered": 0}], ids=["all at once", "some after others"])
def test_it_does_not_matter_which_thread_comes_first_between_two_barriers(threads, last_first, shaped):
    data, user = rl.load("tiny"), rl.users.noisy()
    learners = [rl.PMGD(), rl.PMGD(delta=0.3)]
    found = multileaved(learners, user, data, 200, [2], threads=threads, last_first=last_first, **shaped)
    assert_equal_bits(found, user, data, 200)


@pytest.mark.slow
@pytest.mark.parametrize("user", PEOPLE.values(), ids=PEOPLE)
def test_people_click_where_they_do_on_the_cpu(user):
    data = rl.load("tiny")
    assert_equal_bits(multileaved([rl.PMGD()], user, data, 300, [1]), user, data, 300)


@pytest.mark.slow
def test_long_lists_with_features_like_those_of_a_real_collection():
    data, user = mslr_shaped(64), rl.users.noisy()
    assert_equal_bits(multileaved([rl.PMGD()], user, data, 100, [1], threads=256), user, data, 100)


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


def test_settings_are_packed():
    run = packed_comparison(rl.PMGD(delta=0.5, learning_rate=0.2).model(3, 2, 7, np.ones(3)), 7, 3)
    assert run.tables[:2].tolist() == [0.5, 0.2]
    assert run.weights.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert run.settings[:2] == (7, 0)
