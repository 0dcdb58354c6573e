"""What is packed is what the device reads: its sources, run by a host's one thread, give the CPU's bits."""

import ctypes

import numpy as np
import pytest
from tests.gpu.hosted import HostMemory, library, simulated

import rankloop as rl
from rankloop.gpu.packing import packed_measures, packed_people, stride_of, words
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import named
from rankloop.users.attraction import ByAttribute
from rankloop.users.position_based import PositionBased

LEARNED = rl.propensities.learned()
REINFORCED = [
    [rl.ROLTR(reward=reward) for reward in ("naive+", "naive-", "naive+-", "ips+", "ips-", "ips+-")],
    [rl.ROLTR(discount=0.7, discount_steps=True, baseline=True), rl.ROLTR(temperature=0.3, decay=0.999, floor=1e-3)],
    [rl.ROLTR(skip_clickless=True, propensities=LEARNED, clip=0.05), rl.ROLTR(initial="truncated-normal")],
    [rl.ROLTR(propensities=rl.propensities.learned(rl.propensities.power_law(0.3), 20.0, monotone=True))],
]
GRADED = [[rl.MDPRank(), rl.MDPRank(variant="authors", temperature=2.0), rl.MDPRank(discount=0.5, decay=0.99)]]
PAIRED = [[rl.PDGD(), rl.PDGD(temperature=0.5, decay=0.9999, floor=0.01)]]
PEOPLE = {
    "trust": rl.users.trust("noisy"),
    "cascade": rl.users.cascade("noisy", stop="anywhere"),
    "dbn": rl.users.dbn("noisy"),
    "browsing": rl.users.user_browsing("noisy"),
    "chain": rl.users.click_chain("perfect"),
    "mixture": rl.users.mixture(["perfect", rl.users.dbn("navigational")], weights=[3, 1]),
    "drift": rl.users.drift(["perfect", "near-random"], at=[100], over=50),
}


def assert_equal_bits(found, user, data, impressions, **settings):
    for (learner, seed), (weights, values, clicks, _) in found:
        run = rl.simulate(learner, user, data, impressions, seed, evaluate_every=0, **settings)
        np.testing.assert_array_equal(clicks, run.clicks, err_msg=f"{learner}, seed {seed}")
        np.testing.assert_array_equal(values[:, 0], run.online_curve)
        np.testing.assert_array_equal(values[:, 1:], run.other_online)
        np.testing.assert_array_equal(weights, run.weights)


@pytest.mark.slow
@pytest.mark.parametrize("learners", [*REINFORCED, *GRADED, *PAIRED], ids=str)
def test_runs_have_the_bits_of_the_cpu(learners):
    data, user = rl.load("tiny"), rl.users.noisy()
    found = simulated(learners, user, data, 400, [3, 2**63 + 5], group=4)
    assert_equal_bits(found, user, data, 400)


@pytest.mark.slow
@pytest.mark.parametrize("user", PEOPLE.values(), ids=PEOPLE)
def test_people_click_where_they_do_on_the_cpu(user):
    data = rl.load("tiny")
    assert_equal_bits(simulated([rl.ROLTR()], user, data, 300, [1, 2]), user, data, 300)


def test_people_who_look_at_documents_do_so_on_the_device():
    data = rl.load("tiny").with_attributes(taste=lambda split: 0.5 + 0.4 * np.tanh(split.features[:, 0]))
    user = rl.users.mixture([PositionBased(ByAttribute("taste")), "noisy"])
    assert_equal_bits(simulated([rl.PDGD()], user, data, 300, [1]), user, data, 300)


@pytest.mark.slow
@pytest.mark.parametrize("page_size", [1, 2, 7, 30])
@pytest.mark.parametrize("learner", [rl.ROLTR(discount=1.0), rl.MDPRank(), rl.PDGD()], ids=lambda one: one.name)
def test_pages_of_any_size(page_size, learner):
    data, user = rl.load("tiny"), rl.users.noisy()
    settings = {"page_size": page_size, "metrics": ["ndcg", "err", "mrr@5", "p@3"]}
    assert_equal_bits(simulated([learner], user, data, 200, [1], **settings), user, data, 200, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [rl.ROLTR(skip_clickless=True, discount=0.5), rl.MDPRank()], ids=str)
def test_the_variance_of_the_gradient_differs_by_the_order_of_a_sum(learner):
    data, user = rl.load("tiny"), rl.users.perfect()
    ((_, (weights, _, _, variance)),) = simulated([learner], user, data, 300, [4], variance=True)
    run = rl.simulate(learner, user, data, 300, 4, evaluate_every=0, gradient_variance=True)
    np.testing.assert_array_equal(weights, run.weights)
    np.testing.assert_allclose(variance, run.variance_curve, rtol=1e-11, atol=1e-15)


def test_structs_have_as_many_words_as_the_device_reads():
    sizes = np.zeros(4, np.int64)
    library("host.cpp", LEARNER=0, GROUP=1, VARIANCE=0, STRIDE=48).sizes(ctypes.c_void_p(sizes.ctypes.data))
    data, memory = rl.load("tiny"), HostMemory()
    rows = data.train.arrays
    measures = packed_measures(Measures.of(named("ndcg"), rows.grades, rows.offsets), memory)
    people = packed_people(rl.users.noisy().on(data).compiled(10, data.train), memory)
    assert sizes.tolist() == [people.nbytes, 9 * 8, measures.nbytes, (8 + 13) * 8 + measures.nbytes]


def test_words_keep_whole_numbers_and_the_bits_of_floats():
    assert words(2**64 - 1, -1).tolist() == [2**64 - 1, 2**64 - 1]
    assert words(1.5).view(np.float64).tolist() == [1.5]


@pytest.mark.parametrize(("features", "stride"), [(1, 4), (4, 4), (46, 48), (136, 136)])
def test_rows_are_whole_groups_of_four(features, stride):
    assert stride_of(features) == stride
