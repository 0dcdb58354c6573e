"""Merits: the table against a dictionary, records against the Gaussian's own arithmetic, τ² where it is known."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners.merits import FILL, Merits, claim, fade, find, recall, recall_all, remember

GUESS, WEIGHT = 0.05, 50.0


class Guessed(NamedTuple):
    merit_variance: float
    merit_weight: float


def told(merits, key, u, gradient, information, changing=0.0):
    remember(merits, key, u, gradient, information, changing, Guessed(GUESS, WEIGHT))


@examples(40)
@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0.01, 1.0)), max_size=300))
def test_a_table_with_room_remembers_what_a_dictionary_does_through_every_growth(pages):
    merits, known = Merits.of(1, GUESS), {}
    for key, information in pages:
        merits = merits.with_room(int(merits.taken[0]) + 1)
        merits.informed[claim(merits, key)] += information
        known[key] = known.get(key, 0.0) + information
    assert merits.taken[0] == len(known)
    assert {key: merits.informed[find(merits.keys, key)] for key in known} == known
    assert find(merits.keys, 401) == -1
    assert find(merits.keys, 0) == -1


def test_a_full_table_makes_room_for_newcomers_at_the_cost_of_the_least_known():
    merits = Merits.of(100, GUESS)
    places = merits.keys.size
    for key in range(1, 2000):
        merits.informed[claim(merits, key)] = 1.0 if key % 10 else 100.0
    assert merits.taken[0] == np.count_nonzero(merits.keys) == FILL * places
    kept = [key for key in range(1, 2000) if find(merits.keys, key) >= 0]
    well_known = sum(key % 10 == 0 for key in kept) / len(kept)
    assert well_known > 0.5  # a tenth of all that came
    assert find(merits.keys, 1999) >= 0


@examples(20)
@given(st.integers(0, 2**32))
def test_a_full_table_is_never_fuller_and_finds_all_that_it_holds(seed):
    """However many come: a table without a free place would be looked through for ever."""
    rng = np.random.default_rng(seed)
    merits, known = Merits.of(100, GUESS), {}
    for key in rng.integers(1, 2**62, 3000):
        place = claim(merits, key)
        merits.informed[place], merits.told[place] = known[int(key)] = rng.uniform(size=2).tolist()
        assert merits.taken[0] <= FILL * merits.keys.size
    held = merits.keys[merits.keys != 0].tolist()
    assert len(set(held)) == len(held) == merits.taken[0]
    for key in held:
        place = find(merits.keys, key)
        assert [merits.informed[place], merits.told[place]] == known[key]


def test_a_record_is_the_gaussian_posterior_of_the_document_s_score():
    """Observations of η with precisions Δ at y, a prior N(u, τ²): in one go, and page by page."""
    rng = np.random.default_rng(1)
    merits = Merits.of(10, GUESS)
    u, seen = 0.7, []
    for y, information in zip(rng.normal(size=20), rng.uniform(0.1, 2.0, 20), strict=True):
        tau = merits.variance[0]
        believed, informed = recall(merits, 5, u, 0.0)
        precision = 1 / tau + sum(h for h, _ in seen)
        assert informed == pytest.approx(sum(h for h, _ in seen))
        assert believed == pytest.approx((u / tau + sum(h * y for h, y in seen)) / precision)
        told(merits, 5, u, information * (y - believed), information)
        seen.append((information, y))
    # Whatever the features say later, the record is what was observed.
    believed, _ = recall(merits, 5, -1.0, 0.0)
    tau = merits.variance[0]
    assert believed == pytest.approx((-1.0 / tau + sum(h * y for h, y in seen)) / (1 / tau + sum(h for h, _ in seen)))


@pytest.mark.thorough
@pytest.mark.parametrize(("truth", "low", "high"), [(0.01, 0.01, 0.03), (0.05, 0.045, 0.055), (1.0, 0.9, 1.1)])
def test_the_variance_of_merits_is_found_from_the_records(truth, low, high):
    """2,000 documents, 20 observations each. A running estimate: a first guess that is too large wears off slowly."""
    rng = np.random.default_rng(2)
    merits = Merits.of(2000, GUESS)
    own = rng.normal(scale=np.sqrt(truth), size=2000)
    for _ in range(20):
        for document in rng.permutation(2000):
            believed, _ = recall(merits, document + 1, 0.0, 0.0)
            y = own[document] + rng.normal() / np.sqrt(2.0)
            told(merits, document + 1, 0.0, 2.0 * (y - believed), 2.0)
    assert low < merits.variance[0] < high


def test_a_record_of_features_that_change_is_one_of_the_merit_alone():
    """λ = 1: observations of η less what the features said then have the prior N(0, τ²), whatever is said now."""
    rng = np.random.default_rng(3)
    merits, seen = Merits.of(10, GUESS), []
    for u, m, information in zip(rng.normal(size=20), rng.normal(size=20), rng.uniform(0.1, 2.0, 20), strict=True):
        tau = merits.variance[0]
        expected, _ = recall(merits, 5, u, 1.0)
        assert expected - u == pytest.approx(sum(h * m for h, m in seen) / (1 / tau + sum(h for h, _ in seen)))
        told(merits, 5, u, information * (u + m - expected), information, 1.0)
        seen.append((information, m))


def test_in_between_what_features_said_is_in_between():
    merits = Merits.of(10, GUESS)
    for u in (0.4, -0.1, 0.9):
        told(merits, 5, u, 0.3, 0.5, 0.0)
    kept, changed, between = (recall(merits, 5, 2.0, part)[0] for part in (0.0, 1.0, 0.25))
    assert between == pytest.approx(0.75 * kept + 0.25 * changed)
    assert kept < changed  # the record is from when features said less


def test_candidates_that_nobody_knows_keep_the_features_word_to_the_bit():
    merits = Merits.of(100, GUESS)
    told(merits, 7, 0.2, 1.0, 0.5)
    scores = np.array([0.3, 0.1, -0.2, 0.5], np.float32)
    given = scores.copy()
    recall_all(merits, np.array([0, 8, 7, 9]), scores, 0.0)
    assert scores[[0, 1, 3]].tolist() == given[[0, 1, 3]].tolist()
    centre = float(np.mean(given.astype(float)))
    assert scores[2] == pytest.approx(centre + recall(merits, 7, given[2] - centre, 0.0)[0], abs=1e-6)


def test_without_room_nothing_is_remembered():
    merits = Merits.of(0, GUESS)
    told(merits, 7, 0.2, 1.0, 0.5)
    assert recall(merits, 7, 0.2, 0.0) == (0.2, 0.0)
    assert merits.variance.tolist() == [GUESS, 0.0, 0.0]


def test_what_fades_is_believed_less():
    merits = Merits.of(10, GUESS)
    told(merits, 7, 0.0, 1.0, 2.0)
    before, informed = recall(merits, 7, 0.0, 0.0)
    fade(merits, 0.5)
    after, left = recall(merits, 7, 0.0, 0.0)
    assert left == informed / 2
    assert 0 < after < before
