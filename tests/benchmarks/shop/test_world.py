"""The shop is what its page says it is."""

import numpy as np
import pytest
from benchmarks.shop.world import CANDIDATES, FEATURES, PAGE, Shop, click_probabilities, ndcg


@pytest.fixture(scope="module")
def shop():
    return Shop()


def test_the_engine_is_half_good_and_people_click_one_and_a_half_times(shop):
    engine = np.arange(CANDIDATES)
    everyone = range(len(shop.searches))
    assert np.mean([shop.ndcg(engine, query) for query in everyone]) == pytest.approx(0.4, abs=0.03)
    clicks = [click_probabilities(shop.searches[query].grades[:PAGE]).sum() for query in everyone]
    assert np.mean(clicks) == pytest.approx(1.5, abs=0.1)


def test_candidates_come_in_the_engine_s_order_with_features_of_wild_scales(shop):
    for search in shop.searches:
        assert search.X.shape == (CANDIDATES, len(FEATURES))
        assert (np.diff(search.X[:, 0]) <= 0).all()
    spread = np.std(np.concatenate([search.X for search in shop.searches]), axis=0)
    assert spread.max() / spread.min() > 1e12


def test_the_same_seed_is_the_same_shop(shop):
    assert all((a.X == b.X).all() for a, b in zip(shop.searches, Shop().searches, strict=True))
    assert (Shop(21).searches[0].X != shop.searches[0].X).any()


def test_ndcg_is_one_for_the_best_order_and_follows_its_definition():
    grades = np.array([0, 4, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3])
    assert ndcg(grades, np.argsort(-grades, kind="stable")) == pytest.approx(1.0)
    gains = [15, 7, 3, 1]
    best = sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains))
    shown = 15 / np.log2(3) + 1 / np.log2(4) + 3 / np.log2(5)
    assert ndcg(grades, np.arange(12)) == pytest.approx(shown / best)
