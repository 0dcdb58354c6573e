"""COLTR's risk is the definition with softmax ratios over all candidates: they do cancel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners.coltr import counterfactual_risk

from . import literal


@st.composite
def impressions(draw):
    """Scores of the logging ranker and of two candidates, a page, and clicks with at least one."""
    n = draw(st.integers(1, 7))
    score = st.floats(-4, 4, width=32)
    scores = [draw(st.lists(score, min_size=n, max_size=n)) for _ in range(3)]
    page = draw(st.permutations(range(n)))[: draw(st.integers(1, n))]
    clicks = draw(st.lists(st.integers(0, 1), min_size=len(page), max_size=len(page)))
    clicks[draw(st.integers(0, len(page) - 1))] = 1
    return scores, page, clicks


def risks(scores, page, clicks, variance_weight=1.0) -> np.ndarray:
    """The kernel's risk of the logging ranker itself and of each candidate."""
    rows = np.array(scores, np.float32)
    ratios = np.ascontiguousarray((rows - rows[0])[:, page].T)
    risk = np.zeros(len(rows), np.float32)
    last = int(np.flatnonzero(clicks)[-1])
    counterfactual_risk(ratios, np.array(clicks, np.float64), last, variance_weight, risk)
    return risk


@pytest.mark.slow
@given(impressions(), st.sampled_from([0.0, 0.5, 1.0]))
@examples(300)
def test_the_risk_is_the_definition_with_softmax_over_all_candidates(impression, variance_weight):
    scores, page, clicks = impression
    wanted = [literal.coltr_risk(scores[0], s, page, clicks, variance_weight) for s in scores]
    got = risks(scores, page, clicks, variance_weight)
    # float32 throughout. Where the variance is nearly 0, its square root turns an error of 1e-7
    # into one of √1e-7 ≈ 3e-4; elsewhere the risk is right to some 1e-6.
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-3)
    spread_out = [r for r, w in zip(got, wanted, strict=True) if w > 0.05]
    assert spread_out == pytest.approx([w for w in wanted if w > 0.05], rel=2e-3)


@pytest.mark.thorough
def test_the_risk_is_right_to_float32_where_the_variance_is_not_tiny():
    rng = np.random.default_rng(3)
    for _ in range(200):
        scores = rng.normal(size=(3, 12)).astype(np.float32)
        page, clicks = rng.permutation(12)[:10], np.array([0, 1, 0, 0, 1, 0, 1, 0, 0, 0])
        wanted = [literal.coltr_risk(scores[0], s, page, clicks) for s in scores]
        # Ratios are exponentials of float32 differences up to 8: 8·6e-8, doubled by the squares.
        np.testing.assert_allclose(risks(scores, page, clicks), wanted, rtol=5e-6)


def test_the_risk_stays_finite_and_right_when_ratios_are_beyond_float32():
    scores = [[0.0, 0.0, 0.0], [500.0, 0.0, -500.0], [-1e4, 0.0, 1e4]]
    got = risks(scores, [0, 1, 2], [0, 1, 0])
    assert got[1] == pytest.approx(1.0)  # all weight on the unclicked document above the click
    assert got[2] == pytest.approx(0.0)  # all weight below the click


def test_the_logging_ranker_has_the_plain_mean_and_variance():
    got = risks([[1.0, 2.0, 3.0, 4.0]], [3, 0, 1, 2], [0, 1, 0, 1])[0]
    assert got == pytest.approx(0.5 + np.sqrt(0.25 / 4), rel=1e-6)  # float32
