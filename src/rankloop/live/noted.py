"""What is noted of closed pages beside what is learned from them: actions, queries, segments, the gain's course."""

from typing import Any

from rankloop.live.acting import Acts, KeptActs
from rankloop.live.course import Course, KeptCourse
from rankloop.live.events import Closing, Event, Impression, Late
from rankloop.live.evidence import Evidence, KeptEvidence, Seen
from rankloop.live.guard import Guard
from rankloop.live.settings import ModelSettings


class Noted:
    """Each of them, as far as a model has it."""

    def __init__(
        self,
        settings: ModelSettings,
        acts: KeptActs | None = None,
        evidence: KeptEvidence | None = None,
        course: KeptCourse | None = None,
    ) -> None:
        self.acts = Acts.of(settings, acts)
        self.evidence = Evidence.of(settings, evidence)
        self.course = Course.of(settings, course)

    def kept(self) -> dict[str, Any]:
        """What a state keeps."""
        all_kept = {"acts": self.acts, "evidence": self.evidence, "course": self.course}
        return {name: each.kept() for name, each in all_kept.items() if each is not None}

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

    def follow(self, guard: Guard, at: int, version: int) -> None:
        """The guard has taken in a page, or was told to begin anew."""
        if self.course is not None:
            self.course.follow(guard, at, version)
