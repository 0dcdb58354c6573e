"""Pages and clicks survive the journey through UBI; what cannot become one of them is counted, never guessed."""

import json
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given

from rankloop.errors import DataError, SettingsError
from rankloop.ubi import (
    REWARDS,
    Click,
    EventAttributes,
    EventObject,
    Fate,
    Intake,
    Position,
    ShownPage,
    UbiEvent,
    UbiQuery,
    click_of_event,
    decode_event,
    encode,
    events_of_page,
    page_of_query,
    query_of_page,
    read_bulk,
    read_events,
    read_queries,
    write_ndjson,
)

from .strategies import NOON, sessions

PAGE = ShownPage(query_id="q1", query="lamp", documents=("a", "b", "7"), at=NOON, client="c1", model="shop@3")


def event(action="click", document="b", **fields):
    given = {"query_id": "q1", "timestamp": "2024-05-01T12:00:05Z"} | fields
    return UbiEvent(
        action_name=action,
        event_attributes=EventAttributes(object=EventObject(object_id=document), position=Position(ordinal=2)),
        **given,
    )


def shown(query_id):
    return PAGE.documents if query_id == PAGE.query_id else None


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


def test_a_page_is_one_query_and_an_event_for_every_document():
    assert json.loads(encode(query_of_page(PAGE, application="shop"))) == {
        "application": "shop",
        "query_id": "q1",
        "client_id": "c1",
        "user_query": "lamp",
        "query_attributes": {"rankloop_model": "shop@3"},
        "timestamp": "2024-05-01T12:00:00.000Z",
        "query_response_hit_ids": ["a", "b", "7"],
    }
    clicks = [Click(query_id="q1", document="b", at=NOON + timedelta(seconds=5), value=0.25)]
    *impressions, click = events_of_page(PAGE, clicks, object_id_field="sku")
    assert [(e.action_name, e.event_attributes.position.ordinal) for e in impressions] == [
        ("impression", 1), ("impression", 2), ("impression", 3),
    ]  # fmt: skip
    assert json.loads(encode(click)) == {
        "action_name": "click",
        "query_id": "q1",
        "client_id": "c1",
        "user_query": "lamp",
        "timestamp": "2024-05-01T12:00:05.000Z",
        "event_attributes": {
            "object": {"object_id": "b", "object_id_field": "sku"},
            "position": {"ordinal": 2},
            "rankloop_reward": 0.25,
        },
    }
    assert [e.action_name for e in events_of_page(PAGE, clicks, impressions=False)] == ["click"]


@pytest.mark.parametrize("click", [{"document": "z"}, {"query_id": "q2"}])
def test_a_click_on_something_else_is_not_written(click):
    wrong = Click(**({"query_id": "q1", "document": "a", "at": NOON} | click))
    with pytest.raises(DataError, match="cannot have a click"):
        list(events_of_page(PAGE, [wrong]))


def test_what_is_too_long_for_ubi_is_refused_when_written():
    page = ShownPage(query_id="q" * 101, query="", documents=("a",), at=NOON)
    with pytest.raises(DataError, match="query_id must have at most 100"):
        query_of_page(page)
    with pytest.raises(DataError, match="object_id must have at most 256"):
        list(events_of_page(ShownPage(query_id="q", query="", documents=("d" * 257,), at=NOON)))


QUERY = query_of_page(PAGE)


@pytest.mark.parametrize(
    ("fields", "fate"),
    [
        ({"query_id": None}, Fate.NO_QUERY_ID),
        ({"query_id": ""}, Fate.NO_QUERY_ID),
        ({"query_response_hit_ids": None}, Fate.NO_DOCUMENTS),
        ({"query_response_hit_ids": ()}, Fate.NO_DOCUMENTS),
        ({"query_response_hit_ids": ("a", "b", "a")}, Fate.REPEATED_DOCUMENTS),
        ({"query_response_hit_ids": ("a", "")}, Fate.REPEATED_DOCUMENTS),
        ({"timestamp": None}, Fate.NO_TIME),
    ],
)
def test_a_query_that_is_no_page_has_its_fate(fields, fate):
    given = {name: getattr(QUERY, name) for name in QUERY.__struct_fields__} | fields
    assert page_of_query(UbiQuery(**given)) == (fate, None)


def test_a_query_without_a_time_was_made_when_it_came_in():
    query = UbiQuery(user_query="lamp", query_id="q1", query_response_hit_ids=("a",), query_attributes={"x": 1})
    fate, page = page_of_query(query, received=NOON)
    assert fate is Fate.TAKEN
    assert page == ShownPage(query_id="q1", query="lamp", documents=("a",), at=NOON)


def test_a_query_sent_again_is_known_and_another_under_its_id_is_not_taken():
    intake = Intake()
    assert intake.query(QUERY) == PAGE
    assert intake.query(QUERY) is None
    assert (
        intake.query(UbiQuery(user_query="lamp", query_id="q1", query_response_hit_ids=("z",)), received=NOON) is None
    )
    assert intake.pages == {"q1": PAGE}
    assert intake.queries == {Fate.TAKEN: 1, Fate.REPEATED_QUERY: 1, Fate.REUSED_QUERY_ID: 1}


@pytest.mark.parametrize(
    ("given", "fate"),
    [
        (event("impression"), Fate.OTHER_ACTION),
        (event("view", query_id=None), Fate.OTHER_ACTION),
        (event(query_id=None), Fate.NO_QUERY_ID),
        (event(query_id=""), Fate.NO_QUERY_ID),
        (event(document=None), Fate.NO_OBJECT),
        (event(document=""), Fate.NO_OBJECT),
        (UbiEvent(action_name="click", query_id="q1", timestamp=0), Fate.NO_OBJECT),
        (event(query_id="q2"), Fate.UNKNOWN_QUERY),
        (event(document="z"), Fate.NOT_SHOWN),
        (event(document=8), Fate.NOT_SHOWN),
    ],
)
def test_an_event_that_is_no_click_has_its_fate(given, fate):
    assert click_of_event(given, shown) == (fate, None)


@pytest.mark.parametrize("action", ["click", "click_through", "add_to_cart", "purchase"])
def test_clicks_and_what_follows_them_count_in_full(action):
    assert REWARDS[action] == 1
    at = NOON + timedelta(seconds=5)
    assert click_of_event(event(action), shown) == (Fate.TAKEN, Click(query_id="q1", document="b", at=at))


def test_a_number_names_the_document_that_is_written_like_it():
    assert click_of_event(event(document=7), shown)[1].document == "7"


def test_actions_are_worth_what_the_settings_say():
    intake = Intake({"click": 0.2, "watch": 1})
    intake.query(QUERY)
    clicks = [intake.event(event(action)) for action in ("click", "watch", "purchase", "purchase")]
    assert [click and click.value for click in clicks] == [0.2, 1.0, None, None]
    assert intake.other_actions == {"purchase": 2}


@pytest.mark.parametrize("rewards", [{"click": 1.5}, {"click": -0.1}, {"click": float("nan")}, {"": 1}, ["click"]])
def test_rewards_lie_between_0_and_1(rewards):
    with pytest.raises(SettingsError, match="ubi: "):
        Intake(rewards)


@pytest.mark.parametrize(("told", "fate"), [(0.5, Fate.TAKEN), (0, Fate.TAKEN), (5, Fate.BAD_REWARD)])
def test_a_reward_that_the_event_tells_is_taken_if_it_is_one(told, fate):
    attributes = {"object": {"object_id": "a"}, "position": {"ordinal": 1}, "rankloop_reward": told}
    document = {"action_name": "click", "query_id": "q1", "timestamp": "2024-05-01T12:00:00Z"}
    found, click = click_of_event(decode_event(json.dumps(document | {"event_attributes": attributes})), shown)
    assert found is fate
    assert click is None or click.value == told


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"query_id": ""}, "query_id"),
        ({"documents": ()}, "at least one"),
        ({"documents": ("a", "a")}, "different ids"),
        ({"documents": ("a", "")}, "none of them empty"),
        ({"at": NOON.replace(tzinfo=None)}, "offset from UTC"),
    ],
)
def test_a_page_that_could_not_have_been_shown_is_refused(wrong, sentence):
    with pytest.raises(DataError, match=sentence):
        ShownPage(**({"query_id": "q", "query": "", "documents": ("a",), "at": NOON} | wrong))


@pytest.mark.parametrize(
    "wrong", [{"value": 1.1}, {"value": -0.1}, {"value": float("nan")}, {"at": NOON.replace(tzinfo=None)}]
)
def test_a_click_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(DataError, match=r"between 0 and 1|offset from UTC"):
        Click(**({"query_id": "q", "document": "a", "at": NOON} | wrong))


def test_a_bad_line_is_named_and_what_came_before_it_is_read(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_bytes(encode(event()) + b"\r\n\n" + b'{"action_name": "click"}\n')
    events = read_events(path)
    assert next(events) == event()
    with pytest.raises(DataError, match=r"events.ndjson, line 3: not a UBI 1.3 event: .*timestamp"):
        next(events)


def test_a_file_without_a_last_line_end_is_read_whole(tmp_path):
    path = tmp_path / "queries.ndjson"
    path.write_bytes(encode(QUERY) + b"\n" + encode(QUERY))
    assert list(read_queries(path)) == [QUERY, QUERY]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('{"index": {"_index": "logs"}}\n{}', "line 1: in a bulk body"),
        ('{"user_query": "a"}', "line 1: in a bulk body"),
        ("7", "line 1: in a bulk body"),
        ('{"create": {"_index": "ubi_events"}}\n{}', "line 2: not a UBI 1.3 event"),
        ('{"index": {"_index": "ubi_queries"}}\n', "none follows"),
    ],
)
def test_a_bulk_body_says_where_each_object_goes(tmp_path, body, sentence):
    path = tmp_path / "bulk.ndjson"
    path.write_text(body)
    with pytest.raises(DataError, match=sentence):
        list(read_bulk(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*nowhere\.ndjson"):
        list(read_queries(tmp_path / "nowhere.ndjson"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "queries.ndjson"
    with pytest.raises(DataError, match="cannot write"):
        write_ndjson(path, [QUERY, UbiQuery(user_query="\udc80")])
    assert list(tmp_path.iterdir()) == []
