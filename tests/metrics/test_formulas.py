"""Every metric is ir-measures' of the same name, and its definition."""

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, ERR, RR, P, nDCG
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.metrics import value
from rankloop.metrics.formulas import Measures, measure
from rankloop.metrics.names import named

graded = st.lists(st.integers(0, 4), min_size=1, max_size=40)
proof = examples(60)
EXPONENTIAL = nDCG(gains={grade: 2**grade - 1 for grade in range(5)})
EXACT = {
    "ndcg@10": EXPONENTIAL @ 10,
    "ndcg@3": EXPONENTIAL @ 3,
    "ndcg@all": EXPONENTIAL,
    "ndcg-linear@10": nDCG @ 10,
    "ndcg-linear@all": nDCG,
    "p@5": P @ 5,
    "p(rel=2)@10": P(rel=2) @ 10,
    "mrr": RR,
    "mrr(rel=3)": RR(rel=3),
    "mrr@3": RR @ 3,
    "map": AP,
    "map(rel=2)": AP(rel=2),
    "map@10": AP @ 10,
}


def as_ir_measures(rankings, wanted) -> list[dict]:
    """Each query's values; the ranking is that of the scores, which are all different."""
    qrels, run = [], []
    for query, grades in enumerate(rankings):
        qrels += [ir_measures.Qrel(str(query), f"{place:03}", int(grade)) for place, grade in enumerate(grades)]
        run += [ir_measures.ScoredDoc(str(query), f"{place:03}", -float(place)) for place in range(len(grades))]
    found: list[dict] = [{} for _ in rankings]
    mapped = {one for one in wanted if "gains" in one.params}  # in a call of their own: together they come out wrong
    for some in filter(None, (mapped, wanted - mapped)):
        for one in ir_measures.iter_calc(list(some), qrels, run):
            found[int(one.query_id)][one.measure] = one.value
    return found


@given(st.lists(graded, min_size=1, max_size=4))
@proof
def test_values_are_those_of_ir_measures(rankings):
    theirs = as_ir_measures(rankings, set(EXACT.values()))
    for grades, found in zip(rankings, theirs, strict=True):
        for name, measured in EXACT.items():
            assert value(name, grades) == pytest.approx(found[measured], rel=1e-9, abs=1e-9), name


def test_err_is_that_of_ir_measures():
    """Its script, gdeval, takes 4 as the highest grade, whatever occurs, and prints five digits."""
    rng = np.random.default_rng(1)
    rankings = [rng.integers(0, 5, size) for size in (1, 2, 5, 20, 40)] + [[0, 0, 0], [0, 1, 2]]
    theirs = as_ir_measures(rankings, {ERR @ 10, ERR @ 3})
    for grades, found in zip(rankings, theirs, strict=True):
        for cutoff in (3, 10):
            ours = value(f"err@{cutoff}", grades, highest_grade=4)
            assert ours == pytest.approx(found[ERR @ cutoff], abs=0.6e-5)
            assert value(f"err(max=4)@{cutoff}", grades) == ours


@given(graded, st.integers(1, 12))
@proof
def test_err_is_the_expected_reciprocal_rank_of_the_document_that_satisfies(grades, k):
    satisfied = [(2**grade - 1) / 2**4 for grade in grades]
    wanted = math.fsum(
        satisfied[r] / (r + 1) * math.prod(1 - satisfied[i] for i in range(r)) for r in range(min(k, len(grades)))
    )
    assert value(f"err@{k}", grades, highest_grade=4) == pytest.approx(wanted, rel=1e-12)


def test_the_scale_of_err_is_the_collections_and_not_the_querys():
    assert value("err@10", [1]) == 1 / 4
    assert value("err@10", [1], highest_grade=4) == 1 / 16
    assert value("err@10", [1], candidates=[1, 3]) == 1 / 16
    with pytest.raises(SettingsError, match=r"err\(max=2\)@10 is for grades up to 2, and there are labels of grade 3"):
        value("err(max=2)@10", [3])


def test_what_a_page_leaves_out_counts_in_the_norm():
    assert value("map", [0, 1], candidates=[0, 1, 1, 1]) == 1 / 6
    assert value("ndcg-linear@2", [1, 0], candidates=[2, 1, 0]) == pytest.approx(1 / (2 + 1 / math.log2(3)))
    assert value("p@5", [1, 1], candidates=[1, 1]) == 2 / 5


@pytest.mark.parametrize("name", [*EXACT, "err@10"])
def test_where_nothing_is_relevant_every_metric_is_zero(name):
    assert value(name, [0, 0, 0]) == value(name, []) == 0.0


def test_relevance_depends_on_the_threshold_of_the_metric():
    chosen = named(["ndcg@10", "map", "map(rel=2)", "p(rel=2)@5", "mrr"])
    grades, offsets = np.array([1, 0, 2, 1, 0], np.uint8), np.array([0, 2, 4, 5])
    measures = Measures.of(chosen, grades, offsets)
    assert (measures.norm > 0).tolist() == [[True, True, False]] * 2 + [[False, True, False]] * 2 + [
        [True, True, False]
    ]
    assert [measure(measures, row, 1, np.array([1, 2])) for row in (2, 4)] == [0.5, 1.0]


def test_grades_that_are_none_are_refused():
    with pytest.raises(SettingsError, match="grades must be whole numbers from 0 to 30"):
        value("mrr", [0.5])
