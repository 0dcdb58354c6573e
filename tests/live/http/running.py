"""A service in this process: the real application, store and learner, spoken to by ASGI instead of a socket.

with Running(tmp_path / "log.db") as app:
    app.post("/v1/models", json={"name": "shop", "features": 2})
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

import httpx
import msgspec
from tests.patience import PATIENCE, wait_until

from rankloop.live.http import create_app
from rankloop.live.requests import Limits
from rankloop.live.service import Service
from rankloop.live.stores import open_store

MSGPACK = "application/msgpack"


class Running:
    """The application on an event loop of its own, in a thread of its own."""

    def __init__(self, path: Path, *, limits: Limits | None = None, key: str | None = None) -> None:
        self.path = path
        self.limits = limits or Limits()
        self.key = key
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Running":
        self._thread.start()
        self.run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    async def _start(self) -> None:
        self.service = Service(open_store(self.path, serving=True), limits=self.limits)
        self.app = create_app(self.service)
        await self.service.start()
        # An error that the application does not turn into an answer fails the test that caused it.
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE)

    async def _stop(self) -> None:
        await self._http.aclose()
        await self.service.stop()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of something asynchronous, run where the service runs."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def ask(self, method: str, path: str, *, key: str | None = None, **more: Any) -> httpx.Response:
        """One request; with the application's own key unless another one is given ("" is none)."""
        key = self.key if key is None else key
        headers = dict(more.pop("headers", {}))
        if key:
            headers.setdefault("authorization", f"Bearer {key}".encode("latin-1"))
        return self.run(self._http.request(method, path, headers=headers, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        """One GET."""
        return self.ask("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        """One POST."""
        return self.ask("POST", path, **more)

    def pack(self, path: str, body: Any, **more: Any) -> httpx.Response:
        """One POST as MessagePack."""
        headers = {"content-type": MSGPACK} | more.pop("headers", {})
        return self.post(path, content=msgspec.msgpack.encode(body), headers=headers, **more)

    def model(self, name: str, features: int | Iterable[str] = 2, **settings: Any) -> dict[str, Any]:
        """Make a model; what the service says about it."""
        count = features if isinstance(features, int) else list(features)
        made = self.post(
            "/v1/models", json={"name": name, "features": count, "seed": 1, "guards": {"control": 0}} | settings
        )
        assert made.status_code == 201, made.text
        return made.json()

    def rank(self, model: str, rows: dict[str, list[float]], **more: Any) -> dict[str, Any]:
        """A page for these candidates."""
        candidates = [{"id": name, "features": row} for name, row in rows.items()]
        answer = self.post(f"/v1/models/{model}/rank", json={"candidates": candidates} | more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def learn(self, model: str, rows: dict[str, list[float]], clicks: int = 1, **more: Any) -> dict[str, Any]:
        """Show a page, click its first documents, close it, and wait until it was learned from."""
        page = self.rank(model, rows, **more)
        report = {"impression": page["impression"], "clicks": page["ranking"][:clicks]}
        assert self.post("/v1/clicks", json=report).status_code == 200
        closed = self.post(f"/v1/impressions/{page['impression']}/close", json={"wait": True})
        assert closed.status_code == 200, closed.text
        return page


def everything(app: Running) -> Any:
    """All that a request could have changed: the log, and each model's state to the bit."""
    settle(app)
    store = app.service.store
    models = {model.name: store.newest_snapshot(model.id) for model in store.models()}
    served = app.service.registry.all()
    weights = {model.settings.name: model.view().model.ranker.weights.tobytes() for model in served}
    versions = {model.settings.name: model.version for model in served}
    return store.last_offset(), models, weights, versions


def settle(app: Running) -> None:
    """Wait until the learner has written down what it learned before, which it does a moment after."""
    learner = app.service.learner
    wait_until(lambda: not learner._changed & set(learner.folds()), "the learner comes to rest")
