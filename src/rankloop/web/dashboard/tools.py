"""Into the engine and out of it, from a page: connect, export, and replay the log with another method."""

import asyncio
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rankloop.errors import RankloopError, SettingsError
from rankloop.interchange import EXPORT_FORMATS
from rankloop.interchange.connecting import SCORE, Connection, connection_files
from rankloop.interchange.rankers import json_text
from rankloop.learners import LEARNERS
from rankloop.live.errors import RequestError
from rankloop.live.hits import score_name
from rankloop.live.http.exports import exported, file_name
from rankloop.live.registry import LiveModel
from rankloop.live.settings import ModelSettings
from rankloop.logs.replay.replaying import Options, Replayed, replay_store
from rankloop.web.dashboard.deciding import DONE
from rankloop.web.dashboard.frame import Frame, place_of

ENGINES = {"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}
FORMATS = {
    "json": "rankloop’s own JSON", "elasticsearch": "Elasticsearch", "opensearch": "OpenSearch", "solr": "Solr",
    "onnx": "ONNX",
}  # fmt: skip
MOST_PAGES = 20_000
"""A page folds the log beside live traffic: longer ones are for the command, on another machine if need be."""
FIELD = 200
"""Characters of a field that are read."""


class Job(NamedTuple):
    """A replay: what was asked, and what came of it."""

    learner: str
    task: "asyncio.Task[Replayed]"

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return not self.task.done()

    @property
    def problem(self) -> str:
        """Why there is no result, if so."""
        if self.running or self.task.cancelled() or (error := self.task.exception()) is None:
            return ""
        return str(error) if isinstance(error, RankloopError) else f"it ended with an error: {error!r}"

    @property
    def result(self) -> Replayed | None:
        """What came of it."""
        return None if self.running or self.task.cancelled() or self.task.exception() else self.task.result()


class Tools:
    """Pages for the way in and out."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._service = frame.service
        self._jobs: dict[int, Job] = {}
        """Model → its newest replay."""
        site = frame.site
        site.get("/models/{model}/connect", self._connect)
        site.get("/models/{model}/export", self._export)
        site.get("/models/{model}/export/{format}", self._download)
        site.get("/models/{model}/replay", self._replay)
        site.post("/models/{model}/replay", self._begin)

    # Connect

    async def _connect(self, request: Request) -> Response:
        model = self._frame.model(request)
        given = {name: value[: 100 * FIELD] for name, value in request.query_params.items()}
        features = given.get("features") or "\n".join(_source(name, model.settings) for name in model.settings.sent)
        engine, url = given.get("engine", ""), given.get("url") or self._frame.address(request)
        files, problem = {}, ""
        if engine:
            try:
                lines = [line.strip() for line in features.splitlines() if line.strip()]
                made = Connection.of(model.settings.name, url, lines, given.get("id_field") or "id", None)
                files = {name: (one["request"], json_text(one["body"])) for name, one in _after_model(engine, made)}
            except SettingsError as error:
                problem = str(error)
        return self._frame.tab(
            request, "settings", "connect.html", model, engines=ENGINES, engine=engine, url=url, features=features,
            id_field=given.get("id_field", "id"), files=files, problem=problem,
            walk=self._frame.walk_through(request, model), done=DONE.get(given.get("done", ""), ""),
        )  # fmt: skip

    # Export

    async def _export(self, request: Request) -> Response:
        model = self._frame.model(request)
        form, leaves, version, size, problem = request.query_params.get("format", ""), None, 0, 0, ""
        if form:
            try:
                view, leaves, content = await exported(self._service, model, _form(form))
                version, size = view.version, len(content)
            except RequestError as error:
                problem = str(error)
        return self._frame.tab(
            request, "settings", "export.html", model, formats=FORMATS, form=form, leaves=leaves, version=version,
            size=size, problem=problem,
        )  # fmt: skip

    async def _download(self, request: Request) -> Response:
        model, form = self._frame.model(request), _form(request.path_params["format"])
        view, _, content = await exported(self._service, model, form)
        name = file_name(model, view.version, form)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=EXPORT_FORMATS[form], headers=headers)

    # Replay

    async def _replay(self, request: Request) -> Response:
        model = self._frame.model(request)
        part = "hx-request" in request.headers
        names = [name for name, kind in LEARNERS.items() if not kind.needs_grades()]
        return self._frame.tab(
            request, "settings", "replay-part.html" if part else "replay.html", model, oob=part, learners=names,
            job=self._jobs.get(model.id), own=model.settings.learner.name, most=MOST_PAGES,
        )  # fmt: skip

    async def _begin(self, request: Request, fields: dict[str, str]) -> Response:
        model = self._frame.model(request)
        learner = fields.get("learner", "")
        if learner not in LEARNERS:
            raise RequestError("invalid_request", f"learner: choose one of {', '.join(LEARNERS)}")
        if any(job.running for job in self._jobs.values()):
            raise RequestError("busy", "a replay is running; wait for its end")
        own = learner == model.settings.learner.name
        task = asyncio.create_task(asyncio.to_thread(self._fold, model, None if own else learner))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._jobs[model.id] = Job(learner, task)
        return RedirectResponse(f"{place_of(model)}/replay", 303)

    def _fold(self, model: LiveModel, learner: str | None) -> Replayed:
        """In a thread, on the log as it is at one moment."""
        with self._service.store.at_one_moment() as reader:
            options = Options(model=model.settings.name, learner=learner)
            return replay_store(reader, options, most=MOST_PAGES)


def _form(text: str) -> str:
    if text not in FORMATS:
        raise RequestError("invalid_request", f"format: choose one of {', '.join(FORMATS)}")
    return text


def _source(name: str, settings: ModelSettings) -> str:
    """A feature as `rankloop connect` takes it: the engine's own score, or at first a field of the same name."""
    if name == score_name(settings):
        return name if name == SCORE else f"{name}={SCORE}"
    return f"{name}=field:{name}"


def _after_model(engine: str, made: Connection) -> list[tuple[str, Any]]:
    """The requests to the engine: the model is there already."""
    return [(name, one) for name, one in connection_files(engine, made).items() if not name.startswith("1-")]
