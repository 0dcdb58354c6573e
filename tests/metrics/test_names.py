"""Metrics have names; a name says everything, and a wrong one is answered with the right ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.errors import SettingsError
from rankloop.metrics.names import KINDS, Metric, is_page_ndcg, metric, named, with_ndcg


@pytest.mark.parametrize(
    ("written", "page", "name", "title"),
    [
        ("ndcg", 10, "ndcg@10", "nDCG@10"),
        ("ndcg", 3, "ndcg@3", "nDCG@3"),
        ("nDCG@5", 3, "ndcg@5", "nDCG@5"),
        ("ndcg-linear", 10, "ndcg-linear@10", "linear nDCG@10"),
        ("ndcg@all", 10, "ndcg@all", "nDCG"),
        ("ERR", 7, "err@7", "ERR@7"),
        ("err(max=4)@10", 3, "err(max=4)@10", "ERR@10 (grades to 4)"),
        ("p@5", 10, "p@5", "P@5"),
        ("P(rel=2)", 10, "p(rel=2)@10", "P@10 (grade ≥ 2)"),
        ("mrr", 10, "mrr", "MRR"),
        ("MRR@10", 3, "mrr@10", "MRR@10"),
        ("mrr@ALL", 10, "mrr", "MRR"),
        ("map(rel=1)", 10, "map", "MAP"),
        ("map(rel=2)", 10, "map(rel=2)", "MAP (grade ≥ 2)"),
        ("map(rel=3)@20", 10, "map(rel=3)@20", "MAP@20 (grade ≥ 3)"),
    ],
)
def test_a_name_says_what_is_measured_and_where_it_ends(written, page, name, title):
    made = metric(written, page)
    assert (made.name, str(made), made.title) == (name, name, title)
    assert metric(name, page + 1) == made


@given(st.sampled_from(sorted(KINDS)), st.none() | st.integers(1, 99), st.none() | st.integers(2, 30))
def test_every_metric_is_what_its_name_says(kind, cutoff, grade):
    made = Metric(kind, cutoff, grade if KINDS[kind].option else None)
    assert metric(made.name) == made
    assert made.is_seen_on_pages == (cutoff is not None)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("ndgc@10", "one of ndcg, ndcg-linear, err, p, mrr, map.*; got 'ndgc@10'"),
        ("ndcg@", "one of ndcg"),
        ("", "one of ndcg"),
        (10, "one of ndcg.*; got 10"),
        ("ndcg@0", "the rank at which ndcg ends must be a whole number, at least 1; got 0"),
        ("ndcg(rel=2)@10", "ndcg takes nothing in brackets; got rel=2"),
        ("err(rel=2)", "err takes only max=GRADE in brackets; got rel=2"),
        ("map(max=2)", "map takes only rel=GRADE in brackets"),
        ("map(rel=0)", "rel of map must be a whole number, at least 1; got 0"),
        ("map(rel=31)", "rel of map must be at most 30"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_what_would_be_right(written, sentence):
    with pytest.raises(SettingsError, match=f"^here: .*{sentence}"):
        metric(written, where="here")


def test_several_metrics_are_named_once_each_and_at_least_one():
    assert named("map") == (metric("map"),)
    assert named(["err", "err@10", metric("map")]) == (metric("err@10"), metric("map"))
    with pytest.raises(SettingsError, match="must not be empty"):
        named([])
    with pytest.raises(SettingsError, match="must be a list of names"):
        named(10)


def test_ndcg_of_the_page_is_always_among_them():
    assert with_ndcg(named(["err"], 3), 3) == named(["err@3", "ndcg@3"])
    assert with_ndcg(named(["ndcg@all"]), 10) == named(["ndcg@all", "ndcg@10"])
    assert with_ndcg(named(["map", "ndcg@5"]), 10) == named(["map", "ndcg@5"])
    assert not is_page_ndcg(metric("ndcg-linear"))
