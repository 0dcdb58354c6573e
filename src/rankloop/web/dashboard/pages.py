"""The dashboard's addresses: all models, one model, its charts as JSON and CSV, and what can be decided about it."""

import asyncio
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.http.app import Application
from rankloop.live.kept import summary_of
from rankloop.live.registry import LiveModel
from rankloop.live.service import now
from rankloop.web.dashboard import health, intervals, panels
from rankloop.web.dashboard.charts import CHARTS, Source
from rankloop.web.dashboard.formats import FILTERS
from rankloop.web.dashboard.reading import Readings
from rankloop.web.dashboard.tallied import CONTROL, LEARNED, OVERS, Over, by_group, over_named, pages, reward_of
from rankloop.web.site import Site
from rankloop.web.spreadsheets import csv_file

HOST = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:]+\](:\d{1,5})?")
CHART_MINUTES = 180
LATENCY_MINUTES = 15

ACTIONS = {
    "pause": (
        "Pause learning",
        "Ranking, exploration and logging continue; pages that close in the meantime are not learned from.",
    ),
    "resume": ("Resume learning", "The model learns again, from pages that close from now on."),
    "freeze": (
        "Freeze",
        "No learning, no exploration: all but the control group see the model’s best order.",
    ),
    "roll-back": ("Roll back", "Weights, optimiser and scaling return to that version; learning continues from there."),
}
OFFERED = {"learning": ("pause", "freeze"), "paused": ("resume", "freeze"), "frozen": ("resume",)}
DONE = {
    "pause": "Learning is paused.",
    "resume": "Learning has resumed.",
    "freeze": "The model is frozen: it neither learns nor explores.",
    "roll-back": "The model has been rolled back.",
}


def add_dashboard(application: Application, site: Site | None = None, *, home: str = "/") -> None:
    """Add the dashboard to a service: all models at `home`, each of them at `/models/…`."""
    site = site or Site(application.pages, application.keys)
    application.recognise.append(site.recognises)
    _Dashboard(application, site, home)


class _Dashboard:
    """What the pages share."""

    def __init__(self, application: Application, site: Site, home: str) -> None:
        self._application = application
        self._service = application.service
        self._site = site
        self._home = home
        self._readings = Readings(application.service)
        site.filters.update(FILTERS)
        site.get(home, self._all)
        site.get("/models", self._all)
        site.get("/models/{model}", self._model)
        site.get("/models/{model}/live", self._live)
        site.get("/models/{model}/snapshots", self._snapshots)
        site.get("/models/{model}/charts/{file}", self._chart)
        site.get("/models/{model}/act/{action}", self._confirm)
        site.post("/models/{model}/act/{action}", self._act)

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        return self._site.page(request, f"dashboard/{template}", home_address=self._home, **values)

    # All models

    async def _all(self, request: Request) -> Response:
        tallies, trouble = await self._readings.day()
        rows = [self._row(model, tallies.get(model.id, [])) for model in self._service.registry.all()]
        states = [health.store_state(trouble), health.learner_state(self._service)]
        part = "hx-request" in request.headers
        return self._page(
            request, "models-part.html" if part else "models.html", oob=part, title="Models", states=states, rows=rows,
            walk=self._walk_through(request),
        )  # fmt: skip

    def _row(self, model: LiveModel, tallies: list[Any]) -> dict[str, Any]:
        groups = by_group(tallies)
        learned, control = (pages(groups.get(group, {})) for group in (LEARNED, CONTROL))
        means = [intervals.mean(group) for group in (learned, control)]
        return {
            "model": model, "mode": model.view().mode, "guarded": model.view().guarded,
            "pages": sum(pages(ranks).shown for ranks in groups.values()),
            "clicks": sum(pages(ranks).total for ranks in groups.values()),
            "learned": means[0], "control": means[1],
            "gain": learned.mean - control.mean if learned.shown and control.shown else None,
        }  # fmt: skip

    def _walk_through(self, request: Request, model: LiveModel | None = None) -> dict[str, Any]:
        """What the first requests look like, with this service's own address."""
        host = request.headers.get("host", "")
        address = f"{request.scope['scheme']}://{host}" if HOST.fullmatch(host) else "http://localhost:8080"
        return {
            "address": address,
            "keys": not self._application.keys.open,
            "name": model.settings.name if model else "shop",
            "count": len(model.settings.sent) if model else 2,
            "make": model is None,
        }

    # One model

    async def _model(self, request: Request) -> Response:
        model, over = self._asked(request)
        values = await self._values(request, model, over)
        done = DONE.get(request.query_params.get("done", ""), "")
        return self._page(request, "model.html", oob=False, done=done, charts=self._charts(model, over), **values)

    async def _live(self, request: Request) -> Response:
        model, over = self._asked(request)
        return self._page(request, "live.html", oob=True, **await self._values(request, model, over))

    async def _values(self, request: Request, model: LiveModel, over: Over) -> dict[str, Any]:
        reading = await self._readings.model(model, over)
        recent = self._application.metrics.recent.endpoints(now() // 60_000 - LATENCY_MINUTES)
        return {
            "title": model.settings.name,
            "model": model,
            "settings": model.settings,
            "over": over,
            "overs": OVERS,
            "reading": reading,
            "summary": panels.summary(self._service, model, reading),
            "exploration": panels.exploration(model, reading),
            "bars": panels.weight_bars(model),
            "service": panels.answers(self._service, recent),
            "latency_minutes": LATENCY_MINUTES,
            "offered": [(action, ACTIONS[action][0]) for action in OFFERED.get(model.view().mode, ())],
            "snapshots": reading.snapshots[: panels.SNAPSHOTS],
            "walk": self._walk_through(request, model),
        }

    def _asked(self, request: Request) -> tuple[LiveModel, Over]:
        model = self._service.registry.get(request.path_params["model"])
        return model, over_named(request.query_params.get("over"), (now() - model.created) / 60_000)

    def _charts(self, model: LiveModel, over: Over) -> dict[str, dict[str, Any]]:
        worth = reward_of(model.settings)
        words = {"during": over.during, "reward": worth.name if worth else ""}
        address = f"/models/{model.settings.name}/charts"
        return {
            name: {
                "name": name,
                "title": chart.title,
                "caption": chart.caption.format(**words),
                "empty": chart.empty if model.settings.is_linear else chart.of_network or chart.empty,
                "json": f"{address}/{name}.json?over={over.name}",
                "csv": f"{address}/{name}.csv?over={over.name}",
                "refresh": 1000 * over.refresh,
            }
            for name, chart in CHARTS.items()
            if worth or name != "reward"
        }

    async def _chart(self, request: Request) -> Response:
        model, over = self._asked(request)
        name, _, kind = request.path_params["file"].rpartition(".")
        if name not in CHARTS or kind not in ("json", "csv"):
            raise RequestError("no_such_chart", f"no such chart; choose from {', '.join(CHARTS)}")
        recent, since = self._application.metrics.recent, now() // 60_000 - CHART_MINUTES
        reading = await self._readings.model(model, over)
        plot = CHARTS[name].plot(
            Source(model.settings, reading, recent.minutes(since, ["rank"]), recent.minutes(since))
        )
        if kind == "json":
            return JSONResponse(plot.document(), headers={"cache-control": "no-store"})
        return csv_file(plot.table(), f"{model.settings.name}-{name}.csv")

    async def _snapshots(self, request: Request) -> Response:
        model, over = self._asked(request)
        reading = await self._readings.model(model, over)
        title = f"Snapshots of {model.settings.name}"
        return self._page(request, "snapshots.html", title=title, model=model, snapshots=reading.snapshots)

    # Decisions

    async def _confirm(self, request: Request) -> Response:
        model, action = self._decision(request)
        version = _version(request.query_params.get("version")) if action == "roll-back" else None
        changed = await self._changes(model, version) if version is not None else []
        label, effect = ACTIONS[action]
        return self._page(
            request, "confirm.html", title=f"{label}?", label=label, effect=effect, model=model, action=action,
            version=version, changed=changed,
        )  # fmt: skip

    async def _changes(self, model: LiveModel, version: int) -> list[tuple[str, float, float]]:
        snapshot = await asyncio.to_thread(self._service.store.snapshot, model.id, version)
        if snapshot is None:
            raise RequestError("no_such_snapshot", f"version {version} no longer has a snapshot")
        return panels.changes(model, summary_of(snapshot.state).weights)

    async def _act(self, request: Request, fields: dict[str, str]) -> Response:
        model, action = self._decision(request)
        reason = health.can_act(self._service)
        if reason:
            raise RequestError("learner_stopped", reason)
        if action == "roll-back":
            await models.roll_back(self._service, model, _version(fields.get("version")))
        else:
            await models.act(self._service, model, action)
        return RedirectResponse(f"/models/{model.settings.name}?done={action}", 303)

    def _decision(self, request: Request) -> tuple[LiveModel, str]:
        model = self._service.registry.get(request.path_params["model"])
        action = request.path_params["action"]
        if action not in ACTIONS:
            raise RequestError("no_such_action", f"unknown action {action[:40]!r}; choose from {', '.join(ACTIONS)}")
        return model, action


def _version(text: str | None) -> int:
    if not text or not text.isascii() or not text.isdigit() or len(text) > 15:
        raise RequestError("invalid_request", "version must be the number of a snapshot")
    return int(text)
