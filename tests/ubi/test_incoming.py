"""What cannot become a page or a click is counted, never guessed."""

import json
from datetime import timedelta

import pytest

from rankloop.errors import SettingsError
from rankloop.ubi import (
    REWARDS,
    Click,
    Fate,
    Intake,
    ShownPage,
    UbiEvent,
    UbiQuery,
    click_of_event,
    decode_event,
    page_of_query,
)

from .shown import PAGE, QUERY, event
from .strategies import NOON


def shown(query_id):
    return PAGE.documents if query_id == PAGE.query_id else None


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
