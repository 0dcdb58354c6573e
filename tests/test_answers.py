"""What the service answers, as it travels."""

import msgspec

from rankloop.answers import Clicked, Ranked


def test_a_page_says_nothing_of_what_was_not_asked_for():
    page = Ranked("id", ["b", "a"], "learned", 7)
    assert msgspec.to_builtins(page) == {"impression": "id", "ranking": ["b", "a"], "group": "learned", "version": 7}


def test_a_fallback_has_no_impression_and_says_so():
    page = msgspec.json.decode(msgspec.json.encode(Ranked(None, ["a"], "fallback", 7, [], "the store is away")))
    assert page["impression"] is None
    assert (page["rest"], page["reason"]) == ([], "the store is away")


def test_every_fate_of_a_report_is_told_even_if_nothing_met_it():
    told = msgspec.to_builtins(Clicked("id", 0, 0, 0, 0, [], False))
    assert set(told) == {"impression", "accepted", "duplicate", "contradictory", "late", "unknown", "closed"}
