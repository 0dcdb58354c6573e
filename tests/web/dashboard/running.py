"""A service with its dashboard in this process, on a real port: parts of it can be stopped, and its past be made up."""

import asyncio
import threading
from contextlib import contextmanager

import httpx
import msgspec
import numpy as np
import uvicorn
from tests.patience import PATIENCE

from rankloop.learners import ROLTR
from rankloop.live.events import Kind, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.http import create_app
from rankloop.live.log import Click, Close, Control, Show, settle
from rankloop.live.ranking import Ranking, Request
from rankloop.live.service import Service, now
from rankloop.live.settings import Guards, IncomingOrder, ModelSettings, Weights
from rankloop.live.start import starting_point
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import Snapshot
from rankloop.web.dashboard import add_dashboard

MINUTE = 60_000
FEATURES = ("engine", "freshness", "price", "rating")
TASTE = np.array([0.3, 0.8, -0.4, 1.0])


class Running:
    """A started service."""

    def __init__(self, store):
        self.service = Service(store)
        self.app = create_app(self.service)
        add_dashboard(self.app)
        config = uvicorn.Config(self.app, host="127.0.0.1", port=0, log_level="warning", access_log=False)
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self):
        ready = threading.Event()
        begin = self.server.startup

        async def startup(sockets=None):
            await begin(sockets)
            self.loop = asyncio.get_running_loop()
            ready.set()

        self.server.startup = startup
        self._thread.start()
        assert ready.wait(PATIENCE), "the service did not start"
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self._thread.join(PATIENCE)

    def run(self, work):
        """Let the service's event loop do something."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)


@contextmanager
def running(address, *, prepare=lambda store: None):
    """A service on a log that was prepared."""
    store = open_store(address, serving=True)
    prepare(store)
    with Running(store) as service:
        yield service


def shop(name="shop", **settings):
    """A model that starts from the incoming order, with a control group."""
    defaults = {
        "features": FEATURES,
        "seed": 1,
        "start": IncomingOrder("engine", keeps_first=0.6, candidates=20),
        "scaling": "none",
        "guards": Guards(control=0.2),
    }
    return ModelSettings(name=name, **defaults | settings)


def outlet(name="outlet"):
    """A model that ranks against everybody's taste and learns too slowly to notice: its guard comes on."""
    start = Weights((-2.0, 0.0, 2.0, -3.0))
    return shop(name, learner=ROLTR(learning_rate=1e-6), start=start, guards=Guards(control=0.2))


def rank(service, query="red shoes", ids="abcdefgh", client=None, model="shop"):
    """Ask for a page, as a customer's search does."""
    candidates = [{"id": id, "features": [1 - place / 10, 0.5, 0.5, 0.5]} for place, id in enumerate(ids)]
    body = {"query": query, "candidates": candidates} | ({"client": client} if client else {})
    answer = httpx.post(f"{service.url}/v1/models/{model}/rank", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()


def click(service, page, clicks, *, close=True):
    """Report clicks on a page."""
    body = {"impression": page["impression"], "clicks": clicks, "close": close}
    assert httpx.post(f"{service.url}/v1/clicks", json=body, timeout=PATIENCE).status_code == 200


def make_model(store, settings, at=None):
    """A model in the log, as the service makes it, perhaps in the past."""
    at = now() if at is None else at
    with store.transaction() as transaction:
        model = transaction.create_model(settings.name, msgspec.json.encode(settings), at)
        [offset] = settle(transaction, [Control(model, Kind.CREATED, at, msgspec.json.encode(settings))])
        state = Fold(settings, starting_point(settings).weights).state()
        transaction.save_snapshot(Snapshot(model, 0, offset, at, state), expects=-1)
    return model


def make_past(store, settings, minutes, per_minute, *, seed=1, minute=MINUTE, asks=None):
    """A model with a past: every minute some people came, and the model learned from them. They like TASTE, or ask and
    like what `asks` says; `minute` is how many milliseconds one lasts, so that a past can have days."""
    began = now() - minutes * minute
    model = make_model(store, settings, began)
    fold, ranking = Fold(settings, starting_point(settings).weights), Ranking(settings)
    draw = np.random.default_rng(seed)
    saved, number = store.last_offset(), store.reserve(model, 10_000 * (1 + minutes * per_minute // 10_000))
    for passed in range(minutes):
        entries = []
        for visit in range(per_minute):
            at = began + passed * minute + visit * minute // (per_minute + 1)
            entries += _visit(model, number, at, fold, ranking, draw, *(asks or _anything)(draw))
            number += 1
        with store.transaction() as transaction:
            first = transaction.next_offset()
            settle(transaction, entries)
        events = {event.offset: event for event in store.events(first - 1, len(entries))}
        for event in events.values():
            if event.kind == Kind.CLOSED:
                fold.apply(event, events[decode(event.kind, event.body).shown])
        if passed % max(1, minutes // 40) == 0 or passed == minutes - 1:
            last, at = store.last_offset(), began + (passed + 1) * minute
            with store.transaction() as transaction:
                assert transaction.save_snapshot(Snapshot(model, fold.version, last, at, fold.state()), expects=saved)
            saved = last
    return model


def _anything(draw):
    """One of fifty queries with documents drawn anew, and how much somebody likes each."""
    X = draw.random((20, len(FEATURES))).astype(np.float32)
    X = X[np.argsort(-X[:, 0], kind="stable")]
    client = draw.bytes(16)
    request = Request(f"query {draw.integers(50)}", client, [f"doc-{i + 1}" for i in range(20)], X, 10, {})
    return request, 1 / (1 + np.exp(-4 * (X @ TASTE - 1.1)))


def _visit(model, number, at, fold, ranking, draw, request, likes):
    """One person's page, clicks and leaving, as log entries."""
    page = ranking.rank(fold.view(), request, number).impression
    clicked = np.flatnonzero(draw.random(len(page.page)) < likes[page.page] / np.arange(1, len(page.page) + 1)).tolist()
    return [
        Show(model, number, at, request.client, encode(page), len(page.page), page.group, page.displacement),
        Click(model, number, at + 500, clicked, [1.0] * len(clicked)),
        Close(model, number, at + 900, "asked"),
    ]
