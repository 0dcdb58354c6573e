"""The service from Python: `Client`, and `AsyncClient` for asyncio. Two verbs matter, `rank` and `click`.

A search page must not depend on this service. So `rank` never fails for its sake: if it is slow, down or in trouble,
the page comes back in the incoming order, with group `fallback` and the reason. Clicks that cannot be delivered are
kept, and sent with the next click or closing; sending one twice does no harm, because the larger value counts. A
mistake of the caller's (an unknown model, a wrong number of features, a bad key) is a `RankloopError` with the
service's own sentence.

    with Client("http://127.0.0.1:8080") as search:
        page = search.rank("shop", {"a": [0.3, 1.0], "b": [0.9, 0.2]}, query="blue shoes", client="visitor-17")
        show(page.ranking)
        search.click(page.impression, ["b"])
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import httpx

from rankloop.answers import Clicked, Closed, Page
from rankloop.client.connection import Connection, reply_of, trouble_of
from rankloop.client.conversation import (
    Actions,
    Ask,
    Candidates,
    Clicks,
    Reply,
    Report,
    Talk,
    pinned_ranks,
    rank_body,
)
from rankloop.client.playing import awaits, waits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

T = TypeVar("T")


class Client(Connection):
    """A connection to a service.

    Args:
        url: where the service listens, such as `http://127.0.0.1:8080`.
        key: an API key, if the service asks for one.
        timeout: seconds that connecting, sending and the answer may take, each. The service gives up on its own store
            after 1 second and then answers in the incoming order itself, so more than that is worth waiting for.
        page_size: how many documents a fallback shows if `rank` is given no `size`.
        keep: how many reports are kept while the service is down; beyond that, the oldest are given up.

    >>> page = Client("http://127.0.0.1:1").rank("shop", {"a": [0.3], "b": [0.9]}, size=2, pinned={"b": 1})
    >>> page.ranking, page.group, page.impression
    (['b', 'a'], 'fallback', None)
    """

    _transport = httpx.Client

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Send what was kept, if that works now, and end the connections."""
        try:
            self.flush()
        finally:
            self._http.close()

    def _play(self, talk: Talk[T]) -> T:
        try:
            ask = next(talk)
            while True:
                ask = talk.send(self._exchange(ask))
        except StopIteration as done:
            result: T = done.value
            return result

    def _exchange(self, ask: Ask) -> Reply:
        try:
            return reply_of(self._http.request(**self._arguments(ask)))
        except httpx.HTTPError as error:
            return trouble_of(error)

    @waits
    def rank(
        self,
        model: str,
        candidates: Candidates,
        matrix: "ArrayLike | None" = None,
        *,
        query: str = "",
        client: str | None = None,
        network: str | None = None,
        size: int | None = None,
        pinned: Mapping[str, int] | None = None,
        rest: bool = False,
        segment: str = "",
        titles: Mapping[str, str] | None = None,
    ) -> Talk[Page]:
        """The page to show.

        Args:
            model: its name.
            candidates: `{id: features}`, features as a list or by name; or ids alone, with a matrix.
            matrix: (candidates, features): the faster way.
            query: what was searched for; kept in the log.
            client: who searches, as something stable and meaningless; the service keeps a keyed hash.
            network: where they come from, such as an address group; the same.
            size: how many to show; the model's page size by default.
            pinned: `{id: rank}`, ranks from 1, for documents that must stand there.
            rest: also return the candidates that are not on the page.
            segment: which kind of request it is, such as `phone` or `de`; evidence is kept for each.
            titles: `{id: title}`, what people read, for those who look at the dashboard.
        """
        asked: dict[str, Any] = {"query": query, "client": client, "size": size, "rest": rest}
        asked |= {"network": network} if network is not None else {}
        asked |= {"segment": segment} if segment else {}
        asked |= {"titles": dict(titles)} if titles else {}
        body = rank_body(candidates, matrix, pinned=pinned_ranks(pinned), **asked)
        return (yield from self._conversation.rank(model, body, list(candidates)))

    @waits
    def click(self, impression: str | None, clicks: Clicks, *, close: bool = False) -> Talk[Clicked | None]:
        """Report clicked ids, or how much each is worth, in [0, 1]; `close`: no more clicks will come.

        None if the page was a fallback, which nobody can learn from, or if the report is kept for later.
        """
        return (yield from self._conversation.click([(impression, clicks)], close))[0]

    @waits
    def act(self, impression: str | None, actions: Actions, *, close: bool = False) -> Talk[Clicked | None]:
        """Report what happened to documents by the names of the model's actions: `{"oak": "purchase"}`, or several as
        `{"oak": ["click", "cart"]}`. The rest as for clicks; late is fine, for a week."""
        return self._conversation.act(impression, actions, close)

    @waits
    def click_many(self, reports: Sequence[Report], *, close: bool = False) -> Talk[list[Clicked | None]]:
        """Many reports at once, as (impression, clicks)."""
        return self._conversation.click(reports, close)

    @waits
    def close(self, impression: str | None, *, wait: bool = False) -> Talk[Closed | None]:
        """End an impression, so that the model learns from it now; `wait`: return when it has.

        None for a fallback, or if the service is in trouble: then the closing is kept like a click.
        """
        return self._conversation.close(impression, wait)

    @waits
    def flush(self) -> Talk[bool]:
        """Send what was kept; True if everything has been delivered."""
        return self._conversation.flush()

    @waits
    def create_model(
        self, /, name: str, features: int | Sequence[str], *, dry_run: bool = False, **settings: Any
    ) -> Talk[dict[str, Any]]:
        """Create a model; `start` of the answer says how much it will explore. See `ModelSettings` for the settings.

        `dry_run`: only say so, and make nothing.
        """
        path = "?dry_run=true" if dry_run else ""
        return self._manage("POST", path, settings | {"name": name, "features": features})

    @waits
    def models(self) -> Talk[list[dict[str, Any]]]:
        """All models."""
        return list((yield from self._manage("GET", ""))["models"])

    @waits
    def model(self, name: str) -> Talk[dict[str, Any]]:
        """One model: settings, weights, what became of its impressions."""
        return self._manage("GET", _at(name))

    @waits
    def pause(self, name: str) -> Talk[dict[str, Any]]:
        """Stop learning; ranking, exploring and logging go on."""
        return self._manage("POST", _at(name, "pause"))

    @waits
    def resume(self, name: str) -> Talk[dict[str, Any]]:
        """Learn again."""
        return self._manage("POST", _at(name, "resume"))

    @waits
    def freeze(self, name: str) -> Talk[dict[str, Any]]:
        """Stop learning and exploring: show the model's best order."""
        return self._manage("POST", _at(name, "freeze"))

    @waits
    def freeze_scaling(self, name: str) -> Talk[dict[str, Any]]:
        """Keep running statistics as they are now, so that the model can be exported."""
        return self._manage("POST", _at(name, "freeze-scaling"))

    @waits
    def snapshots(self, name: str) -> Talk[list[dict[str, Any]]]:
        """The kept states of a model."""
        return list((yield from self._manage("GET", _at(name, "snapshots")))["snapshots"])

    @waits
    def snapshot(self, name: str, version: int) -> Talk[dict[str, Any]]:
        """A kept state, whole."""
        return self._manage("GET", _at(name, f"snapshots/{version}"))

    @waits
    def compare(self, name: str, before: int, after: int) -> Talk[dict[str, Any]]:
        """Two kept states side by side."""
        return self._manage("GET", _at(name, f"compare?from={before}&to={after}"))

    @waits
    def roll_back(self, name: str, version: int) -> Talk[dict[str, Any]]:
        """Return to a kept state; learning goes on from there."""
        return self._manage("POST", _at(name, "roll-back"), {"version": version})

    @waits
    def start_experiment(
        self, name: str, arms: Sequence[str] = ("incoming", "learned"), *, share: float = 0.1
    ) -> Talk[dict[str, Any]]:
        """Interleave orders on the pages of a share of the people: `incoming`, `learned` and names of other models."""
        return self._manage("POST", _at(name, "experiment"), {"arms": list(arms), "share": share})

    @waits
    def experiments(self, name: str) -> Talk[list[dict[str, Any]]]:
        """What a model's experiments say, the newest first."""
        return list((yield from self._manage("GET", _at(name, "experiments")))["experiments"])

    @waits
    def stop_experiment(self, name: str) -> Talk[dict[str, Any]]:
        """Interleave no more."""
        return self._manage("POST", _at(name, "experiment/stop"))

    @waits
    def actions(self, name: str) -> Talk[list[dict[str, Any]]]:
        """How often each action happened, and how the two orders compare in it."""
        return list((yield from self._manage("GET", _at(name, "actions")))["actions"])

    @waits
    def queries(self, name: str, limit: int = 50) -> Talk[dict[str, Any]]:
        """The most frequent queries, and where the learned order helps and hurts."""
        return self._manage("GET", _at(name, f"queries?limit={limit}"))

    @waits
    def segments(self, name: str) -> Talk[dict[str, Any]]:
        """The segments that requests name, and where the learned order helps and hurts."""
        return self._manage("GET", _at(name, "segments"))

    @waits
    def start_challenger(self, name: str, /, *, challenger: str | None = None, **settings: Any) -> Talk[dict[str, Any]]:
        """Another learner on a model's pages, in shadow: `learner`, `scaling`, … that differ from the model's own."""
        return self._manage("POST", _at(name, "challengers"), {"name": challenger} | settings)

    @waits
    def challengers(self, name: str) -> Talk[list[dict[str, Any]]]:
        """A model's challengers, each with a verdict."""
        return list((yield from self._manage("GET", _at(name, "challengers")))["challengers"])

    @waits
    def promote_challenger(self, name: str, challenger: str) -> Talk[dict[str, Any]]:
        """Let a challenger take the model's place."""
        return self._manage("POST", _at(name, f"challengers{_at(challenger, 'promote')}"))

    @waits
    def drop_challenger(self, name: str, challenger: str) -> Talk[dict[str, Any]]:
        """Forget a challenger."""
        return self._manage("DELETE", _at(name, f"challengers{_at(challenger)}"))

    @waits
    def alerts(self, name: str) -> Talk[list[dict[str, Any]]]:
        """What somebody should look at, those that last first."""
        return list((yield from self._manage("GET", _at(name, "alerts")))["alerts"])

    @waits
    def delete_model(self, name: str) -> Talk[dict[str, Any]]:
        """Delete a model."""
        return self._manage("DELETE", _at(name))


class AsyncClient(Connection):
    """A connection to a service, for asyncio: the methods of `Client`, to be awaited."""

    _transport = httpx.AsyncClient

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    async def disconnect(self) -> None:
        """Send what was kept, if that works now, and end the connections."""
        try:
            await self.flush()
        finally:
            await self._http.aclose()

    async def _play(self, talk: Talk[T]) -> T:
        try:
            ask = next(talk)
            while True:
                ask = talk.send(await self._exchange(ask))
        except StopIteration as done:
            result: T = done.value
            return result

    async def _exchange(self, ask: Ask) -> Reply:
        try:
            return reply_of(await self._http.request(**self._arguments(ask)))
        except httpx.HTTPError as error:
            return trouble_of(error)

    rank = awaits(Client.rank)
    click = awaits(Client.click)
    act = awaits(Client.act)
    click_many = awaits(Client.click_many)
    close = awaits(Client.close)
    flush = awaits(Client.flush)
    create_model = awaits(Client.create_model)
    models = awaits(Client.models)
    model = awaits(Client.model)
    pause = awaits(Client.pause)
    resume = awaits(Client.resume)
    freeze = awaits(Client.freeze)
    freeze_scaling = awaits(Client.freeze_scaling)
    snapshots = awaits(Client.snapshots)
    snapshot = awaits(Client.snapshot)
    compare = awaits(Client.compare)
    roll_back = awaits(Client.roll_back)
    start_experiment = awaits(Client.start_experiment)
    experiments = awaits(Client.experiments)
    stop_experiment = awaits(Client.stop_experiment)
    actions = awaits(Client.actions)
    queries = awaits(Client.queries)
    segments = awaits(Client.segments)
    start_challenger = awaits(Client.start_challenger)
    challengers = awaits(Client.challengers)
    promote_challenger = awaits(Client.promote_challenger)
    drop_challenger = awaits(Client.drop_challenger)
    alerts = awaits(Client.alerts)
    delete_model = awaits(Client.delete_model)


def _at(name: str, what: str = "") -> str:
    return f"/{quote(name, safe='')}" + (f"/{what}" if what else "")
