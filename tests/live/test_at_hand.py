"""The newest pages are at hand, within a number of bytes, however large they are."""

from rankloop.live.at_hand import PagesAtHand


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
