"""nDCG agrees with scikit-learn and ir-measures, and with its definition."""

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score
from tests.examples import examples

from rankloop.metrics import dcg, gains, ideal_dcg, ndcg

from ..proofs import literal

graded = st.lists(st.integers(0, 4), min_size=2, max_size=25)
proof = examples(60)


def ranked(grades, seed) -> tuple[np.ndarray, np.ndarray]:
    """Distinct random scores, and the grades in their order."""
    scores = np.random.default_rng(seed).permutation(len(grades)).astype(float)
    return scores, np.array(grades)[np.argsort(-scores)]


@given(graded, st.integers(0, 99))
@proof
def test_ndcg_is_scikit_learns_on_exponentiated_gains(grades, seed):
    scores, in_order = ranked(grades, seed)
    wanted = ndcg_score([gains(grades)], [scores], k=10)
    # Ten additions in another order.
    assert ndcg(in_order, grades) == pytest.approx(wanted, rel=1e-13, abs=1e-13)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=25), st.integers(0, 99))
@proof
def test_ndcg_is_ir_measures_for_linear_gains(grades, seed):
    """With grades 0 and 1 the gain 2^grade − 1 is the grade itself."""
    assert_as_ir_measures(grades, seed, ir_measures.nDCG @ 10)


@given(graded, st.integers(0, 99))
@proof
def test_ndcg_is_ir_measures_with_grades_mapped_to_gains(grades, seed):
    mapped = ir_measures.nDCG(gains={g: 2**g - 1 for g in range(5)}) @ 10
    assert_as_ir_measures(grades, seed, mapped)


def assert_as_ir_measures(grades, seed, measure) -> None:
    scores, in_order = ranked(grades, seed)
    qrels = [ir_measures.Qrel("q", str(d), int(g)) for d, g in enumerate(grades)]
    run = [ir_measures.ScoredDoc("q", str(d), float(s)) for d, s in enumerate(scores)]
    wanted = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    assert ndcg(in_order, grades) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@given(graded, st.integers(1, 12))
@proof
def test_dcg_and_ndcg_are_the_definition_at_any_cut(grades, k):
    wanted = math.fsum((2.0**g - 1) / math.log2(i + 2) for i, g in enumerate(grades[:k]))
    assert dcg(grades, k) == pytest.approx(wanted, rel=1e-14)
    assert ndcg(grades, grades, k) == pytest.approx(literal.ndcg(grades, grades, k), rel=1e-14)


@given(st.lists(graded, min_size=1, max_size=5))
@proof
def test_the_ideal_is_the_dcg_of_the_sorted_candidates(queries):
    offsets = np.cumsum([0, *(len(q) for q in queries)])
    grades = np.concatenate(queries).astype(np.uint8)
    wanted = [dcg(sorted(q, reverse=True)) for q in queries]
    np.testing.assert_allclose(ideal_dcg(grades, offsets), wanted, rtol=1e-14)


def test_a_page_is_held_against_the_best_of_all_candidates_not_of_those_shown():
    """2 and 1 are shown in the best order, but a 3 was left out: 3 + 1/log2(3) against 7 + 3/log2(3) + 1/2."""
    assert ndcg([2, 1], [1, 3, 2, 0]) == pytest.approx((3 + 1 / math.log2(3)) / (7 + 3 / math.log2(3) + 1 / 2))
    assert ndcg([3, 2, 1, 0], [1, 3, 2, 0]) == 1.0
