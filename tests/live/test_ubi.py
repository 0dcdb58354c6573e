"""The log as User Behavior Insights: pages as queries, closed pages as impressions and clicks."""

import pytest

from rankloop.live.events import Kind
from rankloop.live.stores import opened
from rankloop.live.ubi import all_events, all_queries, click_times

from ..logs.writing import PAGE, Log


def sign(model, number, at):
    return f"{model}-{number}"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Ten pages that were closed, and two that are open."""
    with opened(tmp_path_factory.mktemp("ubi") / "log.db") as store:
        log = Log.filled(store, impressions=10)
        log.visit(2, close=False)
        yield log


def test_every_page_is_a_query_and_only_closed_ones_have_events(log):
    queries = [query for _, found in all_queries(log.store, sign, log.model, "shop") for query in found]
    assert [query.query_id for query in queries] == [f"1-{number}" for number in range(12)]
    events = [event for _, found in all_events(log.store, sign, log.model, "shop") for event in found]
    assert {event.query_id for event in events} == {f"1-{number}" for number in range(10)}
    assert sum(event.action_name == "impression" for event in events) == 10 * PAGE


def test_reading_on_from_an_offset_gives_what_is_left(log):
    whole = list(all_events(log.store, sign, log.model, "shop", at_once=3))
    assert whole == list(all_events(log.store, sign, log.model, "shop"))
    middle = whole[4][0]
    assert list(all_events(log.store, sign, log.model, "shop", after=middle)) == whole[5:]


def test_a_click_is_told_with_the_time_it_was_made_and_not_that_of_the_closing(log):
    closings = log.store.events(0, 100, kinds=(Kind.CLOSED,), model=log.model)
    times = click_times(log.store, log.model, closings)
    clicked = {event.number: event.at for event in log.store.events(0, 1_000, kinds=(Kind.CLICKED,), model=log.model)}
    assert times
    assert all(times[number, rank] == clicked[number] for number, rank in times)
    assert click_times(log.store, log.model, []) == {}


def test_what_was_erased_says_nothing(tmp_path):
    with opened(tmp_path / "log.db") as store:
        log = Log.filled(store, impressions=10)
        [ann] = {event.client for event in store.events(0, 3, kinds=(Kind.SHOWN,)) if event.number == 0}
        store.erase(ann)
        events = [event for _, found in all_events(store, sign, log.model, "shop") for event in found]
        assert "1-0" not in {event.query_id for event in events}
        assert "1-1" in {event.query_id for event in events}
