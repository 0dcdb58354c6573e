"""A log as one file of User Behavior Insights."""

import pytest

from rankloop.errors import SettingsError
from rankloop.live.events import Kind
from rankloop.logs.access import at_one_moment
from rankloop.logs.ubi_file import write_ubi
from rankloop.ubi import UbiQuery, read_bulk, read_events, read_queries

from .writing import Log


@pytest.fixture
def log(store):
    log = Log.filled(store, impressions=40)
    log.visit(3, close=False)
    log.control(Kind.PAUSED)
    return log


def test_a_log_as_ubi_has_every_page_every_click_and_the_ids_that_rank_gave(log, store, address, tmp_path):
    with at_one_moment(address) as moment:
        counts = write_ubi(moment, tmp_path / "both", "ubi")
        write_ubi(moment, tmp_path / "queries", "ubi-queries")
        write_ubi(moment, tmp_path / "events", "ubi-events", "shop")
        with pytest.raises(SettingsError, match="there is shop"):
            write_ubi(moment, tmp_path / "none", "ubi", "shoe")
    queries, events = list(read_queries(tmp_path / "queries")), list(read_events(tmp_path / "events"))
    clicks = sum(tally.clicks for tally in store.tallies(log.model, rank=0))
    assert counts == {"queries": 43, "events": 40 * 4 + clicks, "left_out": 0}
    assert sum(event.action_name == "click" for event in events) == clicks > 10
    assert {event.query_id for event in events} < {query.query_id for query in queries}
    both = list(read_bulk(tmp_path / "both"))
    assert [thing for thing in both if isinstance(thing, UbiQuery)] == queries
    assert [thing for thing in both if not isinstance(thing, UbiQuery)] == events
    assert not (tmp_path / "none").exists()
