"""Pages and clicks survive the journey through UBI; what cannot become one of them is counted, never guessed."""

from collections import Counter

import pytest
from hypothesis import given

from rankloop.ubi import (
    Fate,
    Intake,
    events_of_page,
    query_of_page,
    read_bulk,
    read_events,
    read_queries,
    write_ndjson,
)

from .strategies import sessions


@pytest.mark.slow
@given(sessions())
def test_pages_and_clicks_come_back_from_files_as_they_were(tmp_path_factory, found):
    folder = tmp_path_factory.mktemp("ubi")
    queries = [query_of_page(page) for page, _ in found]
    events = [event for page, clicks in found for event in events_of_page(page, clicks)]
    write_ndjson(folder / "queries.ndjson", queries)
    write_ndjson(folder / "events.ndjson", events)
    write_ndjson(folder / "bulk.ndjson", [*queries, *events], bulk=True)
    assert list(read_bulk(folder / "bulk.ndjson")) == [*queries, *events]
    intake = Intake()
    for query in read_queries(folder / "queries.ndjson"):
        intake.query(query)
    clicks = [click for event in read_events(folder / "events.ndjson") if (click := intake.event(event))]
    assert list(intake.pages.values()) == [page for page, _ in found]
    assert clicks == [click for _, clicks in found for click in clicks]
    assert intake.queries == Counter({Fate.TAKEN: len(found)})
    assert intake.events == Counter(
        {Fate.TAKEN: len(clicks), Fate.OTHER_ACTION: sum(len(page.documents) for page, _ in found)}
    )
