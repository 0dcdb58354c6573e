"""The rules of the log, on every store: what is acknowledged is there, and a click means what it should."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE

from rankloop.live.errors import StoreError
from rankloop.live.events import Kind, decode
from rankloop.live.log import Click, Close, Control, Fate, Show, settle
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import Tally
from rankloop.live.writer import Writer

MINUTE = 60_000


def show(number, ranks=3, model=1, at=0, group=0, displacement=0.0, body=b"page"):
    return Show(model, number, at, b"client", body, ranks, group, displacement)


def click(number, ranks, values=None, model=1, at=1):
    return Click(model, number, at, list(ranks), list(values or [1.0] * len(ranks)))


def close(number, why="asked", model=1, at=2):
    return Close(model, number, at, why)


def settled(store, *entries):
    with store.transaction() as transaction:
        return settle(transaction, entries)


def clicks_of(store, number, model=1):
    row = store.open_impression(model, number)
    return None if row is None else np.frombuffer(row.clicks, "<f4").tolist()


@pytest.fixture
def writer(store):
    writer = Writer(store)
    yield writer
    writer.stop()


@pytest.mark.thorough
def test_what_was_acknowledged_is_there_after_reopening(store, address, writer):
    futures = [writer.append(show(number, body=bytes(60_000))) for number in range(700)]
    offsets = [future.result(PATIENCE) for future in futures]
    assert offsets == list(range(1, 701))
    again = open_store(address)
    assert again.last_offset() == 700
    assert again.open_count(1) == 700
    assert [(e.number, e.kind, len(e.body)) for e in again.events(690, 99)] == [
        (n, Kind.SHOWN, 60_000) for n in range(690, 700)
    ]
    again.close()


def test_the_fate_of_clicks(store):
    assert settled(store, show(0)) == [1]
    assert settled(store, click(0, [0, 1], [1.0, 0.5])) == [Fate(accepted=2)]
    assert settled(store, click(0, [0, 1, 2], [1.0, 0.25, 1.0])) == [Fate(accepted=1, duplicate=1, contradictory=1)]
    assert clicks_of(store, 0) == [1.0, 0.5, 1.0]  # the larger value counts
    assert settled(store, click(0, [1], [0.75])) == [Fate(contradictory=1)]
    assert clicks_of(store, 0) == [1.0, 0.75, 1.0]
    assert settled(store, close(0)) == [5]
    assert settled(store, click(0, [0, 2])) == [Fate(late=2, closed=True)]
    assert settled(store, click(77, [0])) == [Fate(late=1, closed=True)]
    last = decode(Kind.CLICKED, store.event(6).body)
    assert (last.ranks, last.values, last.late) == ([0, 2], [1.0, 1.0], True)


def test_a_closing_says_where_the_page_is_and_what_was_clicked(store):
    settled(store, show(4), show(5))
    settled(store, click(5, [1], [0.5]))
    assert settled(store, close(5)) == [4]
    closing = decode(Kind.CLOSED, store.event(4).body)
    assert (closing.shown, closing.clicks, closing.why) == (2, [0.0, 0.5, 0.0], "asked")
    assert store.event(closing.shown).number == 5
    assert store.open_count(1) == 1


def test_an_impression_is_closed_once(store):
    settled(store, show(0))
    assert settled(store, close(0), close(0)) == [2, None]
    assert settled(store, close(0)) == [None]
    assert store.last_offset() == 2
    assert store.tallies(1)[0].shown == 1


def test_show_click_and_close_fit_into_one_batch(store):
    results = settled(store, show(0), click(0, [2]), click(0, [2]), close(0), click(0, [1]))
    assert results == [1, Fate(accepted=1), Fate(duplicate=1), 4, Fate(late=1, closed=True)]
    assert store.open_count(1) == 0
    assert decode(Kind.CLOSED, store.event(4).body).clicks == [0.0, 0.0, 1.0]
    assert [tally.clicks for tally in store.tallies(1)] == [1.0, 0.0, 0.0, 1.0]


def test_a_page_that_nobody_saw_is_closed_without_a_trace_in_the_tallies(store):
    settled(store, show(0), close(0, why="void"))
    settled(store, show(1))
    settled(store, close(1, why="void"))
    assert store.tallies(1) == []
    assert store.open_count(1) == 0
    assert decode(Kind.CLOSED, store.event(2).body).why == "void"


def test_tallies_are_exact(store):
    settled(store, show(0, ranks=2, displacement=0.5), show(1, ranks=2, group=1), show(2, ranks=2, displacement=0.25))
    settled(store, click(0, [0, 1], [1.0, 0.5]), click(2, [0]))
    settled(store, close(0, at=3 * MINUTE), close(1, at=3 * MINUTE))
    settled(store, close(2, at=4 * MINUTE - 1))
    assert store.tallies(1) == [
        Tally(1, 1, 3, 0, 0, 2, 2.5, 1.5**2 + 1, 0.75),
        Tally(1, 1, 3, 0, 1, 2, 2.0, 2.0, 0.0),
        Tally(1, 1, 3, 0, 2, 2, 0.5, 0.25, 0.0),
        Tally(1, 1, 3, 1, 0, 1, 0.0, 0.0, 0.0),
        Tally(1, 1, 3, 1, 1, 1, 0.0, 0.0, 0.0),
        Tally(1, 1, 3, 1, 2, 1, 0.0, 0.0, 0.0),
    ]
    for span in (60, 1440):
        assert store.tallies(1, span=span) == [row._replace(span=span, minute=0) for row in store.tallies(1)]


def test_what_people_decide_has_a_place_too(store):
    assert settled(store, Control(1, Kind.PAUSED, 9), show(0), Control(1, Kind.ROLLED_BACK, 9, b"state")) == [1, 2, 3]
    assert store.event(3)[1:] == (1, Kind.ROLLED_BACK, 0, 9, b"", b"state")


def test_a_batch_that_fails_is_not_acknowledged_and_the_next_one_is(store, writer):
    assert writer.append(show(0)).result(PATIENCE) == 1
    with pytest.raises(StoreError):
        writer.append(show(0)).result(PATIENCE)  # the same impression, opened a second time
    assert writer.append(show(1)).result(PATIENCE) == 2
    assert store.last_offset() == 2


# A literal model of the log, in memory

NUMBERS = st.integers(0, 4)
VALUES = st.sampled_from([0.25, 0.5, 1.0])  # sums of these are exact, in whatever order they are added
ENTRY = st.one_of(
    st.builds(show, NUMBERS, group=st.integers(0, 1), displacement=st.sampled_from([0.0, 0.5])),
    NUMBERS.flatmap(
        lambda number: st.dictionaries(st.integers(0, 2), VALUES, min_size=1).map(
            lambda clicked: click(number, clicked.keys(), clicked.values())
        )
    ),
    st.builds(close, NUMBERS, st.sampled_from(["asked", "window", "void"]), at=st.sampled_from([0, MINUTE])),
)


class Literal:
    """What the log should say, one entry at a time, with nothing but dictionaries."""

    def __init__(self, first):
        self.offset = first
        self.open = {}
        self.tallies = defaultdict(lambda: np.zeros(4))
        self.kinds = []

    def place(self, kind):
        self.kinds.append(kind)
        self.offset += 1
        return self.offset - 1

    def settle(self, entry):
        match entry:
            case Show():
                self.open[entry.number] = [0.0, 0.0, 0.0], entry.group, entry.displacement
                return self.place(Kind.SHOWN)
            case Click():
                self.place(Kind.CLICKED)
                return self.click(entry)
            case Close():
                return self.close(entry)

    def click(self, entry):
        if entry.number not in self.open:
            return Fate(late=len(entry.ranks), closed=True)
        values = self.open[entry.number][0]
        fates = defaultdict(int)
        for rank, value in zip(entry.ranks, entry.values, strict=True):
            fates["accepted" if not values[rank] else "duplicate" if values[rank] == value else "contradictory"] += 1
            values[rank] = max(values[rank], value)
        return Fate(**fates)

    def close(self, entry):
        if entry.number not in self.open:
            return None
        values, group, displacement = self.open.pop(entry.number)
        if entry.why != "void":
            for rank, value in enumerate([sum(values), *values]):
                moved = displacement if rank == 0 else 0.0
                self.tallies[entry.at // MINUTE, group, rank] += [1, value, value * value, moved]
        return self.place(Kind.CLOSED)


@pytest.mark.thorough
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(ENTRY, max_size=12), max_size=5))
def test_every_sequence_of_shows_clicks_and_closes_means_what_a_literal_reading_says(store, batches):
    with store.transaction() as transaction:
        model = transaction.create_model(f"model {store.last_offset()} {len(store.models())}", b"", 0)
    literal = Literal(store.last_offset() + 1)
    begin, seen = literal.offset, set()
    for batch in batches:
        entries = []
        for entry in batch:
            if isinstance(entry, Show):
                if entry.number in seen:
                    continue  # numbers are given once
                seen.add(entry.number)
            entries.append(entry._replace(model=model))
        assert settled(store, *entries) == [literal.settle(entry) for entry in entries]
        assert {n: clicks_of(store, n, model) for n in range(5) if clicks_of(store, n, model) is not None} == {
            number: values for number, (values, _, _) in literal.open.items()
        }
    assert [event.kind for event in store.events(begin - 1, 1000)] == literal.kinds
    assert [event.offset for event in store.events(begin - 1, 1000)] == list(range(begin, literal.offset))
    assert {tally[2:5]: list(tally[5:]) for tally in store.tallies(model)} == {
        key: sums.tolist() for key, sums in literal.tallies.items()
    }
    assert store.open_count(model) == len(literal.open)
