"""Everything that one look at a model needs from the store, read at once, off the event loop, and at most once a second
however many people look. If the store does not answer, the last reading stands in, and says so."""

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.live.course import Point
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import FOLDED, Event
from rankloop.live.guard import Guard
from rankloop.live.kept import course_of, guard_of, looks_of, summary_of
from rankloop.live.looks import Looks
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service, now
from rankloop.live.start import Report, starting_point
from rankloop.live.stores.rows import Snapshot, Tally
from rankloop.web.dashboard.examination import believed
from rankloop.web.dashboard.recent import Page, Shown, newest, newest_pages
from rankloop.web.dashboard.tallied import Groups, Over, Times, by_group, by_time, step_of
from rankloop.web.dashboard.trail import Known, followed, known_at
from rankloop.web.dashboard.verdict import Verdict, judged, sure_of, unsure

FRESH = 0.9
"""Seconds for which a reading is new enough."""
PATIENCE = 1.5
"""Seconds after which a page is shown without what the store was asked."""
RECENT = 12
DECISIONS = 30
LOOKED = 200
"""Pages that single queries are looked up in."""
YOUNG = 180
"""Minutes of age up to which a model's day is drawn by the minute."""
HISTORY = 60
"""States that the history of the weights is drawn from, at most."""
DAY = 1440


class Reading(NamedTuple):
    """What the store said about a model."""

    step: int
    """Minutes that each of `times` stands for."""
    times: Times
    """The stretch of time asked for, step by step."""
    groups: Groups
    """The same, all together."""
    ever: Groups
    """Since the model was made."""
    open: int
    snapshots: list[Snapshot]
    history: list[tuple[Snapshot, NDArray[np.float64]]]
    """States with their weights, oldest first."""
    recent: list[Shown]
    trail: list[Known]
    """What was known of its gain as pages came, oldest first."""
    states: list[Known]
    """The same, at each kept state."""
    decisions: list[Event]
    """What people decided about it, newest first."""
    waiting_since: int | None
    """When the oldest thing happened that the model has not taken in; None: it is up to date."""
    start: Report | None
    """What was promised of its exploration when the model was made."""
    looks: Looks | None = None
    """What its pages say about how people look, as the newest snapshot has it."""
    guard: Guard | None = None
    """Its comparison with the control group, from there too."""
    believed: NDArray[np.float64] | None = None
    """What the model takes examination to be."""
    unsure: str | None = None
    """What the model does not know yet."""
    sure: NDArray[np.bool_] | None = None
    """Of which weights it knows the direction; None if its method does not say."""
    at: int | None = None
    """When this was read, in milliseconds since 1970; None: it never was."""
    trouble: str | None = None
    """Why this is not from now."""

    @property
    def is_unread(self) -> bool:
        """Whether nothing is known of the model, as the store has not answered once: then nothing is said of it."""
        return self.at is None and self.trouble is not None


class Day(NamedTuple):
    """A model over the last 24 hours, for the overview."""

    span: int
    """Minutes that each tally stands for: one for a model that is younger than a few hours."""
    tallies: list[Tally]
    verdict: Verdict
    ever: Groups
    """Since it was made, of a model that is guarded: what that has cost is not known from its newest comparison."""


EMPTY = Reading(1, {}, {}, {}, 0, [], [], [], [], [], [], None, None)


Counts = tuple[Looks | None, Guard | None, Sequence[Point]]


class Readings:
    """Reads, and remembers for a moment."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: dict[Hashable, tuple[float, Any]] = {}
        self._asking: dict[Hashable, asyncio.Task[Any]] = {}
        self._weights: dict[tuple[int, int], NDArray[np.float64]] = {}
        self._starts: dict[int, Report | None] = {}
        self._trails: dict[tuple[int, int], Known] = {}
        self._counted: dict[int, tuple[int, Looks | None, Guard | None, Sequence[Point]]] = {}

    async def model(self, model: LiveModel, over: Over) -> Reading:
        """A model over a stretch of time."""
        reading, trouble = await self._ask((model.id, over.name), lambda: self._read(model, over))
        return (reading or EMPTY)._replace(trouble=trouble)

    async def day(self) -> tuple[dict[int, Day], str | None]:
        """The last 24 hours of whole pages, of every model, and what its newest kept state says about its gain."""
        reading, trouble = await self._ask("day", self._read_day)
        return reading or {}, trouble

    async def pages(self, model: LiveModel) -> tuple[list[Page], str | None]:
        """The newest pages with all that was on them, for whoever looks at single queries."""
        read = lambda: newest(self._service.store, model.id, LOOKED)  # noqa: E731
        reading, trouble = await self._ask(("pages", model.id), read)
        return reading or [], trouble

    def renew(self) -> None:
        """Something was decided: whoever looks next sees it. What is known still stands in while the store is down."""
        self._known = {key: (-1e9, known) for key, (_, known) in self._known.items()}

    async def _ask(self, key: Hashable, read: Callable[[], Any]) -> tuple[Any, str | None]:
        """What is known, read again if it is not fresh; and why it could not be read."""
        read_at, known = self._known.get(key, (-1e9, None))
        if time.monotonic() - read_at < FRESH:
            return known, None
        if key not in self._asking:
            # One asks for all who look: a store that hangs must not be asked again by every page.
            self._asking[key] = asyncio.create_task(asyncio.to_thread(read))
            self._asking[key].add_done_callback(lambda task: self._answered(key, task))
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.shield(self._asking[key]), None
        except TimeoutError:
            return known, f"no response for {PATIENCE:g} s"
        except StoreError as error:
            return known, str(error)

    def _answered(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        del self._asking[key]
        if not task.cancelled() and task.exception() is None:
            self._known.pop(key, None)
            self._known[key] = time.monotonic(), task.result()
            if len(self._known) > 100:
                del self._known[next(iter(self._known))]

    # In a thread

    def _read(self, model: LiveModel, over: Over) -> Reading:
        store, minute = self._service.store, now() // 60_000
        # By the clock's own hours and days: a part of one at the beginning would be a part of the truth.
        first = 0 if over.minutes is None else minute - over.minutes
        first += -first % over.span
        days = store.tallies(model.id, span=DAY)
        tallies = days if over.span == DAY else store.tallies(model.id, first, span=over.span)
        step = step_of(tallies, over)
        snapshots = store.snapshots(model.id)
        view = model.view()
        belief = believed(model.settings, view.model)
        looks, guard, course = self._newest_counts(model, snapshots)
        states = self._states(model, snapshots)
        waiting = store.events(view.offset, 1, kinds=FOLDED, model=model.id)
        return Reading(
            step=step,
            times=by_time(tallies, step),
            groups=by_group(tallies),
            ever=by_group(days),
            open=store.open_count(model.id),
            snapshots=snapshots,
            history=self._history(model, snapshots, first),
            recent=newest_pages(store, model.id, model.settings, RECENT, belief),
            trail=followed(states, course),
            states=states,
            decisions=store.decisions(model.id, DECISIONS),
            waiting_since=waiting[0].at if waiting else None,
            start=self._start(model),
            looks=looks,
            guard=guard,
            believed=belief,
            unsure=unsure(model.settings, view.model),
            sure=sure_of(model.settings, view.model),
            at=now(),
        )

    def _newest_counts(self, model: LiveModel, snapshots: list[Snapshot]) -> Counts:
        """From the newest snapshot, which is read when there is a new one."""
        if not snapshots or not (model.settings.swaps or model.settings.guards.compares):
            return None, None, ()
        newest = snapshots[0]
        if self._counted.get(model.id, (-1,))[0] != newest.offset:
            whole = self._service.store.snapshot(model.id, newest.version)
            looks, guard, course = None, None, []
            with suppress(StateError):
                if whole:
                    looks, guard = looks_of(model.settings, whole.state), guard_of(whole.state)
                    course = course_of(whole.state).points
            self._counted[model.id] = newest.offset, looks, guard, course
        return self._counted[model.id][1:]

    def _read_day(self) -> dict[int, Day]:
        store, minute, kept = self._service.store, now() // 60_000, self._service.store.newest_versions()
        days = {}
        for model in self._service.registry.all():
            span = 1 if minute - model.created // 60_000 < YOUNG else 60
            first = minute - DAY
            tallies = store.tallies(model.id, first + -first % span, span=span, rank=0)
            newest = [Snapshot(model.id, *kept[model.id], 0, b"")] if model.id in kept else []
            guard = self._newest_counts(model, newest)[1] or Guard()
            ever = by_group(store.tallies(model.id, span=DAY, rank=0)) if model.view().guarded else {}
            days[model.id] = Day(span, tallies, judged(model.settings, guard), ever)
        return days

    def _history(
        self, model: LiveModel, snapshots: list[Snapshot], first: int
    ) -> list[tuple[Snapshot, NDArray[np.float64]]]:
        """Weights of the states since a minute, and of the last one before it; evenly chosen if there are many.

        Of a network there are none to be drawn: no weight is a feature's alone.
        """
        if not model.settings.is_linear:
            return []
        within = [s for s in snapshots if s.at >= first * 60_000]
        chosen = (within + snapshots[len(within) : len(within) + 1])[::-1]
        if len(chosen) > HISTORY:
            chosen = [chosen[place] for place in np.linspace(0, len(chosen) - 1, HISTORY).astype(int)]
        history = []
        for snapshot in chosen:
            key = model.id, snapshot.version
            if key not in self._weights:
                whole = self._service.store.snapshot(*key)
                if whole is None:
                    continue
                try:
                    self._weights[key] = summary_of(whole.state).weights
                except StateError:
                    continue
                if len(self._weights) > 5 * HISTORY:
                    del self._weights[next(iter(self._weights))]
            history.append((snapshot, self._weights[key]))
        return history

    def _states(self, model: LiveModel, snapshots: list[Snapshot]) -> list[Known]:
        """What the kept states say about the gain, over the model's whole life; evenly chosen if there are many."""
        guards = model.settings.guards
        if not guards.compares:
            return []
        chosen = snapshots[::-1]
        if len(chosen) > HISTORY:
            chosen = [chosen[place] for place in np.linspace(0, len(chosen) - 1, HISTORY).astype(int)]
        trail = []
        for snapshot in chosen:
            key = model.id, snapshot.version
            if key not in self._trails:
                whole = self._service.store.snapshot(*key)
                if whole is None:
                    continue
                try:
                    self._trails[key] = known_at(snapshot.at, snapshot.version, guard_of(whole.state), guards)
                except StateError:
                    continue
                if len(self._trails) > 20 * HISTORY:
                    del self._trails[next(iter(self._trails))]
            trail.append(self._trails[key])
        return trail

    def _start(self, model: LiveModel) -> Report | None:
        if model.id not in self._starts:
            try:
                self._starts[model.id] = starting_point(model.settings)
            except SettingsError:
                self._starts[model.id] = None
        return self._starts[model.id]


def keeps_first(pages: list[Shown]) -> float | None:
    """Mean probability, over the newest learned pages, that what scored best was first."""
    known = [page.keeps_first for page in pages if page.keeps_first is not None]
    return sum(known) / len(known) if known else None
