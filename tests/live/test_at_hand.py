"""The newest pages are at hand, within a number of bytes, however large they are."""

from rankloop.live.at_hand import PagesAtHand, closed_page, open_page
from rankloop.live.events import Kind
from rankloop.live.stores import opened

from ..logs.writing import PAGE, Log


def test_the_newest_pages_are_kept_and_what_was_closed_is_not():
    pages = PagesAtHand(1 << 20)
    pages.keep((1, 1), ["a", "b"])
    pages.keep((1, 2), ["c"])
    assert pages.get((1, 1)) == ["a", "b"]
    pages.forget((1, 1))
    pages.forget((1, 1))
    assert pages.get((1, 1)) is None
    pages.forget((1, 2))
    assert (len(pages), pages.bytes) == (0, 0)


def test_pages_of_a_thousand_long_ids_take_no_more_than_small_ones():
    """20,000 of these used to be kept, which is eleven gigabytes."""
    pages = PagesAtHand(10 << 20)
    for number in range(50):
        pages.keep((1, number), [f"{number}-{place}-" + "é" * 500 for place in range(1000)])
    assert 5 << 20 < pages.bytes <= 10 << 20
    assert pages.get((1, 49)) is not None
    assert pages.get((1, 0)) is None


def test_a_page_that_is_kept_twice_counts_once():
    pages = PagesAtHand(1 << 20)
    pages.keep((1, 1), ["a"])
    once = pages.bytes
    pages.keep((1, 1), ["a"])
    assert (len(pages), pages.bytes) == (1, once)


def test_a_page_that_is_larger_than_all_room_is_not_kept():
    pages = PagesAtHand(1000)
    pages.keep((1, 1), ["a" * 2000])
    assert (len(pages), pages.bytes) == (0, 0)


def test_an_older_page_is_looked_up_in_the_log_open_or_closed(tmp_path):
    with opened(tmp_path / "log.db") as store:
        log = Log.filled(store, impressions=10)
        log.visit(2, close=False)
        numbers = [event.number for event in store.events(0, 1_000, kinds=(Kind.SHOWN,), model=log.model)]
        found = {
            number: (open_page(store, log.model, number), closed_page(store, log.model, number)) for number in numbers
        }
        waiting = [number for number, (page, _) in found.items() if page]
        assert len(waiting) == store.open_count(log.model) > 0
        assert all((page is None) != (closed is None) for page, closed in found.values())
        assert all(len(page or closed) == PAGE for page, closed in found.values())
        assert closed_page(store, log.model, 99) is None
