"""What people did, action by action: how often, how often late, and how the two orders compare in each.

A document's value is that of the most valuable thing that happened to it, and that is what is learned from. Here every
action is counted by itself, once for each document of a page. Sums are those of the guard: by part of the people, of
whom none decides, since the place in the log where the guard last came on, went off or was told to begin anew.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from rankloop.live.events import Group
from rankloop.live.guard import FEWEST, LEAST, People, Sums, compared
from rankloop.live.settings import CLICK, ModelSettings
from rankloop.statistics.sequential import PARTS

LEARNED, INCOMING = 0, 1
"""The two orders that are compared."""
UNCONTROLLED = "nothing to compare with, because the model has no control group"


def side_of(group: int) -> int | None:
    """Whose order a page had; None for pages that are held against none."""
    return {Group.LEARNED: LEARNED, Group.CONTROL: INCOMING, Group.GUARDED: INCOMING}.get(Group(group))


class KeptActs(msgspec.Struct):
    """The counts, as states keep them."""

    since: int
    counts: list[int]
    late: list[int]
    people: bytes


class Acts:
    """Counts of each action, and sums of how many a page had, by action, order and part of the people."""

    def __init__(self, actions: Sequence[str], kept: KeptActs | None = None) -> None:
        self.names = tuple(actions)
        self.since = kept.since if kept else 0
        self.counts = list(kept.counts) if kept else [0] * len(self.names)
        """Documents to which it happened, on whatever page."""
        self.late = list(kept.late) if kept else [0] * len(self.names)
        """Those of them to which it happened after their page was closed."""
        self.people = np.zeros((len(self.names), 2, 3, PARTS))
        if kept:
            self.people[:] = np.frombuffer(kept.people).reshape(self.people.shape)

    @classmethod
    def of(cls, settings: ModelSettings, kept: KeptActs | None = None) -> "Acts | None":
        """None where nothing is counted: of older models whose only action is a click."""
        return cls(tuple(settings.actions), kept) if settings.evidence or settings.has_actions else None

    def kept(self) -> KeptActs:
        """What a state keeps."""
        return KeptActs(self.since, self.counts, self.late, self.people.tobytes())

    def counted(self, clicks: Sequence[float], actions: Sequence[int]) -> list[int]:
        """How many of a page's documents met each action.

        >>> Acts(["click", "purchase"]).counted([0.2, 1.0], [1, 3])
        [2, 1]
        """
        if actions:
            return [sum(done >> place & 1 for done in actions) for place in range(len(self.names))]
        return [sum(value > 0 for value in clicks) if name == CLICK else 0 for name in self.names]

    def note(self, group: int, done: Sequence[int], shown: int, who: int) -> None:
        """Somebody's page was closed, with so many of each action; `who` is any number that is theirs alone."""
        side = side_of(group) if shown > self.since else None
        for place, count in enumerate(done):
            self.counts[place] += count
            if side is not None:
                self.people[place, side, :, who % PARTS] += (1.0, count, count * count)

    def correct(self, group: int, before: Sequence[int], after: Sequence[int], shown: int, who: int) -> None:
        """More happened on a page that was closed earlier."""
        side = side_of(group) if shown > self.since else None
        for place, (known, now) in enumerate(zip(before, after, strict=True)):
            self.counts[place] += now - known
            self.late[place] += now - known
            if side is not None:
                self.people[place, side, :, who % PARTS] += (0.0, now - known, now * now - known * known)

    def begin_anew(self, offset: int) -> None:
        """The learned order is another one from here on, or other people see it; what was counted stays counted."""
        self.since = offset
        self.people[:] = 0.0


# What is said about them


class Rate(msgspec.Struct):
    """Pages of one order, and the mean of what is counted on a page; null without a page."""

    pages: float
    per_page: float | None


class ActionEvidence(msgspec.Struct):
    """One action: its value, how often it happened, how often late, and the two orders against each other.

    `ratio` is learned / incoming with its 95 % confidence sequence, and `sure` is how sure one is of a difference: all
    of it at any time, however often one looks. Null where there is too little to say.
    """

    name: str
    value: float
    count: int
    late: int
    learned: Rate
    incoming: Rate
    ratio: float | None
    low: float | None
    high: float | None
    sure: float | None
    sentence: str


class ActionsReport(msgspec.Struct):
    """All actions of a model, in the order in which its settings name them."""

    actions: list[ActionEvidence]


def report(settings: ModelSettings, acts: Acts | None) -> ActionsReport:
    """What is known of each action."""
    known = acts or Acts(tuple(settings.actions))
    return ActionsReport(
        [
            _evidence_of(known, place, name, value, controlled=settings.guards.control > 0)
            for place, (name, value) in enumerate(settings.actions.items())
        ]
    )


def _evidence_of(acts: Acts, place: int, name: str, value: float, *, controlled: bool) -> ActionEvidence:
    sides = [People.of(sums) for sums in acts.people[place]]
    learned, incoming = (rate_of(people) for people in sides)
    ratio = low = high = sure = None
    if min(learned.pages, incoming.pages) < LEAST or min(people.parts for people in sides) < FEWEST:
        sentence = f"{name}: {'too few pages of both orders yet to compare them' if controlled else UNCONTROLLED}"
    elif incoming.per_page == 0:
        sentence = f"{name}: none in the incoming order yet to compare with"
    else:
        found = compared(Sums(), Sums(), *sides)
        ratio, low, high = found.ratio()
        sure = found.sure
        high = high if np.isfinite(high) else None
        most = "any" if high is None else _change(high)
        sentence = f"{name}: {_change(ratio)} per page ({_change(low)} to {most})"
    count, late = acts.counts[place], acts.late[place]
    return ActionEvidence(name, value, count, late, learned, incoming, ratio, low, high, sure, sentence)


def rate_of(people: People) -> Rate:
    """Pages of one order, as they were counted, and what a page has on average."""
    pages, total = float(people.sums[0].sum()), float(people.sums[1].sum())
    return Rate(pages, total / pages if pages else None)


def _change(ratio: float) -> str:
    """
    >>> _change(1.12), _change(0.97)
    ('+12 %', '−3 %')
    """
    return f"{100 * (ratio - 1):+.0f} %".replace("-", "−")
