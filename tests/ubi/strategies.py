"""Pages and clicks of all kinds."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from rankloop.ubi import Click, ShownPage

# JSON holds any text but a lone surrogate.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100)
document_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=256)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=offsets)
rewards = st.one_of(st.just(1.0), st.floats(0, 1))


@st.composite
def sessions(draw):
    """Pages with different query ids, and clicks on what they showed."""
    found = []
    for query_id in draw(st.lists(names, max_size=4, unique=True)):
        page = ShownPage(
            query_id=query_id,
            query=draw(texts),
            documents=tuple(draw(st.lists(document_ids, min_size=1, max_size=5, unique=True))),
            at=draw(times),
            client=draw(st.one_of(st.just(""), names)),
            model=draw(texts),
        )
        clicked = draw(st.lists(st.sampled_from(page.documents), max_size=3))
        clicks = [Click(query_id=query_id, document=d, at=draw(times), value=draw(rewards)) for d in clicked]
        found.append((page, clicks))
    return found


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
