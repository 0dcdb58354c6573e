"""Watched documents: who is, what is measured on them, and what it is worth where features change."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankloop.learners import Posterior
from rankloop.learners.changes import HORIZON, WATCHED, Changes, part_of_change, watch
from rankloop.online import OnlineRanker

CENTRE = np.array([0.5, -0.5])


def met(changes, key, row, weights=(1.0, 2.0)):
    watch(changes, key, np.array(row, np.float32), CENTRE, np.array(weights))


def test_features_that_stay_and_weights_that_move_are_told_apart():
    changes = Changes.of(2, watched=True)
    met(changes, 7, [1.0, 0.0])
    assert part_of_change(changes) == 0.0
    met(changes, 7, [1.0, 0.0], (3.0, 2.0))  # u of (.5, .5) moved by 1, through the weights alone
    assert_array_equal(changes.apart, [0.0, 1.0, 1.0])
    met(changes, 7, [3.0, 0.0], (3.0, 2.0))  # since then by 6, through the features alone
    assert_array_equal(changes.apart, [18.0, 0.5, 2.0])
    assert part_of_change(changes) == pytest.approx(18.0 / 18.5)


def test_a_document_without_a_number_is_not_watched_and_without_a_memory_nobody_is():
    changes = Changes.of(2, watched=True)
    met(changes, 0, [1.0, 0.0])
    assert not changes.keys.any()
    nobody = Changes.of(2, watched=False)
    met(nobody, 7, [1.0, 0.0])
    assert part_of_change(nobody) == 0.0
    assert all(array.size == 0 for array in nobody)


def test_places_go_to_those_who_come_most_often():
    """A third of the pages show one of 30 documents, the others one of a million."""
    rng = np.random.default_rng(1)
    changes = Changes.of(2, watched=True)
    for _ in range(5_000):
        key = rng.integers(1, 31) if rng.random() < 1 / 3 else rng.integers(31, 1_000_000)
        met(changes, int(key), [1.0, 0.0])
    often = set(range(1, 31))
    assert len(often & set(changes.keys.tolist())) > WATCHED / 3
    assert changes.apart[0] == 0.0


def test_old_comparisons_fade():
    """Features that have stopped changing are soon believed again."""
    rng = np.random.default_rng(2)
    changes = Changes.of(2, watched=True)
    for _ in range(500):
        met(changes, 7, rng.normal(size=2))
    weights = np.array([1.0, 2.0])
    for _ in range(3_000):
        weights = weights + rng.normal(scale=0.01, size=2)
        met(changes, 7, [1.0, 0.0], weights)
    assert changes.apart[2] == HORIZON
    assert part_of_change(changes) < 0.01


def value_of_pages(learner, seed):
    """Five queries that come back, with twenty documents and eight features, half of whose variance is drawn anew for
    every page; what the second half of the pages was worth, beside the best."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=8)
    w *= 1.5 / np.linalg.norm(w)
    kept, looks = rng.normal(size=(5, 20, 8)), np.arange(1, 11) ** -0.5
    ranker = OnlineRanker(learner, features=8, seed=seed, page_size=10)
    got = best = 0.0
    for page_number in range(2_000):
        q = int(rng.integers(5))
        X = np.sqrt(0.5) * (kept[q] + rng.normal(size=(20, 8)))
        attraction = 1 / (1 + np.exp(2 - X @ w))
        page = ranker.rank(X, query=f"q{q}", ids=[str(document) for document in range(20)])
        expected = looks * attraction[page.documents]
        ranker.learn(page, (rng.random(10) < expected).astype(float))
        if page_number >= 1_000:
            got, best = got + expected.sum(), best + looks @ np.sort(attraction)[:-11:-1]
    return got / best


@pytest.mark.thorough
def test_records_do_not_overrule_features_that_change():
    """Records of whole scores would: .87 of the best with these people, and 1.00 without a memory."""
    values = [value_of_pages(Posterior(), seed) for seed in (1, 2)]
    assert np.mean(values) > 0.97
