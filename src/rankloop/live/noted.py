"""What is noted of closed pages beside what is learned from them: actions, queries, segments."""

from typing import Any

from rankloop.live.acting import Acts, KeptActs
from rankloop.live.events import Closing, Event, Impression, Late
from rankloop.live.evidence import Evidence, KeptEvidence, Seen
from rankloop.live.settings import ModelSettings


class Noted:
    """Both kinds of sums, as far as a model has them."""

    def __init__(
        self, settings: ModelSettings, acts: KeptActs | None = None, evidence: KeptEvidence | None = None
    ) -> None:
        self.acts = Acts.of(settings, acts)
        self.evidence = Evidence.of(settings, evidence)

    def kept(self) -> dict[str, Any]:
        """What a state keeps."""
        both = {"acts": self.acts, "evidence": self.evidence}
        return {name: each.kept() for name, each in both.items() if each is not None}

    def note(self, impression: Impression, shown: Event, closing: Closing, offset: int, who: int) -> None:
        """Somebody's page was closed at this place in the log; `who` is any number that is theirs alone."""
        if self.acts is not None:
            done = self.acts.counted(closing.clicks, closing.actions)
            self.acts.note(impression.group, done, closing.shown, who)
        if self.evidence is not None:
            page = Seen.of(impression, shown.client, closing.shown, offset, who)
            self.evidence.note(page, sum(closing.clicks))

    def correct(self, impression: Impression, shown: Event, late: Late, who: int) -> None:
        """More happened on a page that was closed earlier."""
        if self.acts is not None:
            before = self.acts.counted(late.before, late.actions_before)
            after = self.acts.counted(late.clicks, late.actions)
            self.acts.correct(impression.group, before, after, late.shown, who)
        if self.evidence is not None:
            page = Seen.of(impression, shown.client, late.shown, late.closed, who)
            self.evidence.correct(page, sum(late.before), sum(late.clicks))

    def begin_anew(self, offset: int) -> None:
        """Other shares of people see the orders from here on, or the order is another one: compare anew."""
        if self.acts is not None:
            self.acts.begin_anew(offset)
        if self.evidence is not None:
            self.evidence.begin_anew(offset)
