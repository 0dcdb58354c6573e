"""Trust: exact by enumeration, right in its intervals and its level by simulation."""

import itertools

import numpy as np
import pytest
from tests.proofs.literal import page_probability

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.propensities.swaps import noted_swaps
from rankloop.propensities.trust_effect import (
    COLUMNS,
    TrustEffect,
    alpha_and_beta,
    misfit,
    page_row,
    rank_map,
    standardised,
)

SCORES = np.array([0.3, -1.2, 2.0, 0.0, 0.7])
ATTRACTION = np.array([0.9, 0.1, 0.4, 0.7, 0.2])
PREDICTED = np.array([3.0, -2.0, 2.5, -0.5, 0.0])
"""Correlated with attraction, but neither calibrated nor linear in it."""
ALPHA, BETA = np.array([0.3, 0.5, 0.2]), np.array([0.6, 0.2, 0.1])


def expected_sums(x, alpha, beta):
    """Sums are linear in the clicks, so their probabilities may stand for them."""
    sums = np.zeros(1 + 2 * COLUMNS)
    for page in itertools.permutations(range(5), 3):
        clicked = alpha * ATTRACTION[list(page)] + beta
        swaps = noted_swaps(SCORES, np.array(page))[:, 0].astype(float)
        sums += float(page_probability(SCORES, page)) * page_row(2, swaps, x[list(page)], clicked, np.arange(3))
    assert sums[0] == pytest.approx(1.0)
    return sums[1:]


def test_slopes_and_shifts_are_exact_whatever_the_prediction():
    slope = ALPHA / ALPHA[0]
    wanted = np.concatenate([slope, BETA - slope * BETA[0]])
    for x in (PREDICTED, ATTRACTION, SCORES**2):
        assert rank_map(expected_sums(x, ALPHA, BETA)) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_they_do_not_change_with_the_zero_and_the_unit_of_the_prediction():
    same = rank_map(expected_sums(2 - 7 * PREDICTED, ALPHA, BETA))
    assert same == pytest.approx(rank_map(expected_sums(PREDICTED, ALPHA, BETA)), rel=1e-5, abs=1e-6)


def test_without_trust_nothing_is_amiss():
    by_rank = np.array([0.9, 0.6, 0.3])
    assert misfit(expected_sums(PREDICTED, by_rank, 0 * by_rank)) == pytest.approx([0, 0], abs=1e-7)
    # Clicks on anything at all, as much as people look, are attraction like any other.
    assert misfit(expected_sums(PREDICTED, by_rank, 0.1 * by_rank)) == pytest.approx([0, 0], abs=1e-7)
    assert np.abs(misfit(expected_sums(PREDICTED, ALPHA, BETA))).min() > 1e-3


def test_on_a_scale_of_attraction_alpha_and_beta_are_exact():
    found = alpha_and_beta(expected_sums(ATTRACTION, ALPHA, BETA))
    assert found == pytest.approx(np.concatenate([ALPHA, BETA]), rel=1e-5, abs=1e-6)


def test_a_row_is_its_definition_also_around_a_pinned_rank():
    x, clicks, swaps = np.array([0.5, 0.2, 0.9]), np.array([1.0, 0.5, 1.0]), np.array([0.3, 0.6, 0.0])
    row = page_row(3, swaps, x, clicks, np.array([0, 2, 3]))
    literal = 0.6 * np.array([1, 0.2, 0.9, 0.2**2, 0.5, 1.0, 0.2 * 0.5, 0.9 * 1.0])
    assert row == pytest.approx([1.0, *[0] * 16, *literal])


def test_scores_predict_whatever_their_level_and_scale_and_nothing_where_they_are_alike():
    assert standardised(1e3 + 7 * SCORES) == pytest.approx(standardised(SCORES))
    assert standardised(np.array([5.0])).tolist() == [0.0]
    assert standardised(np.array([0.1, 0.1, 0.1])).tolist() == [0.0, 0.0, 0.0]


GRADES = [0.5, 0.2, 0.15, 0.1, 0.05]


def pages_of(user, seed, count, size=5, candidates=12):
    """Pages whose scores know a good part of what attracts: scores, page, clicks and grades."""
    rng = np.random.default_rng(seed)
    table = np.array([user.click_probabilities([grade] * size) for grade in range(5)])
    grades = rng.choice(5, (count, candidates), p=GRADES)
    scores = 0.5 * grades + rng.normal(0, 0.5, (count, candidates))
    pages = np.argsort(-(scores + rng.gumbel(size=scores.shape)), axis=1)[:, :size]
    probabilities = table[np.take_along_axis(grades, pages, 1), np.arange(size)]
    clicks = (rng.random(pages.shape) < probabilities).astype(float)
    return table, zip(scores, pages, clicks, grades, strict=True)


def seen(user, seed, count, **more):
    effect, ranks = TrustEffect(5), np.arange(5)
    table, pages = pages_of(user, seed, count)
    for z, page, clicks, grades in pages:
        effect.note(z, page, clicks, ranks, more["attraction"][grades] if more else None)
    return effect, table


def truth(table):
    """Slopes and shifts of people whose click probabilities by grade and rank these are."""
    slope = (table[4] - table[0]) / (table[4, 0] - table[0, 0])
    return slope, table[0] - slope * table[0, 0]


def within(curve, value):
    return (curve.low <= value) & (value <= curve.high)


@pytest.mark.long
def test_people_who_trust_nobody_are_accused_as_often_as_the_level_says():
    # 60 verdicts at level .05: more than 10 have probability below .001 if the level holds (seeds are fixed).
    verdicts = [seen(rl.users.noisy(grades=5), seed, 300)[0].verdict() for seed in range(60)]
    assert sum(not verdict.no_trust() for verdict in verdicts) <= 10
    assert {verdict.degrees for verdict in verdicts} == {4}


@pytest.mark.thorough
def test_trust_is_found_out_and_described():
    # Power at 3,000 pages: all of these seeds, at level .001. The chance that four standard errors are too few for one
    # of 24 numbers is below .002.
    for seed in range(3):
        effect, table = seen(rl.users.trust("noisy", grades=5), seed, 3_000)
        assert not effect.verdict().no_trust(0.001)
        found = effect.estimate(confidence=0.99994)
        slope, shift = truth(table)
        assert within(found.slope, slope).all()
        assert within(found.shift, shift).all()
        assert effect.estimate().shift.high[4] < 0 < effect.estimate().slope.low[4]


@pytest.mark.long
def test_the_intervals_cover_the_truth_as_often_as_they_say():
    # 60 estimates at rank 5: a count below 51 has probability below .001 if coverage is .95 (seeds are fixed).
    covered = np.zeros(2)
    for seed in range(60):
        effect, table = seen(rl.users.trust("perfect", grades=5), seed, 800)
        found, wanted = effect.estimate(), truth(table)
        covered += [within(curve, value)[4] for curve, value in zip(found, wanted, strict=True)]
    assert covered.min() >= 51


def test_attraction_that_is_right_on_average_gives_alpha_and_beta():
    user = rl.users.trust("noisy", grades=5)
    gamma = np.array([0.4, 0.6, 0.7, 0.8, 0.9])
    effect, table = seen(user, 4, 3_000, attraction=gamma)
    alpha = (table[4] - table[0]) / (gamma[4] - gamma[0])
    found = effect.alpha_beta(confidence=0.99994)
    assert within(found.alpha, alpha).all()
    assert within(found.beta, table[0] - alpha * gamma[0]).all()


def test_nothing_is_known_before_the_first_clicks_nor_from_predictions_that_do_not_differ():
    effect = TrustEffect(3)
    for _ in range(100):
        effect.add([0.0, 0.0, 0.0, 0.0], [2, 0, 1], [1, 1, 1])
    for found in (effect, TrustEffect(3)):
        assert found.verdict()[:3] == (0.0, 0, 1.0)
        known = found.estimate()
        assert known.slope.curve[0] == 1.0
        assert known.shift.curve[0] == 0.0
        assert np.isnan(known.slope.curve[1:]).all()
        assert np.isnan(known.shift.low[1:]).all()


def test_pages_are_checked_and_a_scale_is_asked_for():
    effect = TrustEffect(2)
    with pytest.raises(SettingsError, match="at most 2"):
        effect.add([0.0, 1.0, 2.0], [0, 1, 2], [0, 0, 0])
    with pytest.raises(SettingsError, match="attraction"):
        effect.add([0.0, 1.0, 2.0], [0, 1], [0, 0], attraction=[0.5])
    effect.add([0.0, 1.0, 2.0], [2, 0], [1, 0], temperature=0.5, attraction=[0.1, 0.2, 0.3])
    swap = noted_swaps(np.array([0.0, 2.0, 4.0]), np.array([2, 0]))[0, 0]
    assert effect.moments[0].tolist() == pytest.approx([1, *(swap * np.array([1, 0.3, 0.1, 0.09, 1, 0, 0.3, 0]))])
    assert np.isnan(effect.alpha_beta().alpha.curve).all()
    effect.add([0.0, 1.0, 2.0], [2, 0], [1, 0])
    with pytest.raises(SettingsError, match="scale of attraction"):
        effect.alpha_beta()


@pytest.mark.parametrize("page_size", [0, -1, 1.5, "ten", None, 10**6])
def test_a_page_size_that_is_none_is_refused(page_size):
    with pytest.raises(SettingsError, match="trust: page_size must be"):
        TrustEffect(page_size)


@pytest.mark.parametrize("confidence", [0, 1, 2, -1, float("nan"), "sure"])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(SettingsError, match="trust: confidence must be a number, above 0"):
        TrustEffect(page_size=2).estimate(confidence)


def test_predictions_whose_squares_no_sum_can_hold_are_refused_and_change_nothing():
    trust = TrustEffect(page_size=2)
    with pytest.raises(SettingsError, match=r"trust: attraction must lie between −1e.100 and 1e.100; scale"):
        trust.add(SCORES, page=[0, 2], clicks=[1, 0], attraction=1e200 * PREDICTED)
    assert not trust.moments.any()
