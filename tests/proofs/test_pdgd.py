"""PDGD's gradient is the literal transcription, and position bias alone teaches it nothing."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import PDGD

from . import literal

moderate = st.floats(-5, 5)
clusters = st.builds(lambda c, x: c + x, st.sampled_from([-1e4, -800.0, 0.0, 800.0, 1e4]), st.floats(-2, 2))


@st.composite
def impressions(draw, score=moderate, most=7):
    scores = draw(st.lists(score, min_size=1, max_size=most))
    order = draw(st.permutations(range(len(scores))))
    page = order[: draw(st.integers(1, len(scores)))]
    clicks = draw(st.lists(st.integers(0, 1), min_size=len(page), max_size=len(page)))
    return scores, page, clicks


@given(impressions())
@example(([0.0, 1.0, 2.0], [2, 0, 1], [0, 0, 0]))
@example(([0.0, 1.0, 2.0], [2, 0, 1], [1, 1, 1]))
@example(([0.0, 1.0, 2.0, -1.0], [2, 0, 1, 3], [1, 0, 0, 0]))
@examples(300)
def test_the_gradient_is_the_transcription_with_whole_page_probabilities(impression):
    scores, page, clicks = impression
    wanted = literal.pdgd_gradient(scores, page, clicks)
    # At most 12 pairs of size 1/4 or less, each from a product of 7 factors: some 1e-15.
    np.testing.assert_allclose(PDGD().score_gradient(scores, page, clicks), wanted, rtol=0, atol=1e-14)


@pytest.mark.slow
@given(impressions(score=clusters))
@examples(200)
def test_the_gradient_is_right_with_scores_ten_thousand_apart(impression):
    scores, page, clicks = impression
    wanted = literal.pdgd_gradient(scores, page, clicks)
    # Log-sums near 1e4 are rounded to 1e-12 each.
    np.testing.assert_allclose(PDGD().score_gradient(scores, page, clicks), wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("candidates", [2, 31, 32, 33, 64, 65, 130])
def test_the_gradient_is_right_for_any_number_of_candidates(candidates):
    rng = np.random.default_rng(candidates)
    scores, page = rng.normal(size=candidates), rng.permutation(candidates)[:10].tolist()
    clicks = rng.integers(0, 2, len(page))
    clicks[:2] = [0, 1]
    wanted = literal.pdgd_gradient(scores, page, clicks)
    got = PDGD().score_gradient(scores, page, clicks)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-14)  # as above, up to 25 pairs


def test_no_document_below_the_one_after_the_last_click_is_in_a_pair():
    gradient = PDGD().score_gradient([0.0] * 5, page=[0, 1, 2, 3, 4], clicks=[0, 1, 0, 0, 0])
    assert (gradient != 0).tolist() == [True, True, True, False, False]


@pytest.mark.parametrize("size", [2, 3])
@given(
    st.lists(st.floats(-2, 2), min_size=2, max_size=4),
    st.floats(0, 1),
    st.floats(0, 2),
)
@examples(25)
def test_documents_that_attract_equally_give_no_expected_gradient(size, scores, attraction, eta):
    """The sum over all pages and all clicks, under position bias."""
    total = np.zeros(len(scores))
    for page in literal.all_pages(len(scores), size):
        likely = float(literal.page_probability(scores, page))
        clicked = [attraction * (1.0 / k) ** eta for k in range(1, len(page) + 1)]
        for clicks, chance in literal.click_patterns(clicked):
            total += likely * chance * PDGD().score_gradient(scores, page, clicks)
    # 192 terms below 1 in size that cancel: each is right to 1e-15.
    np.testing.assert_allclose(total, 0.0, atol=1e-14)


def test_documents_that_attract_differently_do_give_one():
    """The counterpart, without which a gradient of 0 everywhere would pass the proof above."""
    scores, attraction = [0.5, 0.0, -0.5], [0.1, 0.5, 0.9]
    total = np.zeros(3)
    for page in literal.all_pages(3, 3):
        likely = float(literal.page_probability(scores, page))
        clicked = [attraction[d] / k for k, d in enumerate(page, start=1)]
        for clicks, chance in literal.click_patterns(clicked):
            total += likely * chance * PDGD().score_gradient(scores, page, clicks)
    assert total[0] < -0.01 < 0.01 < total[2]
