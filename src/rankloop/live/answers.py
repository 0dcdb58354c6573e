"""What the service answers to rank, click and close, as types."""

import msgspec


class Ranked(msgspec.Struct, omit_defaults=True):
    """The answer to a rank request."""

    impression: str | None
    ranking: list[str]
    group: str
    version: int
    rest: list[str] | None = None
    reason: str | None = None


class Clicked(msgspec.Struct):
    """The answer to one report of clicks: how many documents met which fate."""

    impression: str
    accepted: int
    duplicate: int
    contradictory: int
    late: int
    unknown: list[str]
    closed: bool


class Closed(msgspec.Struct):
    """Whether the impression was still open, and the version of its model."""

    closed: bool
    version: int
