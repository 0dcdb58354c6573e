"""Lines with a time, a level and a request; and once a minute for what somebody else can cause at will."""

import json
import logging
import re

import pytest

from rankloop.live import log_lines
from rankloop.live.log_lines import EVERY_SECONDS, REQUEST, JsonLines, Sparing, TextLines

from .http.running import Running


def record(message="the disk is full", **more):
    return logging.LogRecord("rankloop.store", logging.WARNING, __file__, 1, message, (), None, **more)


def test_a_line_has_a_time_a_level_and_where_it_is_from():
    line = TextLines().format(record())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z WARNING rankloop.store the disk is full", line)
    told = json.loads(JsonLines().format(record()))
    assert (told["level"], told["logger"], told["message"]) == ("warning", "rankloop.store", "the disk is full")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z", told["time"])
    assert "request" not in told


@pytest.mark.parametrize(
    ("given", "name"), [(b"a1-b2.c3_", "a1-b2.c3_"), (b"two\nlines", r"\d+"), (b"x" * 65, r"\d+"), (None, r"\d+")]
)
def test_a_line_names_its_request_as_the_proxy_did_or_by_a_number(given, name):
    token = REQUEST.set({"headers": [(b"x-request-id", given)] if given else []})
    try:
        first, second = (json.loads(JsonLines().format(record()))["request"] for _ in range(2))
        assert re.fullmatch(name, first)
        assert first == second
        assert f" [{first}] " in TextLines().format(record())
    finally:
        REQUEST.reset(token)


def test_an_exception_is_part_of_its_line():
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        raised = record()
        raised.exc_info = (type(error), error, error.__traceback__)
    line = JsonLines().format(raised)
    assert "\n" not in line
    assert "ZeroDivisionError" in json.loads(line)["exception"]


def test_a_kind_is_said_once_a_minute_with_how_often_it_happened_since(caplog):
    time = [0.0]
    sparing = Sparing(logging.getLogger("rankloop.http"), lambda: time[0])
    for moment in (0.0, 1.0, 59.9):
        time[0] = moment
        sparing.say("busy", "too many")
        sparing.say(f"other {moment}", "another")
    time[0] = EVERY_SECONDS
    sparing.say("busy", "too many")
    said = [message for message in caplog.messages if message.startswith("too many")]
    assert said == ["too many", "too many (2 more since this was last said)"]
    assert caplog.messages.count("another") == 3


def test_refusals_are_told_by_kind_once_and_never_with_what_was_sent(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("rankloop.live.http.calls.sparing", Sparing(logging.getLogger("rankloop.http")))
    with Running(tmp_path / "log.db") as service:
        for name in ("secret-1", "secret-2", "secret-3"):
            assert service.post(f"/v1/models/{name}/rank", json={"candidates": []}).status_code == 404
        assert service.post("/v1/clicks", content=b"{").status_code == 400
    assert [m for m in caplog.messages if "refused" in m] == [
        "a request was refused: no_such_model",
        "a request was refused: malformed_body",
    ]
    assert "secret" not in caplog.text


def test_all_that_is_logged_takes_the_chosen_form(capsys):
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        log_lines.set_up("json")
        logging.getLogger("another.library").error("something is %s", "wrong")
    finally:
        root.handlers[:], root.level = before
    assert json.loads(capsys.readouterr().err)["message"] == "something is wrong"
