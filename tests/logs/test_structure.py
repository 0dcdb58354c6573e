"""What must be true of any log, event by event: each fault is one sentence."""

import msgspec
import numpy as np
import pytest

from rankloop.live.events import Clicks, Closing, Event, Impression, Kind, encode
from rankloop.live.stores.rows import Open
from rankloop.logs.structure import ModelRow, Structure

from .writing import model_settings

SHOP = ModelRow(1, "shop", msgspec.json.encode(model_settings(features=1, page_size=2)), 0, None, 10)
PAGE = Impression("lamp", ["a", "b", "c"], bytes(12), bytes(12), [2, 0], [], b"", 0, 0, None, 0.0)


def shown(offset, number=0, **change):
    return Event(offset, 1, int(Kind.SHOWN), number, 0, b"", encode(msgspec.structs.replace(PAGE, **change)))


def clicked(offset, ranks, number=0, late=False):
    return Event(offset, 1, int(Kind.CLICKED), number, 0, b"", encode(Clicks(ranks, [1.0] * len(ranks), late)))


def closed(offset, page, clicks, number=0):
    return Event(offset, 1, int(Kind.CLOSED), number, 0, b"", encode(Closing(page, clicks, "asked")))


def followed(*events, compacted=0):
    structure = Structure([SHOP], compacted)
    for event in events:
        structure.take(event)
    return structure


def test_a_page_that_was_shown_clicked_and_closed_is_sound():
    structure = followed(shown(1), clicked(2, [1]), closed(3, 1, [0.0, 1.0]), clicked(4, [0], late=True))
    structure.end(4, [])
    assert structure.problems == []


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ([shown(1), closed(4, 1, [0.0, 0.0])], "events 2 to 3 are missing"),
        ([shown(1)._replace(model=7)], "event 1: it is of model 7, and there is none"),
        ([shown(1)._replace(kind=99)], "event 1: 99 is no kind of event"),
        ([shown(1, number=10)], "event 1: impression 10 has a number that was never given out"),
        ([shown(1), shown(2)], "event 2: impression 0 was shown already"),
        ([shown(1, page=[2, 2])], "event 1: its page does not show different candidates"),
        ([shown(1, scores=bytes(8))], "event 1: features and scores are not those of 3 candidates"),
        ([shown(1, pinned=[2])], "event 1: it pins ranks that the page does not have"),
        ([shown(1), clicked(2, [2])], "event 2: it clicks on ranks that the page does not have"),
        ([clicked(1, [0])], "event 1: impression 0, which it is about, is not open"),
        ([shown(1), closed(2, 1, [1.0, 0.0])], "event 2: its clicks [1.0, 0.0] are not those that were reported"),
        ([shown(1), closed(2, 7, [0.0, 0.0])], "event 2: it says that its page is event 7, which is event 1"),
        ([closed(1, 1, [])], "event 1: it closes impression 0, which is not open"),
    ],
)
def test_every_fault_is_named(events, sentence):
    assert followed(*events).problems == [sentence]


def test_what_was_compacted_away_may_be_missing_and_what_came_after_may_not():
    assert followed(clicked(5, [0]), closed(6, 2, [1.0, 0.0]), compacted=5).problems == []
    lost = followed(clicked(5, [0]), compacted=5)
    lost.end(5, [])
    assert lost.problems == ["impression 0 of shop was clicked, but never shown or closed"]


def test_the_table_of_open_pages_is_what_the_log_says():
    waiting = Open(1, 0, 1, 0, 0, 0.0, np.array([0, 1], "<f4").tobytes())
    sound = followed(shown(1), clicked(2, [1]))
    sound.end(2, [waiting])
    assert sound.problems == []
    for row, sentence in (
        (waiting._replace(clicks=bytes(8)), "is not what the log says"),
        (waiting._replace(number=3), "impression 0 of shop should be open, and is not"),
    ):
        structure = followed(shown(1), clicked(2, [1]))
        structure.end(2, [row])
        assert sentence in structure.problems[0]


def test_an_end_that_is_missing_is_noticed():
    structure = followed(shown(1), closed(2, 1, [0.0, 0.0]))
    structure.end(9, [])
    assert structure.problems == ["the log should end at 9, and ends at 2"]
