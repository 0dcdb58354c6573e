"""The lines that a service says about itself: with a time, a level and the request they are about, as text or as JSON.

What somebody else can cause as often as they like is said once a minute, with how often it happened since.
"""

import json
import logging
import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from typing import Any, Literal

Form = Literal["text", "json"]

REQUEST: ContextVar[dict[str, Any] | None] = ContextVar("request", default=None)
"""The ASGI scope of the request that is being answered."""
NAME = "rankloop.request"
ALLOWED = re.compile(rb"[A-Za-z0-9._-]{1,64}")
EVERY_SECONDS = 60.0

_numbers = count(1)


def set_up(form: Form) -> None:
    """Let all that is logged in this process go to standard error in this form."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def request_id() -> str | None:
    """What the request is called that is being answered: by its header x-request-id, or else by a number."""
    scope = REQUEST.get()
    if scope is None:
        return None
    if NAME not in scope:
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        scope[NAME] = given.decode() if ALLOWED.fullmatch(given) else str(next(_numbers))
    return str(scope[NAME])


class TextLines(logging.Formatter):
    """One line each: time, level, logger, request if there is one, message."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        name = request_id()
        about = f" [{name}]" if name else ""
        line = f"{_time(record)} {record.levelname} {record.name}{about} {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One object each, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name}
        if name := request_id():
            line["request"] = name
        line["message"] = record.getMessage()
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{moment}.{int(record.msecs):03d}Z"


class Sparing:
    """Says each kind of thing once a minute at most, with how often it happened since it was last said.

    >>> Sparing(logging.getLogger("shop")).say("busy", "too many requests")
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._said: dict[str, float] = {}
        self._more: dict[str, int] = {}

    def say(self, kind: str, sentence: str) -> None:
        """Say it, unless it was said within the last minute: then it is counted."""
        now = self._clock()
        if now - self._said.get(kind, -EVERY_SECONDS) < EVERY_SECONDS:
            self._more[kind] = self._more.get(kind, 0) + 1
            return
        self._said[kind] = now
        more = self._more.pop(kind, 0)
        self._log.warning("%s%s", sentence, f" ({more:,} more since this was last said)" if more else "")
