"""UBI 1.3 is read and written as the standard says."""

import json
from datetime import UTC, datetime

import jsonschema
import pytest
from hypothesis import given

from rankloop.errors import DataError
from rankloop.ubi import (
    EventAttributes,
    EventObject,
    Position,
    UbiEvent,
    UbiQuery,
    decode_event,
    decode_events,
    decode_queries,
    decode_query,
    encode,
    events_of_page,
    instant,
    query_of_page,
    stamp,
)

from .strategies import sessions, times


def validator(rules):
    """Made once: whether rules are rules takes longer to say than whether a document follows them."""
    kind = jsonschema.validators.validator_for(rules)
    kind.check_schema(rules)
    return kind(rules, format_checker=jsonschema.FormatChecker())


# The rules of the 1.3.0 schemas in short: types, required fields, lengths. Alternatives that overlap are merged.
NAME = {"type": "string", "maxLength": 100}
TIME = {"type": "string", "format": "date-time"}
IDENTITY = {"anyOf": [{"type": "string", "maxLength": 256}, {"type": "integer"}]}
QUERY_RULES = {
    "type": "object",
    "required": ["user_query"],
    "properties": {
        **dict.fromkeys(["application", "query_id", "client_id", "object_id_field"], NAME),
        "user_query": {"type": "string"},
        "query_attributes": {"type": "object"},
        "timestamp": TIME,
        "query_response_id": {"type": "string"},
        "query_response_hit_ids": {"type": "array", "items": {"type": "string"}},
    },
}
EVENT_RULES = {
    "type": "object",
    "required": ["action_name", "timestamp"],
    "properties": {
        **dict.fromkeys(["application", "action_name", "query_id", "session_id", "client_id", "user_id"], NAME),
        "message_type": NAME,
        "message": {"type": "string", "maxLength": 1024},
        "user_query": {"type": "string"},
        "timestamp": TIME,
        "event_attributes": {
            "type": "object",
            "required": ["position"],
            "properties": {
                "object": {
                    "type": "object",
                    "required": ["object_id"],
                    "properties": {
                        "object_id": IDENTITY,
                        "internal_id": IDENTITY,
                        "object_id_type": NAME,
                        "object_id_field": NAME,
                    },
                },
                "position": {
                    "type": "object",
                    "oneOf": [
                        {"properties": {"ordinal": {"type": "integer"}}, "required": ["ordinal"]},
                        {
                            "properties": {
                                "xy": {
                                    "type": "object",
                                    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
                                    "required": ["x", "y"],
                                }
                            },
                            "required": ["xy"],
                        },
                    ],
                },
            },
        },
    },
}

QUERY = {
    "application": "primary-search",
    "query_id": "00112233-4455-6677-8899-aabbccddeeff",
    "client_id": "BugsBunny::Firefox@0967084",
    "user_query": "laptop",
    "query_attributes": {"experiment": "b", "page": 1, "filters": ["ssd"]},
    "object_id_field": "sku",
    "timestamp": "2018-11-13T20:20:39+00:00",
    "query_response_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
    "query_response_hit_ids": ["B07XLFYN6S", "B013UFPODY", "B07SHS91DQ"],
}
EVENT = {
    "application": "primary-search",
    "action_name": "click",
    "query_id": "1234-user-5678",
    "session_id": "84266fdbd31d4c2c6d0665f7e8380fa3",
    "client_id": "quepid-nightly-bot",
    "user_id": "u-1",
    "timestamp": "2018-11-13T20:20:39Z",
    "message_type": "CONVERSION",
    "message": "clicked",
    "user_query": "laptop",
    "event_attributes": {
        "object": {
            "object_id": "ISBN 0-061-96436-0",
            "object_id_type": "product",
            "object_id_field": "isbn",
            "internal_id": 123456,
        },
        "position": {"ordinal": 3},
    },
}


QUERIES, EVENTS = validator(QUERY_RULES), validator(EVENT_RULES)


def test_a_query_with_every_field_comes_back_as_it_was():
    QUERIES.validate(QUERY)
    assert json.loads(encode(decode_query(json.dumps(QUERY)))) == QUERY


@pytest.mark.parametrize("position", [{"ordinal": 3}, {"xy": {"x": 1.5, "y": 20.0}}])
def test_an_event_with_every_field_comes_back_as_it_was(position):
    event = EVENT | {"event_attributes": EVENT["event_attributes"] | {"position": position}}
    EVENTS.validate(event)
    assert json.loads(encode(decode_event(json.dumps(event)))) == event


def test_the_smallest_query_and_event_are_enough():
    assert decode_query('{"user_query": ""}') == UbiQuery(user_query="")
    assert decode_event('{"action_name": "login", "timestamp": "2024-01-01T00:00:00Z"}').event_attributes is None


def test_fields_beyond_the_schema_are_allowed_everywhere():
    event = json.loads(json.dumps(EVENT)) | {"site_id": "s", "extra_info": [1]}
    event["event_attributes"] |= {"browser": {"language": "de"}}
    event["event_attributes"]["object"] |= {"description": "a book"}
    event["event_attributes"]["position"] |= {"scroll_depth": 20}
    assert decode_event(json.dumps(event)) == decode_event(json.dumps(EVENT))
    assert decode_query(json.dumps(QUERY | {"indexes": ["shop"]})) == decode_query(json.dumps(QUERY))


def test_what_the_standards_own_clients_send_is_read():
    """ubi.js sends no position and empty texts, the data generator nulls, the engine's plugin milliseconds."""
    event = decode_event(
        json.dumps(
            EVENT
            | {"user_id": "", "message": None, "message_type": None, "timestamp": 1542140439000}
            | {"event_attributes": {"object": {"object_id": "a", "object_id_field": "sku", "description": None}}}
        )
    )
    assert event.message is None
    assert event.at == datetime(2018, 11, 13, 20, 20, 39, tzinfo=UTC)
    assert event.event_attributes.position is None
    with pytest.raises(DataError, match="timestamp is written as text"):
        encode(event)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"action_name": None}, r"Expected `str`, got `null` - at `\$.action_name`"),
        ({"action_name": "a" * 101}, "action_name must have at most 100 characters; got 101"),
        ({"message": "a" * 1025}, "message must have at most 1024 characters; got 1025"),
        ({"session_id": 7}, r"\$.session_id"),
        ({"timestamp": "yesterday"}, "timestamp must be a time such as '2018-11-13T20:20:39Z'; got 'yesterday'"),
        ({"timestamp": "2018-11-13"}, "timestamp must be a time"),
        ({"timestamp": "2018-02-30T00:00:00Z"}, "timestamp must be a time"),
        ({"timestamp": 10**30}, "timestamp|int"),
        ({"timestamp": True}, r"\$.timestamp"),
        ({"event_attributes": []}, r"\$.event_attributes"),
        ({"event_attributes": {"object": {"object_id": "a" * 257}}}, "object_id must have at most 256 characters"),
        ({"event_attributes": {"object": {"object_id": 1.5}}}, r"\$.event_attributes.object.object_id"),
        ({"event_attributes": {"position": {"ordinal": "first"}}}, r"\$.event_attributes.position.ordinal"),
        ({"event_attributes": {"position": {"xy": {"x": 1}}}}, "missing required field `y`"),
    ],
)
def test_an_event_that_breaks_the_schema_is_refused_with_the_place(change, sentence):
    with pytest.raises(DataError, match=f"not a UBI 1.3 event: .*({sentence})"):
        decode_event(json.dumps(EVENT | change))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"user_query": None}, "user_query"),
        ({"query_id": "q" * 101}, "query_id must have at most 100 characters; got 101"),
        ({"query_attributes": "page=1"}, r"\$.query_attributes"),
        ({"query_response_hit_ids": ["a", 7]}, r"\$.query_response_hit_ids\[1\]"),
        ({"timestamp": ""}, "timestamp must be a time"),
    ],
)
def test_a_query_that_breaks_the_schema_is_refused_with_the_place(change, sentence):
    with pytest.raises(DataError, match=f"not a UBI 1.3 query: .*{sentence}"):
        decode_query(json.dumps(QUERY | change))


@pytest.mark.parametrize("body", [b"", b"{", b"7", b"null", b"\xff", b'"q"', b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body):
    for decode in (decode_query, decode_event, decode_queries, decode_events):
        with pytest.raises(DataError, match=r"not a UBI 1\.3"):
            decode(body)


def test_clients_send_one_or_a_list():
    one, several = json.dumps(EVENT), f"  [{json.dumps(EVENT)}, {json.dumps(EVENT)}]"
    assert decode_events(one) == [decode_event(one)]
    assert decode_events(several.encode()) == [decode_event(one)] * 2
    assert decode_queries(json.dumps([QUERY])) == [decode_query(json.dumps(QUERY))]
    assert decode_events("[]") == []
    with pytest.raises(DataError, match=r"\$\[1\]"):
        decode_events(f"[{one}, {{}}]")


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        (EventAttributes(), "need a position"),
        (EventAttributes(position=Position()), "either an ordinal or xy"),
        (EventAttributes(object=EventObject(), position=Position(ordinal=1)), "needs an object_id"),
    ],
)
def test_what_the_schema_refuses_is_not_written(attributes, sentence):
    event = UbiEvent(action_name="click", timestamp="2024-01-01T00:00:00Z", event_attributes=attributes)
    with pytest.raises(DataError, match=sentence):
        encode(event)


def test_what_json_cannot_hold_is_not_written():
    with pytest.raises(DataError, match="cannot write"):
        encode(UbiQuery(user_query="\udc80"))
    with pytest.raises(DataError, match="cannot write"):
        encode(UbiQuery(user_query="a", query_attributes={"x": object()}))
    with pytest.raises(DataError, match="written as text"):
        encode(UbiQuery(user_query="a", timestamp=0))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2018-11-13T20:20:39+00:00", "2018-11-13T20:20:39+00:00"),
        ("2018-11-13T20:20:39Z", "2018-11-13T20:20:39+00:00"),
        ("2018-11-13T20:20:39", "2018-11-13T20:20:39+00:00"),
        ("2018-11-13T20:20:39.250+0100", "2018-11-13T19:20:39.250000+00:00"),
    ],
)
def test_times_of_the_standard_and_of_the_plugin_are_understood(written, meant):
    assert instant(written).isoformat() == meant


@given(times)
def test_a_time_comes_back_to_the_microsecond_and_names_its_offset(at):
    assert instant(stamp(at)) == at
    assert stamp(at).endswith("Z")
    assert len(stamp(at)) >= len("2018-11-13T20:20:39.000Z")
    with pytest.raises(DataError, match="offset from UTC"):
        stamp(at.replace(tzinfo=None))


@pytest.mark.slow
@given(sessions())
def test_what_is_written_conforms(found):
    for page, clicks in found:
        QUERIES.validate(json.loads(encode(query_of_page(page, application="shop", object_id_field="sku"))))
        for event in events_of_page(page, clicks, application="shop", object_id_field="sku"):
            EVENTS.validate(json.loads(encode(event)))
