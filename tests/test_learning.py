"""Learning works: on the built-in world each method ends where it should, and on real data ROLTR and PDGD learn."""

import numpy as np
import pytest

import rankloop as rl

METHODS = {
    "random": rl.FixedWeights(),
    "DBGD": rl.DBGD(),
    "PMGD": rl.PMGD(),
    "COLTR": rl.COLTR(),
    "PDGD": rl.PDGD(),
    "ROLTR": rl.ROLTR(),
    "naive": rl.ROLTR(reward="naive+-"),
    "MDPRank": rl.MDPRank(variant="authors"),
}
USERS = ["perfect", "noisy"]

# The means beside the facts were measured over twelve seeds (PMGD and COLTR: six). Each margin leaves about two
# standard errors or more; seeds are fixed, so that only another processor or library version draws anew.
pytestmark = [pytest.mark.xdist_group("learning"), pytest.mark.long]


@pytest.fixture(scope="module")
def results():
    """Mean online and offline nDCG over seeds, by method and user; random's offline value is that of its pages."""
    data = rl.load("mslr-like", scale=0.2)
    table = {}
    for user in USERS:
        for name, learner in METHODS.items():
            # What compares many rankers takes long, and what learns nothing hardly differs between seeds.
            seeds = range(1, 3 if name in ("PMGD", "COLTR", "random") else 7)
            clicks = rl.users.by_name(user)
            runs = [rl.simulate(learner, clicks, data, 10_000, seed, evaluate_every=0) for seed in seeds]
            online = np.mean([run.online_ndcg for run in runs])
            offline = rl.evaluate(np.array([run.weights for run in runs]), data.test).mean()
            if name == "random":
                offline = np.mean([run.online_curve.mean() for run in runs])
            table[name, user] = online, offline
    return table


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("method", ["DBGD", "PMGD", "COLTR", "PDGD", "ROLTR", "MDPRank"])
def test_every_method_learns_far_beyond_random(results, method, user):
    """Random: 401 online, 0.201 offline. The least of the others: COLTR's 466 and DBGD's 0.314, noisy."""
    assert results[method, user][0] > results["random", user][0] + 40
    assert results[method, user][1] > results["random", user][1] + 0.07


def test_with_perfect_clicks_gradient_methods_beat_all_that_compare_rankers(results):
    """Online 633 and 622 against 552 at most; offline 0.404 and 0.399 against 0.381 at most."""
    for name in ("DBGD", "PMGD", "COLTR"):
        for method in ("ROLTR", "PDGD"):
            assert results[method, "perfect"][0] > results[name, "perfect"][0] + 30
            assert results[method, "perfect"][1] > results[name, "perfect"][1] + 0.005


def test_with_noisy_clicks_roltr_is_ahead_of_dueling_and_counterfactual_rankers(results):
    """Online 583 against 486 (DBGD) and 466 (COLTR); offline 0.365 against 0.314 (DBGD) and 0.329 (PMGD)."""
    for name in ("DBGD", "COLTR"):
        assert results["ROLTR", "noisy"][0] > results[name, "noisy"][0] + 40
    for name in ("DBGD", "PMGD"):
        assert results["ROLTR", "noisy"][1] > results[name, "noisy"][1] + 0.015


@pytest.mark.parametrize("user", USERS)
def test_coltr_pays_online_for_what_it_learns_offline(results, user):
    """The least online of all learners, and more than PMGD offline: 0.381 against 0.347, 0.353 against 0.329."""
    assert results["COLTR", user][0] < min(results[name, user][0] for name in ("PMGD", "PDGD", "ROLTR")) - 30
    assert results["COLTR", user][1] > results["PMGD", user][1]


def test_noise_in_clicks_costs_something(results):
    """Online: DBGD 535 to 486, COLTR 500 to 466, PDGD 622 to 546, ROLTR 633 to 583."""
    for name in ("DBGD", "COLTR", "PDGD", "ROLTR"):
        assert results[name, "noisy"][0] < results[name, "perfect"][0]


def test_unbiased_rewards_learn_faster_than_naive_ones(results):
    """Online 633 against 592, perfect."""
    assert results["ROLTR", "perfect"][0] > results["naive", "perfect"][0] + 10


def test_the_skyline_lies_above_whatever_learns_from_clicks(results):
    """702 online and 0.428 offline; the best that learns from clicks: 633 and 0.404."""
    for user in USERS:
        for name in ("DBGD", "PMGD", "COLTR", "PDGD", "ROLTR"):
            assert results["MDPRank", user][0] > results[name, user][0] + 30
            assert results["MDPRank", user][1] > results[name, user][1] + 0.005


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("learner", [rl.ROLTR(), rl.PDGD()], ids=["ROLTR", "PDGD"])
def test_real_queries_are_learned(shared_data, learner, user):
    """MQ2008, all five folds: nDCG@10 of about 0.70 after 10,000 impressions; by row order it is about 0.49."""
    gained = []
    for fold in range(1, 6):
        data = rl.load(shared_data / "MQ2008", fold=fold)
        run = rl.simulate(learner, rl.users.by_name(user), data, 10_000, seed=fold)
        assert run.settings["user"]["attraction"] == list(rl.users.by_name(user, grades=3).attraction)
        gained.append(run.offline_ndcg - run.offline_curve[0, 1])
    assert np.mean(gained) > 0.12


def test_long_candidate_lists_are_learned(shared_data):
    """ClueWeb09: some 440 candidates a query, most of them irrelevant."""
    data = rl.load(shared_data / "ClueWeb09-Webis", fold=1)
    runs = [rl.simulate(rl.ROLTR(), rl.users.perfect(), data, 10_000, seed) for seed in (1, 2, 3)]
    late = np.mean([run.online_curve[-2000:].mean() for run in runs])
    early = np.mean([run.online_curve[:500].mean() for run in runs])
    assert late > early + 0.1
