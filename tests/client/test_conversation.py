"""What a client and the service say to each other, without a network: each conversation is played by hand."""

import msgspec
import numpy as np
import pytest
from msgspec.structs import fields

from rankloop.client import Clicked, Page, RefusedError
from rankloop.client.conversation import AT_ONCE, Conversation, Delivery, Kept, Reply, rank_body
from rankloop.errors import SettingsError
from rankloop.live import requests


def test_client_and_service_mean_the_same_by_a_report():
    """The client imports nothing of the service, so what travels is written down on both sides."""
    assert [one.name for one in fields(Delivery)] == [one.name for one in fields(requests.ClickBody)]
    assert requests.Limits().items == AT_ONCE


def played(talk, *replies):
    """What was asked, and what a conversation ends with when it gets these replies."""
    asked, waiting = [], iter(replies)
    try:
        asked.append(next(talk))
        while True:
            asked.append(talk.send(next(waiting)))
    except StopIteration as end:
        return asked, end.value


def fine(content):
    return Reply(200, msgspec.msgpack.encode(content), "application/msgpack")


def taken(*reports):
    return fine({"results": [Clicked(name, 1, 0, 0, 0, [], False) for name in reports]})


AWAY = Reply(trouble="the service cannot be reached")
EXPIRED = Reply(410, b'{"error":{"code":"impression_expired","message":"too late"}}')


def test_a_name_travels_in_the_address_whatever_is_in_it():
    body = rank_body({"a": [1.0]}, None, size=None, pinned={}, rest=False)
    [ask], page = played(Conversation(10, 5).rank("a/b ?", body, ["a"]), fine(Page("i", ["a"], "learned", 3)))
    assert ask.path == "/v1/models/a%2Fb%20%3F/rank"
    assert (page.impression, page.version) == ("i", 3)


def test_what_was_kept_goes_first_and_in_its_order():
    conversation = Conversation(10, 100)
    assert played(conversation.click([("one", ["a"]), ("two", ["b"])], False), AWAY)[1] == [None, None]
    assert len(conversation.kept) == 2
    asked, [answer] = played(conversation.click([("three", ["c"])], True), taken("one", "two"), taken("three"))
    sent = [msgspec.msgpack.decode(ask.body)["reports"] for ask in asked]
    assert [[report["impression"] for report in reports] for reports in sent] == [["one", "two"], ["three"]]
    assert (answer.impression, len(conversation.kept)) == ("three", 0)


def test_a_worthless_report_is_left_out_by_halving_and_the_others_arrive():
    conversation = Conversation(10, 100)
    conversation.kept.add([Delivery(name, ["a"]) for name in ("one", "old", "two")])
    asked, delivered = played(conversation.flush(), EXPIRED, taken("one"), EXPIRED, EXPIRED, taken("two"))
    assert delivered
    assert [len(msgspec.msgpack.decode(ask.body)["reports"]) for ask in asked] == [3, 1, 2, 1, 1]
    assert (len(conversation.kept), conversation.kept.dropped) == (0, 1)


def test_a_refusal_that_concerns_the_caller_is_raised_and_nothing_is_lost():
    conversation = Conversation(10, 100)
    conversation.kept.add([Delivery("one", ["a"])])
    refused = Reply(403, b'{"error":{"code":"scope_missing","message":"this key may not click"}}')
    with pytest.raises(RefusedError, match="may not click"):
        played(conversation.flush(), refused)
    assert [report.impression for report in conversation.kept.take(9)] == ["one"]


def test_what_is_put_back_is_the_oldest_again_and_gives_way_first():
    kept = Kept(3)
    kept.add([Delivery(name, []) for name in "abc"])
    oldest = kept.take(2)
    kept.add([Delivery("d", [])])
    kept.put_back(oldest)
    assert ([report.impression for report in kept.take(9)], kept.dropped) == (["b", "c", "d"], 1)


def test_a_matrix_travels_as_little_endian_single_precision_row_by_row():
    body = rank_body(["a", "b"], np.array([[1, 2], [3, 4]], ">f8").T)
    assert np.frombuffer(body["matrix"], "<f4").tolist() == [1.0, 3.0, 2.0, 4.0]
    with pytest.raises(SettingsError, match=r"one row for each of 2 ids; got shape \(1, 2\)"):
        rank_body(["a", "b"], [[1.0, 2.0]])
