"""What the service answers to rank, click and close, as types: the service writes them and the client reads them."""

import msgspec


class Page(msgspec.Struct):
    """What to show.

    Attributes:
        impression: report clicks with it; None on a page that the service does not know.
        ranking: ids, best first.
        group: `learned`, or the incoming order: `control`, to compare with; `guarded`, because the learned one is
            worse; `fallback`, because the service is in trouble.
        version: of the model that ranked, the number of its updates; −1 if the service did not answer.
        rest: the other candidates, best first, if they were asked for.
        reason: why it is a fallback.
    """

    impression: str | None
    ranking: list[str]
    group: str
    version: int
    rest: list[str] | None = None
    reason: str | None = None


class Ranked(Page, omit_defaults=True):
    """The answer to a rank request."""


class Clicked(msgspec.Struct, omit_defaults=True):
    """The answer to one report of clicks: how many documents met which fate.

    `taken_late` is how many of the late ones count all the same, where a model tells actions apart.
    """

    impression: str
    accepted: int
    duplicate: int
    contradictory: int
    late: int
    unknown: list[str]
    closed: bool
    taken_late: int = 0


class Closed(msgspec.Struct):
    """Whether the impression was still open, and the version of its model."""

    closed: bool
    version: int
