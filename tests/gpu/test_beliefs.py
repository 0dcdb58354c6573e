"""Posterior on a device, run by a host: by one thread, and by many that take turns, in the bits of the CPU."""

import numpy as np
import pytest
from tests.gpu.hosted import believed, library
from tests.gpu.test_packing import PEOPLE, assert_equal_bits

import rankloop as rl
from rankloop.benchmark.yardsticks import mslr_shaped
from rankloop.gpu.beliefs import (
    MOST_THREADS,
    RESERVED,
    belief_shared,
    belief_words,
    columns_of,
    forget_every,
    packed_belief,
    places_of,
    posterior_bytes,
    posterior_shape,
    triangle_words,
)
from rankloop.gpu.planning import room_for
from rankloop.kernels.draws import DIRECTIONS, fill_normals, stream_key
from rankloop.learners.posterior import remembered

H200 = 232_448
GIVEN = np.linspace(-1.0, 1.0, 20)
BELIEVED = [
    [rl.Posterior(), rl.Posterior(exploration=0.0, early_exploration=0.0), rl.Posterior(softness=0.0)],
    [rl.Posterior(level_shape=0.0), rl.Posterior(level_drift=0.1), rl.Posterior(early_pages=20.0)],
    [rl.Posterior(prior_variance=1.0, prior_weight=5.0), rl.Posterior(half_life=300.0), rl.Posterior(half_life=5.0)],
    [rl.Posterior(common_variance=variance, common_weight=weight) for variance in (0.0, 0.5) for weight in (0.0, -0.7)],
    [rl.Posterior(examination=rl.propensities.power_law(1.0), examination_variance=1.0)],
    # None, fewer than there are documents, so that the least known make room, and all of them.
    [rl.Posterior(memory=memory, merit_variance=0.5, merit_weight=2.0) for memory in (0, 100, 900, 20_000)],
]


@pytest.mark.parametrize("learners", BELIEVED, ids=str)
def test_runs_have_the_bits_of_the_cpu(learners):
    data, user = rl.load("tiny"), rl.users.noisy()
    assert_equal_bits(believed(learners, user, data, 1_200, [3, 2**63 + 5]), user, data, 1_200)


@pytest.mark.parametrize("more", [{}, {"start_pages": 5.0, "half_life": 40.0, "common_variance": 1.0}], ids=str)
def test_given_weights_are_a_prior(more):
    data, user = rl.load("tiny"), rl.users.noisy()
    found = believed([rl.Posterior(**more)], user, data, 600, [3], weights=GIVEN)
    assert_equal_bits(found, user, data, 600, weights=GIVEN)


def odd_lists():
    """Seven features, one of which never varies; lists of one document, of fewer than a page, and of many."""
    rng = np.random.default_rng(4)
    sizes = [1, 2, 5, 64, 90] * 6
    features = rng.normal(size=(sum(sizes), 7)).astype(np.float32)
    features[:, 3] = 0.5
    split = rl.Split.of(features, rng.integers(0, 3, sum(sizes)), np.repeat(np.arange(len(sizes)), sizes))
    return rl.Collection("odd lists", split, split)


@pytest.mark.parametrize("weights", [None, np.linspace(-1.0, 1.0, 7)], ids=["from nothing", "given"])
def test_lists_of_any_length_and_features_that_never_vary(weights):
    data, user = odd_lists(), rl.users.perfect()
    learners = [rl.Posterior(), rl.Posterior(half_life=100.0, memory=100)]
    for threads in (1, 7):
        found = believed(learners, user, data, 400, [1], weights=weights, threads=threads)
        assert_equal_bits(found, user, data, 400, weights=weights)


@pytest.mark.slow
def test_features_like_those_of_a_real_collection():
    data, user = mslr_shaped(64), rl.users.noisy()
    shape = posterior_shape(data.features, 10, room_for(data.train.longest, 10), H200)
    found = believed([rl.Posterior()], user, data, 60, [1], threads=shape.threads, root=shape.root_shared)
    assert_equal_bits(found, user, data, 60)


@pytest.mark.slow
@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 7, 10, 11, 13, 21, 32])
def test_pages_of_any_size(page_size):
    data, user = rl.load("tiny"), rl.users.noisy()
    found = believed([rl.Posterior()], user, data, 300, [1], page_size=page_size)
    assert_equal_bits(found, user, data, 300, page_size=page_size)


@pytest.mark.slow
@pytest.mark.parametrize("root", [True, False], ids=["in shared memory", "in the device's"])
@pytest.mark.parametrize("last_first", [False, True], ids=["first first", "last first"])
@pytest.mark.parametrize("threads", [5, 40])
def test_it_does_not_matter_which_thread_comes_first_between_two_barriers(threads, last_first, root):
    """Fewer threads than columns, and more; a barrier that is missing shows in one of the two orders. Within ninety
    pages the model has forgotten several times, and its memory of documents is full."""
    data, user = rl.load("tiny"), rl.users.noisy()
    how = {"threads": threads, "last_first": last_first, "root": root}
    learners = [rl.Posterior(half_life=40.0, memory=100), rl.Posterior()]
    assert_equal_bits(believed(learners, user, data, 90, [2], **how), user, data, 90)
    found = believed(learners, user, data, 40, [2], weights=GIVEN, page_size=13, **how)
    assert_equal_bits(found, user, data, 40, weights=GIVEN, page_size=13)


@pytest.mark.slow
@pytest.mark.parametrize("user", PEOPLE.values(), ids=PEOPLE)
def test_people_click_where_they_do_on_the_cpu(user):
    data = rl.load("tiny")
    assert_equal_bits(believed([rl.Posterior()], user, data, 300, [1]), user, data, 300)


def compiled(features, page_size, *, root):
    columns = columns_of(features, page_size)
    defines = {"LEARNER": 3, "GROUP": 1, "VARIANCE": 0, "STRIDE": features, "COLUMNS": columns, "THREADS": 1}
    return library("host.cpp", **defines, ROOT_SHARED=int(root))


@pytest.mark.parametrize("root", [True, False])
def test_a_belief_is_as_large_as_planned(root):
    code = compiled(20, 10, root=root)
    assert code.belief_bytes() == belief_shared(20, 10, root=root)
    assert code.triangle_words() == triangle_words(columns_of(20, 10))


def test_normals_are_those_of_the_cpu():
    code = compiled(20, 10, root=True)
    code.drawn_normals.restype = None
    for count in (1, 2, 19, 136, 4_001):
        key = np.uint64(stream_key(np.uint64(7), DIRECTIONS, count))
        here, there = np.zeros(count, np.float32), np.zeros(count, np.float32)
        fill_normals(key, here)
        code.drawn_normals(*(np.ctypeslib.as_ctypes(one) for one in (np.array([key]), there)), count)
        np.testing.assert_array_equal(here, there)


def test_the_factor_is_in_shared_memory_where_it_fits():
    """MSLR's 136 features: two blocks to a processor, or one where lists are long; Yahoo!'s 700: in the device's."""
    short, long = (posterior_shape(136, 10, room_for(longest, 10), H200) for longest in (200, 1251))
    assert (short.blocks, short.root_shared, long.blocks, long.root_shared) == (2, True, 1, True)
    assert not posterior_shape(700, 10, room_for(140, 10), H200).root_shared
    assert posterior_shape(136, 10, 100_000, H200) is None


@pytest.mark.parametrize("features", [5, 46, 136, 220, 700, 1_990])
def test_blocks_have_a_warp_to_spare_and_fit_a_processor(features):
    room = room_for(200, 10)
    shape = posterior_shape(features, 10, room, H200)
    assert shape.threads > 32
    assert shape.threads * shape.blocks <= MOST_THREADS
    needed = posterior_bytes(features, 10, room, root=shape.root_shared)
    assert shape.blocks * (needed + RESERVED) <= H200 + RESERVED


def test_a_run_has_room_for_its_table_and_two_factors():
    more = belief_words(136, 10, 208, 32_768) - belief_words(136, 10, 208, 0)
    assert more == 3 * 32_768
    assert belief_words(136, 10, 208, 0) > 2 * triangle_words(152)
    assert [places_of(rl.Posterior(memory=memory), 2_228) for memory in (0, 100, 20_000)] == [0, 256, 4_096]


@pytest.mark.parametrize("half_life", [1.0, 40.0, 300.0, 1e300])
def test_a_half_life_is_forgotten_when_it_is_on_the_cpu(half_life):
    model = rl.Posterior(half_life=half_life).model(3, 2, 1)
    every, kept, _ = packed_belief(model, 1, 3, 0).tables[14:17]
    for pages in (1, 2, 3, 18, 36, 40):
        assert remembered(half_life, pages) == (kept if pages % every == 0 else 1.0)
    assert forget_every(0.0) == 0
