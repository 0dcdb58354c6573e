"""Examination from swaps: exact by enumeration, right in its intervals by simulation."""

import itertools
import math

import numpy as np
import pytest
from tests.proofs.literal import page_probability

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.kernels.arithmetic import whole_blocks
from rankloop.policies import plackett_luce
from rankloop.propensities.swaps import Swaps, count_swaps, empty_moments, examination_of, note_swaps, noted_swaps

SCORES = np.array([0.3, -1.2, 2.0, 0.0, 0.7])
ATTRACTION = np.array([0.9, 0.1, 0.4, 0.7, 0.2])
EXAMINED = np.array([1.0, 0.6, 0.25])


def noted(scores, page):
    return noted_swaps(np.asarray(scores, float), np.asarray(page))


def test_one_minus_q_is_the_chance_of_the_other_order():
    for page in itertools.permutations(range(5), 3):
        for k in range(2):
            other = list(page)
            other[k], other[k + 1] = other[k + 1], other[k]
            here, there = float(page_probability(SCORES, page)), float(page_probability(SCORES, other))
            assert noted(SCORES, page)[k, 0] == pytest.approx(there / (here + there), rel=1e-6)


def test_scores_that_are_far_apart_neither_overflow_nor_cancel():
    notes = noted([1000.0, 0.0, -1000.0, -1000.5], [0, 1, 2])
    assert notes[:, 0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-30)
    assert noted([1000.0, 0.0, -1000.0, -1000.5], [3, 2, 1])[0, 0] == pytest.approx(0.5)


def test_the_expected_sums_are_in_the_ratio_of_examination_whatever_attracts():
    upper, lower = np.zeros(2), np.zeros(2)
    for page in itertools.permutations(range(5), 3):
        weight = float(page_probability(SCORES, page)) * noted(SCORES, page)[:2, 0].astype(float)
        expected = EXAMINED * ATTRACTION[list(page)]
        upper += weight * expected[:2]
        lower += weight * expected[1:]
    assert lower / upper == pytest.approx(EXAMINED[1:] / EXAMINED[:-1], rel=1e-6)


def test_sums_and_products_are_those_of_a_plain_loop_also_around_a_pinned_rank():
    rng = np.random.default_rng(3)
    moments, literal = empty_moments(4), np.zeros((7, 7))
    for ranks in ([0, 1, 2, 3], [0, 1, 3], [0, 2, 3], [2, 3], [1]) * 4:
        notes = rng.random((len(ranks), 1)).astype(np.float32)
        clicks = rng.choice([0.0, 0.5, 1.0], len(ranks))
        count_swaps(moments, np.array(ranks), notes, clicks)
        row = np.zeros(7)
        row[0] = 1
        for t in range(len(ranks) - 1):
            if ranks[t + 1] == ranks[t] + 1:
                row[1 + ranks[t]] = clicks[t] * notes[t, 0]
                row[4 + ranks[t]] = clicks[t + 1] * notes[t, 0]
        literal += np.outer(row, row)
    assert moments[0] == pytest.approx(literal[0])
    assert moments[1:, 1:] == pytest.approx(literal[1:, 1:])


def pages(rng, count, scores, size):
    """Pages of a Plackett–Luce policy: the largest of the scores plus Gumbel noise."""
    return np.argsort(-(scores + rng.gumbel(size=(count, len(scores)))), axis=1)[:, :size]


def simulated(seed, count, size=4, candidates=12):
    rng = np.random.default_rng(seed)
    scores, attraction = rng.normal(size=candidates), rng.random(candidates)
    examined = 1.0 / np.arange(1, size + 1)
    moments, ranks = empty_moments(size), np.arange(size)
    scratch, remaining = np.empty(whole_blocks(candidates)), np.empty(size + 1)
    notes = np.zeros((size, 1), np.float32)
    for page in pages(rng, count, scores, size):
        note_swaps(scores, page, scratch, remaining, notes)
        clicks = (rng.random(size) < examined * attraction[page]).astype(float)
        count_swaps(moments, ranks, notes, clicks)
    return moments, examined


@pytest.mark.thorough
def test_the_interval_covers_the_truth_as_often_as_it_says():
    # 200 curves × rank 4: a count outside 176 … 198 has probability below 0.001 if coverage is .95 (seeds are fixed).
    covered = 0
    for seed in range(200):
        moments, examined = simulated(seed, 400)
        curve = examination_of(moments)
        covered += curve.low[3] <= examined[3] <= curve.high[3]
    assert 176 <= covered <= 198


def test_nothing_is_known_before_the_first_click():
    curve = Swaps(3).examination()
    assert curve.curve[0] == 1.0
    assert np.isnan(curve.curve[1:]).all()
    assert np.isnan(curve.low[1:]).all()


def test_pages_go_in_one_by_one_and_a_longer_one_is_refused():
    swaps = Swaps(2)
    page = plackett_luce.sample([0.0, 1.0, 2.0], 2, seed=1)
    swaps.add([0.0, 1.0, 2.0], page, [1, 0], temperature=0.5)
    wanted = noted(np.array([0.0, 1.0, 2.0]) / 0.5, page)[0, 0]
    assert swaps.moments[0].tolist() == pytest.approx([1.0, wanted, 0.0])
    with pytest.raises(SettingsError, match="at most 2"):
        swaps.add([0.0, 1.0, 2.0], [0, 1, 2], [1, 0, 0])


def test_rank_ten_of_sixty_documents_is_found():
    # The setting of the specification: 20,000 pages, θ = 1/k; a tenth of the pages here, within four standard errors.
    moments, examined = simulated(1, 4_000, size=10, candidates=60)
    curve = examination_of(moments)
    error = math.log(curve.high[9] / curve.low[9]) / (2 * 1.96)
    assert abs(math.log(curve.curve[9] / examined[9])) < 4 * error
    assert rl.propensities.power_law(1.0).at(10)[9] == examined[9]


@pytest.mark.parametrize("size", [0, -1, 2.5, "ten"])
def test_a_page_without_a_rank_is_refused(size):
    with pytest.raises(SettingsError, match="swaps: page_size must be a whole number, at least 1"):
        Swaps(size)


@pytest.mark.parametrize("confidence", [0, 1, 2, -1, math.nan, "sure"])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(SettingsError, match=r"confidence must be a number, above 0 and at most 0\.999999"):
        Swaps(3).examination(confidence)
