"""A visit is a function of the seed and its number; clicks follow taste and position."""

import numpy as np
import pytest

from rankloop.errors import DataError, SettingsError
from rankloop.metrics import dcg, ndcg
from rankloop.web.demo.engine import engine_order
from rankloop.web.demo.tastes import TASTES
from rankloop.web.demo.visitors import HELD_OUT, VISITED, Visitors, plausible_queries

READERS = TASTES["readers"]


@pytest.fixture(scope="module")
def visitors(engine):
    return Visitors(engine, READERS, seed=3)


def test_queries_are_plausible_different_and_the_same_every_time(engine):
    queries = plausible_queries(engine, 120)
    assert len(set(queries)) == 120
    assert plausible_queries(engine, 40) == queries[:40]
    assert plausible_queries(engine, 40, seed=2) != queries[:40]
    assert all(len(engine.search(query)) >= 20 for query in queries)
    assert 0.3 < np.mean([" " in query for query in queries]) < 0.9


def test_what_is_measured_on_is_never_asked(visitors):
    assert (len(visitors.queries), len(visitors.held_out)) == (VISITED, HELD_OUT)
    assert not set(visitors.queries) & set(visitors.held_out)


def test_a_visit_is_a_function_of_seed_and_number(engine, visitors):
    again = Visitors(engine, READERS, seed=3)
    other = Visitors(engine, READERS, seed=4)
    page = engine.search("open file").ids[:10]
    for visit in (7, 0, 3):
        assert again.query(visit) == visitors.query(visit)
        assert again.clicks(visit, "open file", page) == visitors.clicks(visit, "open file", page)
    assert [other.query(v) for v in range(20)] != [visitors.query(v) for v in range(20)]


def test_clicks_come_as_often_as_taste_and_position_say(engine):
    visitors = Visitors(engine, READERS, seed=5)
    page = engine.search("open file").ids[:10]
    visits = 4000
    clicks = np.array([visitors.clicks(visit, "open file", page) for visit in range(visits)])
    expected = visitors.user.click_probabilities(visitors.grades("open file", page))
    # Five standard errors of each of ten frequencies over 4,000 visits: a false-alarm rate of 6e-6, fixed seed.
    assert np.abs(clicks.mean(axis=0) - expected).max() < 5 * np.sqrt(0.25 / visits)


def test_the_engines_order_is_measured_as_its_pages_are(engine, visitors):
    grades = [visitors.grades(query, engine.search(query).ids) for query in visitors.held_out]
    pages = [ndcg(of_query[:10], of_query) for of_query in grades]
    liked = [dcg(sorted(of_query)[::-1]) > 0 for of_query in grades]
    assert visitors.ndcg(engine_order()) == pytest.approx(np.mean(np.array(pages)[liked]))


def test_an_empty_page_gets_no_clicks_and_a_foreign_document_is_refused(visitors):
    assert visitors.clicks(1, "🐍", []) == []
    with pytest.raises(DataError, match=r"'no\.such\.thing', which this library does not have"):
        visitors.clicks(1, "open file", ["no.such.thing"])


def test_impossible_visitors_are_refused(engine):
    with pytest.raises(SettingsError, match="visitors: seed"):
        Visitors(engine, READERS, seed=-1)
    with pytest.raises(SettingsError, match="visit must be a whole number"):
        Visitors(engine, READERS, seed=1).query(-1)
