"""Examination from logs without probabilities: literal sums, and the truth found in simulated logs."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rankloop.errors import SettingsError
from rankloop.propensities import harvesting
from rankloop.propensities.harvesting import all_pairs, chain, harvest

TRUTH = np.array([1.0, 0.7, 0.5, 0.35, 0.2])


def simulated(seed=1, queries=300, shows=40):
    """Each query has eight documents; a ranker that is changed now and then shows five of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        attraction = rng.random(8)
        for show in range(shows):
            if show % 10 == 0:
                order = np.argsort(-(attraction + rng.normal(0, 0.5, 8)))[:5]
            clicked = rng.random(5) < TRUTH * attraction[order]
            rows += [(query, d, k + 1, c) for k, (d, c) in enumerate(zip(order, clicked, strict=True))]
    return np.array(rows).T


def test_the_harvest_is_a_plain_loop_over_documents_and_ranks():
    queries, documents, ranks, clicks = log = simulated(queries=5, shows=12)
    found = harvest(*log)
    seen = {}
    for q, d, k, c in zip(queries, documents, ranks, clicks, strict=True):
        seen.setdefault((q, d), {}).setdefault(int(k) - 1, []).append(c)
    clicked, skipped, both = np.zeros((5, 5)), np.zeros((5, 5)), np.zeros((5, 5))
    for by_rank in seen.values():
        for k in by_rank:
            for other in by_rank:
                if k != other:
                    clicked[k, other] += np.mean(by_rank[k])
                    skipped[k, other] += 1 - np.mean(by_rank[k])
                    both[k, other] += 1
    assert found.clicked == pytest.approx(clicked)
    assert found.skipped == pytest.approx(skipped)
    assert (found.seen == both).all()


@pytest.mark.thorough
def test_both_ways_find_the_truth_where_click_through_does_not():
    log = simulated()
    found = harvest(*log)
    naive = np.array([log[3][log[2] == k].mean() for k in range(1, 6)])
    assert chain(found) == pytest.approx(TRUTH, rel=0.15)
    assert all_pairs(found) == pytest.approx(TRUTH, rel=0.1)
    assert abs(naive / naive[0] / TRUTH - 1).max() > 0.2, "good documents stand at the top"


def test_the_slope_of_all_pairs_is_its_finite_difference(monkeypatch):
    caught = {}

    def look(loss, start, **_):
        x = np.random.default_rng(2).normal(size=len(start))
        caught["slope"], caught["literal"] = loss(x)[1], approx_fprime(x, lambda y: loss(y)[0], 1e-6)
        return type("Found", (), {"x": x})

    monkeypatch.setattr("scipy.optimize.minimize", look)
    all_pairs(harvest(*simulated(queries=3, shows=20)))
    assert caught["slope"] == pytest.approx(caught["literal"], rel=1e-3, abs=1e-3)


def test_where_nothing_can_be_compared_nothing_is_said():
    found = harvest([1, 1, 2, 2], [1, 2, 3, 4], [1, 2, 1, 2], [1, 0, 1, 0])
    assert np.isnan(chain(found)[1:]).all()
    assert np.isnan(all_pairs(found)).all()
    assert harvesting.Harvest._fields == ("clicked", "skipped", "seen")


@pytest.mark.parametrize("clicks", [[0, 0, 0, 0], [0, 1, 1, 0]])
def test_without_a_click_at_the_first_rank_nothing_is_said_relative_to_it(clicks):
    found = harvest([1, 1, 1, 1], [7, 8, 7, 8], [1, 2, 2, 1], clicks)
    assert np.isnan(all_pairs(found)).all()


@pytest.mark.parametrize(
    ("columns", "words"), [(([1], [1], [0], [1]), "counted from 1"), (([1, 2], [1], [1], [1]), "the same length")]
)
def test_a_log_that_is_none_is_refused(columns, words):
    with pytest.raises(SettingsError, match=words):
        harvest(*columns)
