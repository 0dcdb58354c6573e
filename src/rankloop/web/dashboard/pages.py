"""The dashboard's addresses: all models, one model and what it has learned, its charts as JSON and CSV, the service."""

import asyncio
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rankloop.live import challenging, evidencing
from rankloop.live.acting import ActionEvidence
from rankloop.live.alerts import Alert
from rankloop.live.challengers import ChallengerReport
from rankloop.live.contrasts import queries_report, segments_report
from rankloop.live.errors import RequestError, StoreError
from rankloop.live.experimenting import experiments
from rankloop.live.experiments import ExperimentReport
from rankloop.live.http.app import Application
from rankloop.live.preparing import USUAL
from rankloop.live.registry import LiveModel
from rankloop.live.service import now
from rankloop.web.dashboard import advice, explorer, health, panels
from rankloop.web.dashboard.charts import CHARTS, Source
from rankloop.web.dashboard.deciding import DONE, OFFERED, Deciding
from rankloop.web.dashboard.formats import FILTERS
from rankloop.web.dashboard.frame import Frame, age_minutes, place_of
from rankloop.web.dashboard.history import entries
from rankloop.web.dashboard.plain_words import rate_of, settings_in_words, unit_of
from rankloop.web.dashboard.reading import EMPTY, Day, Reading
from rankloop.web.dashboard.tallied import Over, offered, reward_of
from rankloop.web.dashboard.tools import Tools
from rankloop.web.dashboard.trail import points, since
from rankloop.web.dashboard.verdict import by_experiment
from rankloop.web.site import Site
from rankloop.web.spreadsheets import csv_file

CHART_MINUTES = 180
PROBES = ("healthz", "readyz")
LATENCY_MINUTES = 15
SERVICE_CHARTS = ("latency", "errors")
ENDS = {
    False: "Very wide early intervals are cut off.",
    True: "It ends where the guard came on: too few people have seen this order since.",
}
"""What is to be said of the ends of the gain's curve, by whether its model is guarded."""
EVIDENCE = 25
"""Frequent queries that are compared on the page, at most; the API has more."""
QUERIES = 40
"""Queries to pick from, at most."""
LONGEST = 1_000
"""Characters of a query that is looked up."""


def add_dashboard(application: Application, site: Site | None = None, *, home: str = "/") -> None:
    """Add the dashboard to a service: all models at `home`, each of them at `/models/…`."""
    site = site or Site(application.pages, application.keys)
    application.recognise.append(site.recognises)
    site.filters.update(FILTERS)
    frame = Frame(application, site, home)
    _Looking(frame)
    Deciding(frame)
    Tools(frame)


class _Looking:
    """Pages that show something and change nothing."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._service = frame.service
        site = frame.site
        site.get(frame.home, self._all)
        site.get("/models", self._all)
        site.get("/service", self._machine)
        site.get("/service/charts/{file}", self._service_chart)
        site.get("/models/{model}", self._overview)
        site.get("/models/{model}/live", self._live)
        site.get("/models/{model}/queries", self._queries)
        site.get("/models/{model}/learning", self._learning)
        site.get("/models/{model}/history", self._history)
        site.get("/models/{model}/settings", self._settings)
        site.get("/models/{model}/charts/{file}", self._chart)

    # All models, and the service

    async def _all(self, request: Request) -> Response:
        days, trouble = await self._frame.readings.day()
        down = trouble is not None
        cards = [await self._card(model, days.get(model.id), down) for model in self._service.registry.all()]
        states = health.states(self._service, trouble)
        part = "hx-request" in request.headers
        return self._frame.page(
            request, "models-part.html" if part else "models.html", oob=part, title="Models", states=states,
            cards=cards, walk=self._frame.walk_through(request),
        )  # fmt: skip

    async def _card(self, model: LiveModel, day: Day | None, store_down: bool) -> panels.Card:
        """A model on the overview, which says what its own page says."""
        card = panels.card(model, day, store_down=store_down)
        # Where people are compared by a control group, an experiment is not the answer, and need not be read.
        experiment = None if model.settings.guards.compares or store_down else await self._experiment(model)
        attention = health.needs_attention(self._service, model)
        return card._replace(verdict=by_experiment(card.verdict, experiment), attention=attention)

    async def _machine(self, request: Request) -> Response:
        _, trouble = await self._frame.readings.day()
        recent = self._frame.application.metrics.recent.endpoints(now() // 60_000 - LATENCY_MINUTES)
        part = "hx-request" in request.headers
        charts = {name: _placed(name, "/service/charts", "") for name in SERVICE_CHARTS}
        return self._frame.page(
            request, "service-part.html" if part else "service.html", oob=part, title="Service",
            states=health.states(self._service, trouble),
            service=panels.answers(self._service, recent), latency_minutes=LATENCY_MINUTES, charts=charts,
        )  # fmt: skip

    # One model

    async def _overview(self, request: Request) -> Response:
        model, over = self._frame.asked(request)
        values = await self._values(request, model, over)
        done = DONE.get(request.query_params.get("done", ""), "")
        return self._frame.tab(
            request, "", "model.html", model, oob=False, done=done, charts=self._charts(model, over), **values
        )

    async def _live(self, request: Request) -> Response:
        model, over = self._frame.asked(request)
        part = "learning-live.html" if request.query_params.get("tab") == "learning" else "live.html"
        return self._frame.tab(request, "", part, model, oob=True, **await self._values(request, model, over))

    async def _values(self, request: Request, model: LiveModel, over: Over) -> dict[str, Any]:
        reading = await self._frame.readings.model(model, over)
        alerts, experiment = await self._alerts(model), await self._experiment(model)
        summary = panels.summary(self._service, model, reading, experiment)
        return {
            "over": over,
            "overs": offered(age_minutes(model)),
            "reading": reading,
            "trouble": reading.trouble,
            "read_at": reading.at,
            "summary": summary,
            "since": since(reading.trail, summary["verdict"].tone),
            "advice": advice.to_do(
                model,
                reading,
                summary["verdict"],
                summary["states"],
                alerts,
                experiment,
                found=await self._apart(model) if summary["verdict"].gain is not None else None,
                challengers=await self._challengers(model),
            ),
            "changed": advice.changed(model, reading, now()),
            "charted": bool(points(reading.trail)),
            "exploration": panels.exploration(model, reading),
            "bars": panels.weight_bars(model),
            "offered": OFFERED.get(model.view().mode, ()),
            "walk": self._frame.walk_through(request, model),
            "actions": await self._actions(model),
            "alerts": alerts,
        }

    async def _alerts(self, model: LiveModel) -> list[Alert]:
        """What lasts, but for what the states of store and learner say already."""
        known = await self._all_alerts(model)
        return [one for one in known if one.ended is None and one.kind not in ("learner", "behind")]

    async def _all_alerts(self, model: LiveModel) -> list[Alert]:
        """What lasts, and what has ended."""
        with suppress(StoreError):
            return await asyncio.to_thread(self._service.alarms.of, model)
        return []

    async def _experiment(self, model: LiveModel) -> ExperimentReport | None:
        """The one that is running, and what it says so far; most models have none, and nothing is read for them."""
        if model.view().experiment is not None:
            with suppress(StoreError):
                return next((one for one in await experiments(self._service, model) if one.stopped is None), None)
        return None

    async def _actions(self, model: LiveModel) -> list[ActionEvidence]:
        with suppress(StoreError):
            return (await evidencing.actions(self._service, model)).actions
        return []

    async def _evidence(self, model: LiveModel) -> dict[str, Any]:
        """Where the learned order helps and hurts; nothing while the store is down and nobody learns here."""
        with suppress(StoreError):
            return {
                "evidence": await evidencing.queries(self._service, model, EVIDENCE),
                "segments": await evidencing.segments(self._service, model),
            }
        return {"evidence": queries_report(None, EVIDENCE), "segments": segments_report(None)}

    async def _apart(self, model: LiveModel) -> advice.Apart:
        """What is known of single queries and segments."""
        found = await self._evidence(model)
        return advice.apart(found["evidence"], found["segments"])

    async def _challengers(self, model: LiveModel) -> list[ChallengerReport]:
        """Those that challenge the model, and what is known of them; most models have none, and nothing is read."""
        with suppress(StoreError):
            return await challenging.challengers(self._service, model)
        return []

    async def _queries(self, request: Request) -> Response:
        model, over = self._frame.asked(request)
        pages, trouble = await self._frame.readings.pages(model)
        reading = await self._frame.readings.model(model, over)
        known = explorer.asked(pages)
        query = request.query_params.get("q", "")[:LONGEST].strip()
        chosen = query or (known[0].query if known else "")
        found = explorer.explained(chosen, pages, model.settings, model.view()) if pages else None
        return self._frame.tab(
            request, "queries", "queries.html", model, query=query, known=known[:QUERIES], found=found,
            looked=len(pages), trouble=trouble, read_at=reading.at if pages else None, reading=reading, oob=False,
            **await self._evidence(model),
        )  # fmt: skip

    async def _learning(self, request: Request) -> Response:
        model, over = self._frame.asked(request)
        values = await self._values(request, model, over)
        return self._frame.tab(
            request, "learning", "learning.html", model, oob=False, charts=self._charts(model, over), **values
        )

    async def _history(self, request: Request) -> Response:
        model, over = self._frame.asked(request)
        reading = await self._frame.readings.model(model, over)
        done = DONE.get(request.query_params.get("done", ""), "")
        return self._frame.tab(
            request, "history", "history.html", model, done=done, snapshots=reading.snapshots,
            entries=entries(model, reading.decisions, reading.snapshots), offered=OFFERED.get(model.view().mode, ()),
            oob=False, trouble=reading.trouble, read_at=reading.at, alerts=await self._all_alerts(model),
            gains={one.version: one.verdict for one in reading.states},
        )  # fmt: skip

    async def _settings(self, request: Request) -> Response:
        model = self._frame.model(request)
        return self._frame.tab(request, "settings", "settings.html", model, said=settings_in_words(model.settings))

    # Charts

    def _charts(self, model: LiveModel, over: Over) -> dict[str, dict[str, Any]]:
        worth = reward_of(model.settings)
        unit, rate = unit_of(model.settings), rate_of(model.settings)
        words = {"during": over.during, "reward": worth.name if worth else "", "clicks": unit, "rate": rate}
        words |= {"Clicks": unit.capitalize(), "Rate": rate.capitalize(), "ends": ENDS[model.view().guarded]}
        address, query = f"{place_of(model)}/charts", f"?over={over.name}"
        return {
            name: _placed(name, address, query, words, over.refresh, linear=model.settings.is_linear)
            for name in CHARTS
            if (worth or name != "reward") and name not in SERVICE_CHARTS
        }

    async def _chart(self, request: Request) -> Response:
        model, over = self._frame.asked(request)
        reading = await self._frame.readings.model(model, over)
        if reading.is_unread:
            raise StoreError(f"the store is down: {reading.trouble}")
        return self._drawn(request, model.settings.name, model.settings, reading)

    async def _service_chart(self, request: Request) -> Response:
        return self._drawn(request, "service", USUAL, EMPTY, SERVICE_CHARTS)

    def _drawn(
        self, request: Request, owner: str, settings: Any, reading: Reading, among: tuple[str, ...] = tuple(CHARTS)
    ) -> Response:
        name, _, kind = request.path_params["file"].rpartition(".")
        if name not in among or kind not in ("json", "csv"):
            raise RequestError("no_such_chart", f"no such chart; choose from {', '.join(among)}")
        recent, first = self._frame.application.metrics.recent, now() // 60_000 - CHART_MINUTES
        # A probe that is told to wait has not failed: it was answered.
        asked = [endpoint for endpoint in recent.endpoints(first) if endpoint not in PROBES]
        ranked, everything = recent.minutes(first, ["rank"]), recent.minutes(first, asked)
        plot = CHARTS[name].plot(Source(settings, reading, ranked, everything))
        if kind == "json":
            return JSONResponse(plot.document(), headers={"cache-control": "no-store"})
        return csv_file(plot.table(), f"{owner}-{name}.csv")


def _placed(
    name: str, address: str, query: str, words: dict[str, str] | None = None, refresh: int = 5, *, linear: bool = True
) -> dict[str, Any]:
    """A chart as a page places it."""
    chart = CHARTS[name]
    return {
        "name": name,
        "title": chart.title.format(**words or {}),
        "caption": chart.caption.format(**words or {}),
        "empty": chart.empty if linear else chart.of_network or chart.empty,
        "json": f"{address}/{name}.json{query}",
        "csv": f"{address}/{name}.csv{query}",
        "refresh": 1000 * refresh,
    }
