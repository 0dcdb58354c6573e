"""A crowd of simulated visitors, sent through the public API, and what becomes of the rankings meanwhile.

Each visitor searches with the model and, as if for the first time, with the rival, where there is one. One comes after
the other, and each lesson is waited for: so a crowd of some size does the same whenever it is sent, and the same as a
simulation would.
"""

import asyncio
from collections import deque
from typing import NamedTuple

import numpy as np

from rankloop.errors import RankloopError
from rankloop.web.demo.comparison import LOOKS, Comparison, Rules
from rankloop.web.demo.engine import Engine, engine_order
from rankloop.web.demo.tastes import Taste, taste_of
from rankloop.web.demo.visitors import HELD_OUT, VISITED, Visitors, plausible_queries

EVERY = 20
"""Visits between two measurements."""
MOST_WAITING = 20_000
"""Visitors that may be on their way at a time."""
ATTEMPTS = 4
"""How often a visitor who got the engine's order, because the service was in trouble, comes again."""
FIRST_TASTE = "explorers"
LATEST = 4
"""Visits that are remembered, for a page to tell of."""


class Point(NamedTuple):
    """nDCG@10 on held-out queries, for the taste of the visitors at that time, after so many visits."""

    visits: int
    taste: str
    model: float
    engine: float
    rival: float | None = None


class Visit(NamedTuple):
    """What one visitor did on the model's page: the first result they clicked and its rank, or none and 0."""

    number: int
    query: str
    clicked: str | None
    rank: int


class Crowd:
    """Visitors of one taste at a time.

    Args:
        comparison: the learners that they teach.
        engine: what they search with.
        seed: every visit is a function of it and the visit's number.
    """

    def __init__(self, comparison: Comparison, engine: Engine, seed: int) -> None:
        self._comparison = comparison
        self._engine = engine
        self._seed = seed
        self._visitors: Visitors | None = None
        self._task: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()
        self.taste = taste_of(FIRST_TASTE)
        self.visits = 0
        self.sent = 0
        self.looks = 0
        self.returned = 0
        """How often somebody had to come again: each time the service skips a number, and later pages differ."""
        self.trouble = ""
        self.points: list[Point] = []
        self.latest: deque[Visit] = deque(maxlen=LATEST)

    @property
    def running(self) -> bool:
        """Whether visitors are on their way."""
        return self._task is not None and not self._task.done()

    @property
    def newly_wanted(self) -> bool:
        """Whether nobody has come yet who wants what visitors want now, but others have."""
        earlier = [point.taste for point in self.points if point.visits < self.visits]
        return bool(earlier) and earlier[-1] != self.taste.name

    async def begin(self, rules: Rules) -> None:
        """Start over: new models, nobody has visited, the taste stays."""
        async with self._changing:
            await self._halt()
            self.visits = self.sent = self.returned = self.looks = 0
            self.trouble = ""
            self.points.clear()
            self.latest.clear()
            await self._comparison.begin(rules)
            await self._look_around()
            await self._choose(self.taste)

    async def _look_around(self) -> None:
        """Let the model see what searches find, without a click: it learns how much features vary, and nothing else."""
        for query in await asyncio.to_thread(plausible_queries, self._engine, VISITED + HELD_OUT):
            if self.looks == LOOKS:
                break
            shown = await self._comparison.show(self._engine.search(query), "nobody")
            if shown.impression is not None:
                await self._comparison.teach(shown, [])
                self.looks += 1

    async def switch(self, name: str) -> None:
        """From now on visitors have this taste; those on their way, too."""
        taste = taste_of(name)
        async with self._changing:
            if taste != self.taste:
                await self._choose(taste)

    async def send(self, count: int) -> None:
        """Let so many visitors come, after those who are on their way, and after any change that is being made."""
        async with self._changing:
            if self.sent + count - self.visits > MOST_WAITING:
                raise RankloopError(f"at most {MOST_WAITING:,} visitors can wait; try again later")
            self.trouble = ""
            self.sent += count
            if not self.running:
                self._task = asyncio.create_task(self._visit_all())

    async def stop(self) -> None:
        """Send home those who have not visited yet."""
        async with self._changing:
            await self._halt()

    async def _halt(self) -> None:
        self.sent = self.visits
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _choose(self, taste: Taste) -> None:
        visitors = await asyncio.to_thread(_ready_visitors, self._engine, taste, self._seed)
        self.taste, self._visitors = taste, visitors
        await self._measure()

    async def _visit_all(self) -> None:
        try:
            while self.visits < self.sent:
                visitors, number = self._current(), self.visits
                models = self._comparison.rules.learners
                first, *_ = await asyncio.gather(*(self._search(visitors, number, model) for model in models))
                self.latest.append(first)
                self.visits += 1
                if self.visits % EVERY == 0 or self.visits == self.sent:
                    await self._measure()
        except RankloopError as error:
            self.trouble = f"Visitors stopped: {error}"
            self.sent = self.visits

    async def _search(self, visitors: Visitors, number: int, model: str) -> Visit:
        query = visitors.query(number)
        candidates = self._engine.search(query)
        shown = await self._comparison.show(candidates, f"visitor-{number}", model)
        for attempt in range(ATTEMPTS):
            if shown.impression is not None:
                break
            # A fallback: the store was slow for a moment. This visitor comes again a little later.
            self.returned += 1
            await asyncio.sleep(0.2 * (attempt + 1))
            shown = await self._comparison.show(candidates, f"visitor-{number}", model)
        clicks = visitors.clicks(number, query, shown.ranking)
        clicked = [id for id, click in zip(shown.ranking, clicks, strict=True) if click]
        await self._comparison.teach(shown, clicked)
        first = clicked[0] if clicked else None
        return Visit(number, query, first, shown.ranking.index(first) + 1 if first else 0)

    async def _measure(self) -> None:
        visitors, visits = self._current(), self.visits
        model, *rival = await asyncio.gather(*map(self._comparison.belief, self._comparison.rules.learners))
        weights = [model.weights, engine_order(), *(each.weights for each in rival)]
        values = np.asarray(await asyncio.to_thread(visitors.ndcg, np.stack(weights)))
        if visitors is not self._visitors or (self.points and visits < self.points[-1].visits):
            return  # the taste changed, or somebody else measured, in between
        self.points.append(Point(visits, visitors.taste.name, *(float(value) for value in values)))

    def _current(self) -> Visitors:
        if self._visitors is None:
            raise RankloopError("the demo has not started yet; open its first page")
        return self._visitors


def _ready_visitors(engine: Engine, taste: Taste, seed: int) -> Visitors:
    """Visitors who have thought of their queries and know what they like: that takes a moment."""
    visitors = Visitors(engine, taste, seed)
    visitors.ndcg(engine_order())
    return visitors
