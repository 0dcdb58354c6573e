"""Whether people look by rank alone: exact by enumeration, and by simulation at a stated level and power."""

import itertools

import numpy as np
import pytest
from tests.proofs.literal import page_probability

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.propensities.rank_effect import RankEffect, add_page, scratch

SCORES = np.array([1.5, 0.2, -0.4, 0.9])
ATTRACTION = np.array([0.9, 0.3, 0.2, 0.6])


def statistic_of(page, clicks):
    sums, by_rank = np.zeros(3), np.zeros((2, len(page)))
    add_page(sums, by_rank, SCORES, np.array(page), np.array(clicks, float), *scratch(len(SCORES), len(page)))
    return sums[0]


def by_position(page):
    return np.array([1.0, 0.6, 0.5, 0.2])[: len(page)] * ATTRACTION[list(page)]


def by_cascade(page):
    """Everybody stops after a click."""
    seen, probabilities = 1.0, []
    for document in page:
        probabilities.append(seen * ATTRACTION[document])
        seen *= 1.0 - ATTRACTION[document]
    return np.array(probabilities)


@pytest.mark.parametrize("size", [3, 4])
def test_its_expectation_is_zero_for_looks_by_rank_and_below_for_a_cascade(size):
    # The statistic is linear in the clicks, so their probabilities may stand for them.
    expected = {by_position: 0.0, by_cascade: 0.0}
    for page in itertools.permutations(range(4), size):
        for people in expected:
            expected[people] += float(page_probability(SCORES, page)) * statistic_of(page, people(page))
    assert expected[by_position] == pytest.approx(0.0, abs=1e-12)
    assert expected[by_cascade] < -1e-3


def test_the_statistic_is_its_definition():
    page, clicks = [3, 1, 0, 2], [0, 1, 0, 1]
    literal = 0.0
    for m, (k, below) in itertools.product(range(4), itertools.combinations(range(4), 2)):
        if k < m < below:
            other = list(page)
            other[k], other[below] = other[below], other[k]
            here, there = float(page_probability(SCORES, page)), float(page_probability(SCORES, other))
            literal += there / (here + there) * np.sign(SCORES[page[k]] - SCORES[page[below]]) * clicks[m]
    assert statistic_of(page, clicks) == pytest.approx(literal)


def judged(user, seed, pages=3_000, candidates=20):
    """The verdict on people who click pages whose scores know a good part of what attracts."""
    rng = np.random.default_rng(seed)
    effect, room = RankEffect(10), scratch(candidates, 10)
    for i in range(pages):
        grades = rng.choice(5, candidates, p=[0.5, 0.2, 0.15, 0.1, 0.05])
        scores = 0.5 * grades + rng.normal(0, 0.5, candidates)
        page = np.argsort(-(scores + rng.gumbel(size=candidates)))[:10]
        add_page(effect.sums, effect.clicks, scores, page, user.clicks(grades[page], seed, i), *room)
    return effect.verdict()


@pytest.mark.long
def test_looks_by_rank_are_accused_as_often_as_the_level_says():
    # 60 verdicts at level .05: more than 10 have probability below .001 if the level holds (seeds are fixed).
    accused = sum(judged(rl.users.noisy(grades=5), seed, pages=300).p < 0.05 for seed in range(60))
    assert accused <= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["navigational", "informational"])
def test_cascades_are_found_out(name):
    # Power at 3,000 pages: all of these seeds, at level .001.
    people = rl.users.cascade(name, stop="after-click", grades=5)
    verdicts = [judged(people, seed) for seed in range(3)]
    assert all(verdict.z < 0 and verdict.p < 0.001 for verdict in verdicts)


@pytest.mark.thorough
def test_trust_is_no_cascade_and_people_who_stop_anywhere_alike_cannot_be_told():
    for people in (rl.users.trust("noisy", grades=5), rl.users.cascade("almost-random", stop="anywhere", grades=5)):
        assert judged(people, 1).p >= 0.001


def test_pages_are_checked():
    effect = RankEffect(2)
    with pytest.raises(SettingsError, match="at most 2"):
        effect.add([0.0, 1.0, 2.0], [0, 1, 2], [0, 0, 0])
    assert effect.verdict() == (0.0, 1.0, 0)


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_a_page_without_a_rank_is_refused(size):
    with pytest.raises(SettingsError, match="rank effect: page_size must be a whole number, at least 1"):
        RankEffect(size)
