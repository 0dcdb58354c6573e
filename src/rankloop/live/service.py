"""The service, free of HTTP: rank, click, close, and what is needed to keep them going.

Every answer that promises something (an impression, a click, a closing) is given after its log entry is durable. What
goes wrong with the store costs the caller the learning, never the page: it then comes in the order it came in.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from rankloop.answers import Clicked, Closed, Ranked
from rankloop.live import alarming
from rankloop.live.alarming import Alarms
from rankloop.live.at_hand import Find, PagesAtHand, closed_page, open_page
from rankloop.live.clients import NETWORK, client_hash, client_salt
from rankloop.live.errors import RequestError, StoreError
from rankloop.live.events import Group, Kind, now
from rankloop.live.fold import Fold
from rankloop.live.learning import Learner
from rankloop.live.log import Click, Close, Entry, Fate, Show
from rankloop.live.preparing import Preparation
from rankloop.live.ranking import Request, incoming_order
from rankloop.live.registry import LiveModel, Registry
from rankloop.live.repeating import repeat
from rankloop.live.requests import (
    Acted,
    ClickBody,
    Limits,
    RankBody,
    acted,
    check_actions,
    check_reports,
    checked_request,
)
from rankloop.live.settings import ModelSettings
from rankloop.live.steering import EVERY_SECONDS, Steering
from rankloop.live.stores.contract import Store
from rankloop.live.tokens import Token, current_signer
from rankloop.live.webhook import Webhook
from rankloop.live.writer import Acknowledged, Writer, deliver

NOTHING = "there was nothing to rank"
PATIENCE = 1.0
"""Seconds that a page waits for the store before it goes out in the incoming order."""
GRACE = 7 * 86_400_000
"""Milliseconds after its window in which a click is still answered as late; then its impression id has expired."""
SWEEP_SECONDS, LOOK_SECONDS = 0.5, 1.0
"""How often windows that are over are closed, and how often a process looks what others did to a log in a file."""
SWEEP = 500
MANY = 50_000
"""Features of a page from which on it is checked beside the event loop."""
CACHED_BYTES = 64 << 20
"""Of pages kept at hand for clicks."""


class Service:
    """A store, its writer, its learner, and the models that are served from it."""

    def __init__(
        self, store: Store, *, limits: Limits | None = None, learn: bool = True, webhook: Webhook | None = None
    ) -> None:
        self.store = store
        self.limits = limits or Limits()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.started = now()
        self._salt = client_salt(store)
        self._shown = PagesAtHand(CACHED_BYTES)
        self._unseen: set[tuple[int, int]] = set()
        """Pages that may be in the log though nobody was shown them: to be closed as void."""
        self._signer = current_signer(store)
        self.registry = Registry(store)
        self.learner = Learner(store, self.registry.publish, now) if learn else None
        self.steering = Steering(store)
        self.webhook = webhook
        self.alarms = Alarms(self, webhook.tell if webhook else lambda alert: None)
        self._loop: asyncio.AbstractEventLoop | None = None
        wake = self.learner.wake if self.learner else lambda: None
        self._writer = Writer(store, committed=wake, delivery=self._deliver)
        self._tasks: list[asyncio.Task[None]] = []
        self.preparation = Preparation(self.registry)
        self._refreshed = 0
        self.refreshers: list[Callable[[], None]] = []
        """Called every second or two, off the event loop, to notice what other processes did."""

    async def start(self) -> None:
        """Load the models, begin to learn, and close what nobody else closes."""
        self._loop = asyncio.get_running_loop()
        self.registry.start(self._loop)
        if self.learner:
            self.learner.start()
        often = 0.1 if self.store.shared else LOOK_SECONDS
        self._tasks = [
            self.preparation.begin(),
            asyncio.create_task(repeat(self._sweep, SWEEP_SECONDS, "windows that are over were not closed")),
            asyncio.create_task(repeat(self._refresh, often, "what other processes did was not noticed")),
            asyncio.create_task(repeat(self._look, EVERY_SECONDS, "nobody looked for clients who steer")),
            asyncio.create_task(repeat(self._alarm, alarming.EVERY_SECONDS, "nobody looked for alerts")),
        ]
        if self.webhook:
            self._tasks.append(asyncio.create_task(self.webhook.run()))

    async def stop(self) -> None:
        """Write what waits, keep what was learned, and end."""
        self.steering.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._void(self._unseen)
        await asyncio.to_thread(self._writer.stop)
        if self.learner:
            await asyncio.to_thread(self.learner.stop)
        self.registry.stop()
        await asyncio.to_thread(self.store.close)

    # Rank

    async def rank(self, name: str, body: RankBody) -> Ranked:
        """The page to show, on disk before it is returned."""
        model = self.registry.get(name)
        if model.settings.challenges is not None:
            raise model.in_shadow()
        if [] in (body.candidates, body.ids) and None in (body.candidates, body.ids):
            # A search without results is nobody's mistake: an empty page, of which there is nothing to learn.
            return Ranked(None, [], "fallback", model.version, [] if body.rest else None, NOTHING)
        network = self.hash_client(NETWORK + body.network) if body.network else b""
        known = body, model.settings, self.limits, self.hash_client(body.client), network
        if len(body.candidates or ()) * len(model.settings.names) > MANY:
            request = await asyncio.to_thread(checked_request, *known)
        else:
            request = checked_request(*known)
        try:
            if not model.prepared.is_set():
                await model.until_prepared(PATIENCE)
            number = await model.next_number(PATIENCE)
            # Nothing is awaited from here to the page: state, settings and ranking are of one moment.
            view = model.require_whole()
            rivals = self.registry.rivals(model, view)
            ranked = model.ranking.rank(view, request, number, rest=body.rest, rivals=rivals)
            at = now()
            show = Show.of(
                model.id, number, at, request.client, ranked.impression, has_actions=model.settings.has_actions
            )
            [offset] = await self.append(show)
            if offset is None:
                raise model.gone()
        except StoreError as error:
            return self._fallback(model, request, body, str(error))
        shown = ranked.impression.shown()
        self._shown.keep((model.id, number), shown)
        group = Group(ranked.impression.group).name.lower()
        self.counts["impressions", group] += 1
        return Ranked(
            impression=self._signer.sign(model.id, number, at),
            ranking=shown,
            group=group,
            version=view.version,
            rest=[request.candidates[document] for document in ranked.rest] if body.rest else None,
        )

    def _fallback(self, model: LiveModel, request: Request, body: RankBody, why: str) -> Ranked:
        """The incoming order, with the reason; it cannot be logged, so it has no impression id and teaches nothing."""
        page = incoming_order(request)
        shown = set(page)
        rest = [name for place, name in enumerate(request.candidates) if place not in shown]
        self.counts["impressions", "fallback"] += 1
        return Ranked(
            impression=None,
            ranking=[request.candidates[document] for document in page],
            group="fallback",
            version=model.version,
            rest=rest if body.rest else None,
            reason=why,
        )

    async def append(self, *entries: Entry) -> Any:
        """The entries' acknowledgements, or a StoreError within `PATIENCE`. What is given up on is taken back."""
        if not entries:
            return []
        loop = asyncio.get_running_loop()
        future = self._writer.append_all(entries, loop.create_future())
        timer = loop.call_later(PATIENCE, _give_up, future)
        try:
            return await future
        except (TimeoutError, StoreError) as error:
            # It may reach the log all the same (later, or in a commit whose end was not heard of), but nobody will see
            # that page: it must not be learned from.
            unseen = [(entry.model, entry.number) for entry in entries if isinstance(entry, Show)]
            self._unseen.update(unseen)
            if isinstance(error, StoreError):
                raise
            self._void(unseen)
            raise StoreError(f"the store did not respond within {PATIENCE:g} s") from None
        finally:
            timer.cancel()

    def _void(self, unseen: Iterable[tuple[int, int]]) -> None:
        """Ask for pages to be closed without being learned from; those that are not in the log stay out of it."""
        loop = asyncio.get_running_loop()
        for page in unseen:
            self._writer.append(Close(*page, now(), "void"), loop.create_future())

    def _deliver(self, acknowledged: Acknowledged) -> None:
        """From the writer's thread to the event loop, a whole transaction at once."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(deliver, acknowledged)

    # Click and close

    async def click(self, reports: Sequence[ClickBody]) -> list[Clicked]:
        """What became of each report; refused as a whole if one names an impression that this service never gave."""
        check_reports(reports, self.limits)
        tokens = [await self.verify(report.impression, place) for place, report in enumerate(reports)]
        unknown: list[list[str]] = []
        entries: list[Entry] = []
        for place, (report, token) in enumerate(zip(reports, tokens, strict=True)):
            settings = (await self.registry.by_id(token.model, PATIENCE)).settings
            try:
                check_actions(report, settings.actions)
            except RequestError as error:
                raise RequestError(error.code, f"report {place}: {error}") from None
            # A closed page may be gone already; what is reported of it is kept as late, without ranks.
            shown = await self._page(token, closed=settings.has_actions and report.count > 0)
            said = acted(report, shown, settings.actions) if shown is not None else Acted([], [], [], [])
            entries.append(Click(token.model, token.number, now(), said.ranks, said.values, said.actions))
            if report.close:
                entries.append(self._closing(token))
            unknown.append(said.unknown)
        results = iter(await self.append(*entries))
        return [self._clicked(report, results, strange) for report, strange in zip(reports, unknown, strict=True)]

    def _clicked(self, report: ClickBody, results: Iterator[Any], unknown: list[str]) -> Clicked:
        fate: Fate = next(results)
        if fate.closed:
            fate = fate._replace(late=report.count - len(unknown))
        for word in ("accepted", "duplicate", "contradictory", "late"):
            self.counts["clicks", word] += getattr(fate, word)
        self.counts["clicks", "unknown"] += len(unknown)
        closed = report.close and next(results) is not None
        fates = fate.accepted, fate.duplicate, fate.contradictory, fate.late
        return Clicked(report.impression, *fates, unknown, closed, fate.taken_late)

    async def close(self, impression: str, *, wait: bool = False) -> Closed:
        """End an impression; with `wait`, after the model has learned from it."""
        token = await self.verify(impression)
        [offset] = await self.append(self._closing(token))
        model = await self.registry.by_id(token.model, PATIENCE)
        if wait and offset is not None:
            if self.learner:
                self.learner.hurry()
            await model.applied(offset)
        return Closed(offset is not None, model.version)

    def _closing(self, token: Token) -> Close:
        self._shown.forget((token.model, token.number))
        return Close(token.model, token.number, now(), "asked")

    async def verify(self, impression: str, place: int | None = None) -> Token:
        """What a signed id says; a page that was closed long ago has no valid id any more."""
        try:
            token = self._signer.verify(impression)
            model = await self.registry.by_id(token.model, PATIENCE)
            if now() - token.at > model.settings.window * 1000 + GRACE:
                raise RequestError("impression_expired", "impression: it was shown too long ago to be clicked")
        except RequestError as error:
            self.counts["clicks", "refused"] += 1
            if place is None:
                raise
            raise RequestError(error.code, f"report {place}: {error}") from None
        return token

    async def page(self, impression: str) -> tuple[ModelSettings, list[str] | None]:
        """The model and the documents of the page behind an impression id; None if it was closed, and what comes late
        does not count. Refused if it is not ours."""
        token = await self.verify(impression)
        settings = (await self.registry.by_id(token.model, PATIENCE)).settings
        return settings, await self._page(token, closed=settings.has_actions)

    def impression_id(self, model: int, number: int, at: int) -> str:
        """The id that was given to an impression, computed again."""
        return self._signer.sign(model, number, at)

    async def _page(self, token: Token, *, closed: bool = False) -> list[str] | None:
        """The documents of a page that is still open; None if it was closed, unless it is looked for among those."""
        shown = self._shown.get((token.model, token.number))
        if shown is None:
            shown = await self._asked(open_page, token)
            if shown is not None:
                self._shown.keep((token.model, token.number), shown)
        return await self._asked(closed_page, token) if shown is None and closed else shown

    async def _asked(self, find: Find, token: Token) -> list[str] | None:
        """What the store says of a page, or a StoreError within `PATIENCE`."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(find, self.store, token.model, token.number), PATIENCE)
        except TimeoutError:
            raise StoreError(f"the store did not respond within {PATIENCE:g} s") from None

    # Upkeep

    def trouble(self) -> list[str]:
        """What is wrong at the moment, in sentences, known without asking the store; nothing if all is well."""
        troubles = [] if self.preparation.is_done else self.preparation.unprepared()
        if trouble := self._writer.trouble():
            troubles.append(f"store: {trouble}")
        if self.learner and not self.learner.alive:
            troubles.append("learner: it has stopped; ranking goes on with the last state")
        elif self.learner and self.learner.error:
            troubles.append(f"learner: {self.learner.error}")
        return troubles

    def is_store_in_trouble(self) -> bool:
        """Whether nothing can be written at the moment."""
        return self._writer.trouble() is not None

    def damaged(self) -> list[str]:
        """Models whose kept state cannot be read, in sentences: their pages go out in the incoming order."""
        return [model.damage for model in self.registry.all() if model.damage]

    def folds(self) -> dict[int, Fold]:
        """The states that this process is learning, by model."""
        return self.learner.folds() if self.learner else {}

    def lag(self) -> dict[int, int]:
        """How many events the learner here has yet to fold, by model."""
        # Once: the learner goes on meanwhile, and folds with it.
        folded = {model: (fold.offset, fold.settings.challenges) for model, fold in self.folds().items()}
        unfolded = {offset: self.store.unfolded(offset) for offset in {offset for offset, _ in folded.values()}}
        numbers = {model.settings.name: model.id for model in self.registry.all()}
        return {
            model: unfolded[offset].get(numbers.get(challenged or "", model), 0)
            for model, (offset, challenged) in folded.items()
        }

    def hash_client(self, client: str | None) -> bytes:
        """A keyed hash: enough to recognise and to forget somebody, not to know who it is."""
        return client_hash(client, self._salt) if client else b""

    async def _sweep(self) -> None:
        """Close what has waited longer than its model's window. Only the process that learns a model does this."""
        self._writer.watch()
        await self._close_unseen()
        for model in self.registry.all():
            if model.id in self.folds():
                await self._close_due(model)

    async def _look(self) -> None:
        """Does somebody steer? Only the process that learns a model looks."""
        await asyncio.to_thread(self.steering.look, [m for m in self.registry.all() if m.id in self.folds()])

    async def _alarm(self) -> None:
        """What should somebody look at? Only the process that learns a model tells."""
        await asyncio.to_thread(self.alarms.look)

    async def _close_unseen(self) -> None:
        while self._unseen:
            some = list(islice(self._unseen, SWEEP))
            await self.append(*(Close(*page, now(), "void") for page in some))
            self._unseen.difference_update(some)

    async def _close_due(self, model: LiveModel) -> None:
        while True:
            before = now() - int(model.settings.window * 1000)
            due = await asyncio.to_thread(self.store.due, model.id, before, SWEEP)
            await self.append(*(Close(row.model, row.number, now(), "window") for row in due))
            for row in due:
                self._shown.forget((row.model, row.number))
            if len(due) < SWEEP:
                return

    async def _refresh(self) -> None:
        """Notice what other processes did: new models, new states, rotated secrets, keys made and revoked."""
        await asyncio.to_thread(self.registry.refresh)
        self.preparation.begin()
        self._refreshed += 1
        if self._refreshed % 10 == 0 or not self.store.shared:
            self._signer = await asyncio.to_thread(current_signer, self.store)
            for refresh in self.refreshers:
                await asyncio.to_thread(refresh)


def _give_up(future: "asyncio.Future[Any]") -> None:
    if not future.done():
        future.set_exception(TimeoutError())


__all__ = ["Clicked", "Kind", "Ranked", "Service", "now"]
