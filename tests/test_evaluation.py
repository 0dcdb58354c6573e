"""Evaluation ranks by score, ties by row, and averages over the queries that count."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.evaluation import evaluate, ndcg_per_query
from rankloop.metrics import mean_ndcg, ndcg

from .proofs import literal, small

proof = settings(deadline=None, max_examples=60)


def one_query(scores, grades) -> Split:
    return Split.of(np.reshape(scores, (-1, 1)), grades, np.zeros(len(grades)))


def test_both_conventions_for_queries_with_nothing_relevant():
    split = Split.of([[2.0], [1.0], [1.0], [0.0]], grades=[0, 1, 0, 0], queries=[1, 1, 2, 2])
    half = 1 / math.log2(3)
    assert evaluate([1.0], split) == pytest.approx(half, rel=1e-14)
    assert evaluate([1.0], split, nothing_relevant="zero") == pytest.approx(half / 2, rel=1e-14)
    assert ndcg([0, 0], [0, 0]) == 0.0
    with pytest.raises(SettingsError, match=r"nothing_relevant.*'skip'.*'zero'.*; got 'drop'"):
        evaluate([1.0], split, nothing_relevant="drop")


def test_a_split_without_anything_relevant_has_no_mean_unless_counted_as_zero():
    split = Split.of([[1.0], [2.0]], grades=[0, 0], queries=[1, 1])
    assert math.isnan(evaluate([1.0], split))
    assert evaluate([1.0], split, nothing_relevant="zero") == 0.0
    assert math.isnan(mean_ndcg(np.zeros(2), np.zeros(2)))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=25))
@proof
def test_equal_scores_rank_by_the_lower_row(documents):
    scores, grades = zip(*documents, strict=True)
    order = sorted(range(len(scores)), key=lambda d: (-scores[d], d))
    wanted = literal.ndcg([grades[d] for d in order], grades)
    got = ndcg_per_query([1.0], one_query(np.array(scores, float), grades))[0]
    assert got == pytest.approx(wanted, rel=1e-13)


def test_many_rankers_at_once_have_the_bits_of_one_at_a_time():
    split = small.split((12, 1, 25, 7, 40, 3), features=37, seed=4)
    for rankers in (1, 2, 16, 17, 33, 50):
        W = np.random.default_rng(rankers).normal(size=(rankers, 37))
        together = ndcg_per_query(W, split)
        assert together.shape == (rankers, 6)
        for ranker in range(rankers):
            assert together[ranker].tolist() == ndcg_per_query(W[ranker], split).tolist()


def test_evaluation_is_the_mean_of_literal_ndcg_over_queries():
    split = small.split((12, 1, 25, 7, 40, 3), features=5, seed=4)
    w = np.random.default_rng(1).normal(size=5)
    scores = split.features.astype(float) @ w
    per_query = []
    for begin, end in zip(split.offsets, split.offsets[1:], strict=False):
        order = begin + np.argsort(-scores[begin:end], kind="stable")
        per_query.append(literal.ndcg(split.grades[order].tolist(), split.grades[begin:end].tolist()))
    np.testing.assert_allclose(ndcg_per_query(w, split), per_query, rtol=1e-13)
    kept = [v for v, ideal in zip(per_query, split.ideal_dcg, strict=True) if ideal > 0]
    assert evaluate(w, split) == pytest.approx(np.mean(kept), rel=1e-13)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [math.nan], [[1.0, 2.0]]])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(SettingsError, match="weights must be finite, one per feature"):
        evaluate(weights, one_query([1.0, 2.0], [0, 1]))
