"""Learning works: on the built-in world each method ends where it should, and on real data ROLTR and PDGD learn."""

import numpy as np
import pytest

import rankloop as rl

SEEDS = (1, 2, 3)
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


@pytest.fixture(scope="module")
def results():
    """Mean online and offline nDCG over the seeds, by method and user; random's offline value is that of its pages."""
    data = rl.load("mslr-like", scale=0.1)
    table = {}
    for user in (rl.users.perfect(), rl.users.noisy()):
        for name, learner in METHODS.items():
            runs = [rl.simulate(learner, user, data, 10_000, seed, evaluate_every=5000) for seed in SEEDS]
            online = np.mean([run.online_ndcg for run in runs])
            offline = np.mean([run.offline_ndcg for run in runs])
            if name == "random":
                offline = np.mean([run.online_curve.mean() for run in runs])
            table[name, user.name] = online, offline
    return table


@pytest.mark.parametrize("user", ["perfect", "noisy"])
@pytest.mark.parametrize("method", ["DBGD", "PMGD", "COLTR", "PDGD", "ROLTR", "MDPRank"])
def test_every_method_learns_far_beyond_random(results, method, user):
    random_online, random_offline = results["random", user]
    online, offline = results[method, user]
    assert online > 1.1 * random_online
    assert offline > random_offline + 0.1


@pytest.mark.parametrize("user", ["perfect", "noisy"])
def test_gradient_methods_beat_those_that_compare_rankers_online(results, user):
    best_rival = max(results[name, user][0] for name in ("DBGD", "PMGD", "COLTR"))
    assert results["ROLTR", user][0] > best_rival + 30
    assert results["PDGD", user][0] > best_rival + 30


@pytest.mark.parametrize("user", ["perfect", "noisy"])
def test_gradient_methods_beat_dueling_ones_offline(results, user):
    for name in ("DBGD", "PMGD"):
        assert results["ROLTR", user][1] > results[name, user][1] + 0.02
        assert results["PDGD", user][1] > results[name, user][1] + 0.02


def test_noise_in_clicks_costs_something(results):
    for name in ("DBGD", "COLTR", "PDGD", "ROLTR"):
        assert results[name, "noisy"][0] < results[name, "perfect"][0]


@pytest.mark.parametrize("user", ["perfect", "noisy"])
def test_unbiased_rewards_learn_faster_than_naive_ones(results, user):
    assert results["ROLTR", user][0] > results["naive", user][0]


def test_the_skyline_lies_above_whatever_learns_from_clicks(results):
    skyline = results["MDPRank", "perfect"]
    for user in ("perfect", "noisy"):
        for name in ("DBGD", "PMGD", "COLTR", "PDGD", "ROLTR"):
            assert skyline[0] > results[name, user][0]
            assert skyline[1] > results[name, user][1] - 0.01


@pytest.mark.parametrize("user", ["perfect", "noisy"])
@pytest.mark.parametrize("learner", [rl.ROLTR(), rl.PDGD()], ids=["ROLTR", "PDGD"])
def test_real_queries_are_learned(shared_data, learner, user):
    """MQ2008, all five folds: nDCG@10 of about 0.70 after 10,000 impressions; by row order it is about 0.49."""
    gained = []
    for fold in range(1, 6):
        data = rl.load(shared_data / "MQ2008", fold=fold)
        run = rl.simulate(learner, rl.users.by_name(user, grades=3), data, 10_000, seed=fold)
        gained.append(run.offline_ndcg - run.offline_curve[0, 1])
    assert np.mean(gained) > 0.12


def test_long_candidate_lists_are_learned(shared_data):
    """ClueWeb09: some 440 candidates a query, most of them irrelevant."""
    data = rl.load(shared_data / "ClueWeb09-Webis", fold=1)
    runs = [rl.simulate(rl.ROLTR(), rl.users.perfect(), data, 10_000, seed) for seed in SEEDS]
    late = np.mean([run.online_curve[-2000:].mean() for run in runs])
    early = np.mean([run.online_curve[:500].mean() for run in runs])
    assert late > early + 0.1
