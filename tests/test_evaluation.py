"""Evaluation ranks by score, ties by row, and averages over the queries that count."""

import math
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.metrics.test_formulas import EXACT, as_ir_measures
from tests.skipping import skip_here

from rankloop.data import load
from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.evaluation import best_possible, evaluate, measured
from rankloop.metrics import mean_over_queries, ndcg, value
from rankloop.rankers import MLP, LinearWeights, Ranker
from rankloop.rankers.linear import LINEAR, score_linear_columns

from .proofs import literal, small

MQ2008 = Path(__file__).parents[2] / "shared" / "data" / "MQ2008"
proof = examples(60)


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
    assert math.isnan(mean_over_queries(np.zeros(2), np.zeros(2, bool)))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=25))
@proof
def test_equal_scores_rank_by_the_lower_row(documents):
    scores, grades = zip(*documents, strict=True)
    order = sorted(range(len(scores)), key=lambda d: (-scores[d], d))
    wanted = literal.ndcg([grades[d] for d in order], grades)
    got = measured([1.0], one_query(np.array(scores, float), grades)).values.item()
    assert got == pytest.approx(wanted, rel=1e-13)


def test_many_rankers_at_once_have_the_bits_of_one_at_a_time():
    split = small.split((12, 1, 25, 7, 40, 3), features=37, seed=4)
    for rankers in (1, 2, 16, 17, 33, 50):
        W = np.random.default_rng(rankers).normal(size=(rankers, 37))
        together = measured(W, split).values[0]
        assert together.shape == (rankers, 6)
        for ranker in range(rankers):
            assert together[ranker].tolist() == measured(W[ranker], split).values[0, 0].tolist()


def test_evaluation_is_the_mean_of_literal_ndcg_over_queries():
    split = small.split((12, 1, 25, 7, 40, 3), features=5, seed=4)
    w = np.random.default_rng(1).normal(size=5)
    scores = split.features.astype(float) @ w
    per_query = []
    for begin, end in zip(split.offsets, split.offsets[1:], strict=False):
        order = begin + np.argsort(-scores[begin:end], kind="stable")
        per_query.append(literal.ndcg(split.grades[order].tolist(), split.grades[begin:end].tolist()))
    np.testing.assert_allclose(measured(w, split).values[0, 0], per_query, rtol=1e-13)
    kept = [v for v, ideal in zip(per_query, split.ideal_dcg, strict=True) if ideal > 0]
    assert evaluate(w, split) == pytest.approx(np.mean(kept), rel=1e-13)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [math.nan], [[1.0, 2.0]]])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(SettingsError, match="weights must be finite, one per feature"):
        evaluate(weights, one_query([1.0, 2.0], [0, 1]))


def test_weights_of_a_network_want_the_network():
    network = MLP(hidden=(2,))
    weights = network.parameters("zeros", 1, 1).weights
    split = one_query([1.0, 2.0], [0, 1])
    with pytest.raises(SettingsError, match=r"got shape \(1, 6\); if they are of another ranker, give it as ranker="):
        evaluate(weights, split)
    assert evaluate(weights, split, ranker=network) > 0


SEVERAL = ("ndcg@10", "ndcg@all", "ndcg-linear@3", "err@10", "p@5", "mrr", "map", "map(rel=2)@20")


@given(st.lists(st.tuples(st.sampled_from([-1.5, -0.0, 0.0, 2.0]), st.integers(0, 4)), min_size=1, max_size=60))
@proof
def test_the_whole_order_is_that_of_a_stable_sort_and_each_metric_the_same_alone(documents):
    """Some metrics need all ranks, which are found by sorting, others the first, which are found by insertion."""
    scores, grades = (np.array(column) for column in zip(*documents, strict=True))
    split = one_query(scores, grades)
    together = measured([1.0], split, SEVERAL).values[:, 0, 0]
    ranking = grades[np.argsort(-scores, kind="stable")]
    assert together.tolist() == [value(name, ranking) for name in SEVERAL]
    assert together.tolist() == [measured([1.0], split, name).values[0, 0, 0] for name in SEVERAL]


def test_many_rankers_by_many_metrics_have_the_bits_of_one_at_a_time():
    split = small.split((12, 1, 25, 7, 40, 3), features=37, seed=4)
    W = np.random.default_rng(3).normal(size=(17, 37))
    together = measured(W, split, SEVERAL)
    for ranker, weights in enumerate(W):
        alone = measured(weights, split, SEVERAL)
        assert together.values[:, ranker].tolist() == alone.values[:, 0].tolist()
        assert together.means()[:, ranker].tolist() == alone.means()[:, 0].tolist()


def test_the_best_possible_order_has_an_ndcg_of_one():
    split = small.split((12, 1, 25, 7, 40, 3), features=5, seed=4)
    best = best_possible(split, SEVERAL)
    assert best.means()[:3, 0].tolist() == [1.0, 1.0, 1.0]
    assert (best.values >= measured(np.ones(5), split, SEVERAL).values).all()


def test_on_a_real_collection_every_metric_is_that_of_ir_measures():
    if not MQ2008.exists():
        skip_here(f"{MQ2008} is not there: real collections are not part of the repository")
    split = load(MQ2008, fold=1).test
    w = np.random.default_rng(1).normal(size=split.features.shape[1])
    names = {**EXACT, "err(max=4)@10": ir_measures.ERR @ 10}
    ours = measured(w, split, names)
    scores = score_columns(w, split)
    rankings = [
        split.grades[begin + np.argsort(-scores[begin:end], kind="stable")]
        for begin, end in zip(split.offsets, split.offsets[1:], strict=False)
    ]
    theirs = as_ir_measures(rankings, set(names.values()))
    for (name, measure), values in zip(names.items(), ours.values[:, 0], strict=True):
        digits = 0.6e-5 if name.startswith("err") else 1e-9  # gdeval prints five
        np.testing.assert_allclose(values, [found[measure] for found in theirs], rtol=0, atol=digits, err_msg=name)
        assert evaluate(w, split, metric=name, nothing_relevant="zero") == pytest.approx(values.mean(), rel=1e-12)


def score_columns(w, split) -> np.ndarray:
    scores = np.zeros((len(split.grades), 16), np.float32)
    score_linear_columns(LINEAR.several(w[None, :], len(w)), split.arrays.features, scores)
    return scores[:, 0]


class Twice(Ranker, frozen=True):
    """A ranker of one's own with two weights for each feature; compiled code of its own would read beyond fewer."""

    def parameters(self, initial, features, seed, weights=None):
        return LinearWeights.of(np.zeros(2 * features))


@pytest.mark.parametrize("weights", [np.zeros(3), np.zeros(5), np.zeros((2, 3)), [0.0, 0.0, 0.0, np.nan]])
def test_weights_of_a_ranker_of_ones_own_are_counted(weights):
    split = Split.of(features=[[0.0, 1.0], [1.0, 0.0]], grades=[1, 0], queries=[1, 1])
    with pytest.raises(SettingsError, match=r"weights of Twice\(\) must be finite, 4 for 2 features; got "):
        evaluate(weights, split, ranker=Twice())
    with pytest.raises(SettingsError, match=r"Twice needs a method several\(weights, features\)"):
        evaluate(np.zeros(4), split, ranker=Twice())
