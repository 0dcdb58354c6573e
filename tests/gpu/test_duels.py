"""DBGD on a device, run by a host: by one thread, and by many that take turns, in the bits of the CPU."""

import ctypes

import pytest
from tests.gpu.hosted import duelled, library
from tests.gpu.test_packing import PEOPLE, assert_equal_bits

import rankloop as rl
from rankloop.benchmark.yardsticks import mslr_shaped
from rankloop.gpu.duels import TEAM_DRAFT, duel_bytes, duel_shape, duel_shared, duel_words, packed_duel
from rankloop.gpu.planning import room_for

DUELS = [
    [rl.DBGD(), rl.DBGD(delta=0.3, learning_rate=0.1), rl.DBGD(initial="zeros")],
    [rl.DBGD(interleaving="team-draft"), rl.DBGD(interleaving="team-draft", initial="truncated-normal")],
]


@pytest.mark.parametrize("learners", DUELS, ids=str)
def test_runs_have_the_bits_of_the_cpu(learners):
    data, user = rl.load("tiny"), rl.users.noisy()
    assert_equal_bits(duelled(learners, user, data, 600, [3, 2**63 + 5]), user, data, 600)


@pytest.mark.parametrize("page_size", [1, 2, 3, 7, 13, 30, 32])
def test_pages_of_any_size(page_size):
    data, user = rl.load("tiny"), rl.users.noisy()
    learners = [rl.DBGD(), rl.DBGD(interleaving="team-draft")]
    found = duelled(learners, user, data, 200, [1], page_size=page_size)
    assert_equal_bits(found, user, data, 200, page_size=page_size)


@pytest.mark.slow
@pytest.mark.parametrize("last_first", [False, True], ids=["first first", "last first"])
@pytest.mark.parametrize("threads", [5, 40])
def test_it_does_not_matter_which_thread_comes_first_between_two_barriers(threads, last_first):
    data, user = rl.load("tiny"), rl.users.noisy()
    learners = [rl.DBGD(), rl.DBGD(interleaving="team-draft")]
    found = duelled(learners, user, data, 200, [2], threads=threads, last_first=last_first)
    assert_equal_bits(found, user, data, 200)


@pytest.mark.slow
@pytest.mark.parametrize("user", PEOPLE.values(), ids=PEOPLE)
def test_people_click_where_they_do_on_the_cpu(user):
    data = rl.load("tiny")
    assert_equal_bits(duelled([rl.DBGD()], user, data, 300, [1]), user, data, 300)


@pytest.mark.slow
def test_long_lists_with_features_like_those_of_a_real_collection():
    data, user = mslr_shaped(64), rl.users.noisy()
    learners = [rl.DBGD(), rl.DBGD(interleaving="team-draft")]
    assert_equal_bits(duelled(learners, user, data, 100, [1], threads=96), user, data, 100)


def test_a_rival_takes_as_much_as_planned():
    code = library("host.cpp", LEARNER=4, GROUP=1, VARIANCE=0, STRIDE=20, THREADS=1)
    assert code.duel_bytes(ctypes.c_int64(208)) == duel_shared(20, 208)


def test_lists_as_long_as_shared_memory_lasts():
    room = room_for(1251, 10)
    assert duel_shape(136, room, duel_bytes(136, room)).group == 1
    assert duel_shape(136, room, duel_bytes(136, room) - 1) is None
    assert duel_words(room) == 2 * (room + 1)


def test_settings_are_packed():
    run = packed_duel(rl.DBGD(delta=0.5, learning_rate=0.2, interleaving="team-draft").model(3, 2, 7), 7, 3)
    assert run.tables[:2].tolist() == [0.5, 0.2]
    assert run.settings[:2] == (7, TEAM_DRAFT)
