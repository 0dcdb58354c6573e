"""Two thousand visits teach a model its visitors' taste; what they teach depends on whose pages they saw."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.web.demo.engine import engine_order
from rankloop.web.demo.features import FEATURES
from rankloop.web.demo.tastes import TASTES
from rankloop.web.demo.visitors import Visitors

VISITS = 2000
SEEDS = (1, 2, 3)
IPS = rl.ROLTR(learning_rate=0.01)
NAIVE = rl.ROLTR(learning_rate=0.01, reward="naive+-")

# nDCG@10 after 2,000 visits, less than the smallest of five seeds measured: above the engine's own order, and above the
# naive reward with the same step on its own pages for the same visitors.
MARGINS = {
    "callers": (0.10, 0.015),
    "explorers": (0.30, 0.10),
    "typists": (0.08, 0.02),
    "skimmers": (0.24, 0.05),
    "readers": (0.11, 0.03),
    "literalists": (0.045, 0.005),
}


def visit_all(visitors: Visitors, learner, shadow=None, visits: int = VISITS) -> tuple[np.ndarray, np.ndarray | None]:
    """Weights after all visits of the model that draws the pages, and of one that only learns from them."""
    rankers = [
        rl.OnlineRanker(each, features=len(FEATURES), seed=visitors.seed, weights=engine_order())
        for each in (learner, shadow)
        if each is not None
    ]
    for visit in range(visits):
        query = visitors.query(visit)
        candidates = visitors.engine.search(query)
        page = rankers[0].rank(candidates.features)
        clicks = visitors.clicks(visit, query, [candidates.ids[row] for row in page])
        for ranker in rankers:
            ranker.learn(page, clicks)
    return rankers[0].weights, rankers[1].weights if shadow is not None else None


def on_its_own_pages(visitors: Visitors, learner, visits: int = VISITS) -> np.ndarray:
    """The same visits with a model of one's own, in the compiled loop."""
    run = rl.simulate(
        learner, visitors.user, visitors.collection, visits, visitors.seed, weights=engine_order(), evaluate_every=0
    )
    return run.weights


@pytest.mark.slow
@pytest.mark.parametrize("name", TASTES)
def test_clicks_teach_the_taste_and_unbiased_rewards_teach_it_faster(engine, name):
    over_engine, over_naive = MARGINS[name]
    for seed in SEEDS:
        visitors = Visitors(engine, TASTES[name], seed=seed)
        model, naive = (visitors.ndcg(on_its_own_pages(visitors, learner)) for learner in (IPS, NAIVE))
        assert model - visitors.ndcg(engine_order()) > over_engine
        assert model - naive > over_naive
    shadow = visitors.ndcg(visit_all(visitors, IPS, NAIVE)[1])
    assert model - shadow > 0.25


@pytest.mark.slow
@pytest.mark.parametrize("name", ["callers", "readers"])
def test_a_shadow_fails_whatever_its_reward_so_it_says_nothing_about_rewards(engine, name):
    """Pages are mostly misses. A model stops showing what missed; its shadow is punished for it again and again."""
    visitors = Visitors(engine, TASTES[name], seed=1)
    model, shadow = (visitors.ndcg(weights) for weights in visit_all(visitors, NAIVE, IPS))
    assert model > visitors.ndcg(engine_order()) > shadow


@pytest.mark.slow
def test_a_longer_step_makes_up_for_the_naive_reward(engine):
    visitors = Visitors(engine, TASTES["callers"], seed=1)
    naive, longer = (
        visitors.ndcg(on_its_own_pages(visitors, rl.ROLTR(learning_rate=step, reward="naive+-")))
        for step in (0.01, 0.1)
    )
    assert longer > visitors.ndcg(on_its_own_pages(visitors, IPS)) > naive


def test_visits_one_by_one_are_the_simulation(engine):
    visitors = Visitors(engine, TASTES["explorers"], seed=8)
    simulated = on_its_own_pages(visitors, IPS, visits=150)
    assert visit_all(visitors, IPS, visits=150)[0].tobytes() == simulated.tobytes()
