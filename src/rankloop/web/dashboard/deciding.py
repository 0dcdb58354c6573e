"""What can be decided on a page: make a model, pause, resume, freeze, roll back, start and stop an experiment.

Each form calls what the API calls, asks before anything changes that people would see, and leaves an event in the log
with the name of the key that was used.
"""

import asyncio
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rankloop.learners import LEARNERS
from rankloop.live import challenging, experimenting, models
from rankloop.live.challengers import ChallengerReport, free_name
from rankloop.live.errors import RequestError, StateError, StoreError
from rankloop.live.experiments import INCOMING, LEARNED, ExperimentReport
from rankloop.live.http.statuses import status_of
from rankloop.live.kept import summary_of
from rankloop.live.registry import LiveModel
from rankloop.web.dashboard import health, panels
from rankloop.web.dashboard.frame import Frame, place_of
from rankloop.web.dashboard.history import arm_name
from rankloop.web.dashboard.making import FIELDS, challenger_of, experiment_of, model_of

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
    "roll-back": (
        "Roll back",
        "Weights, optimiser and scaling return to that version, and learning continues from there. The comparison with "
        "the engine’s order starts over, so it will take a while to know whether the model helps.",
    ),
}
OFFERED = {
    mode: [(action, ACTIONS[action][0]) for action in actions]
    for mode, actions in {
        "learning": ("pause", "freeze"),
        "paused": ("resume", "freeze"),
        "frozen": ("resume",),
    }.items()
}
CHALLENGER_ACTIONS = {
    "promote": (
        "Promote",
        "{name} takes the model’s place, with its settings and all that it has learned. Earlier states are kept, so "
        "you can roll back.",
    ),
    "drop": ("Drop", "{name} and what it has learned are forgotten; an experiment that it is part of ends."),
}
DONE = {
    "challenger": "The challenger learns from now on, in shadow: nobody sees its pages.",
    "promote": "The challenger is the model now.",
    "drop": "The challenger has been dropped.",
    "pause": "Learning is paused.",
    "resume": "Learning has resumed.",
    "freeze": "The model is frozen: it neither learns nor explores.",
    "roll-back": "The model has been rolled back.",
    "new": "The model has been created. Send it pages to rank.",
    "experiment": "The experiment has started.",
    "stopped": "The experiment has been stopped.",
}


class Deciding:
    """Forms, and what becomes of them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._service = frame.service
        site = frame.site
        site.get("/new", self._new)
        site.post("/new", self._make)
        site.get("/models/{model}/act/{action}", self._confirm)
        site.post("/models/{model}/act/{action}", self._act)
        site.get("/models/{model}/experiments", self._experiments)
        site.post("/models/{model}/experiments", self._start)
        site.post("/models/{model}/experiments/stop", self._stop)
        site.post("/models/{model}/challengers", self._challenge)
        site.get("/models/{model}/challengers/{challenger}/{action}", self._sure_of)
        site.post("/models/{model}/challengers/{challenger}/{action}", self._settle)

    # A new model

    async def _new(self, request: Request) -> Response:
        return self._form(request, FIELDS)

    def _form(self, request: Request, fields: dict[str, str], problem: str = "", status: int = 200) -> Response:
        return self._frame.page(
            request, "new.html", title="New model", fields=FIELDS | fields, problem=problem, status=status,
            walk=self._frame.walk_through(request),
        )  # fmt: skip

    async def _make(self, request: Request, fields: dict[str, str]) -> Response:
        try:
            settings = model_of(fields)
            await models.create_model(self._service, settings)
        except RequestError as error:
            # The form as it was: nobody types twelve features again because of one letter.
            known = {name: fields[name] for name in FIELDS if name in fields}
            return self._form(request, known, str(error), status_of(error))
        model = self._service.registry.get(settings.name)
        self._frame.readings.renew()
        return RedirectResponse(f"{place_of(model)}/connect?done=new", 303)

    # Actions

    async def _confirm(self, request: Request) -> Response:
        model, action = self._decision(request)
        version = version_of(request.query_params.get("version")) if action == "roll-back" else None
        changed = await self._changes(model, version) if version is not None else []
        label, effect = ACTIONS[action]
        return self._frame.page(
            request, "confirm.html", title=f"{label}?", label=label, effect=effect, model=model, action=action,
            version=version, changed=changed, place=place_of(model), target=f"{place_of(model)}/act/{action}",
        )  # fmt: skip

    async def _changes(self, model: LiveModel, version: int) -> list[tuple[str, float, float]]:
        snapshot = await asyncio.to_thread(self._service.store.snapshot, model.id, version)
        if snapshot is None:
            raise RequestError("no_such_snapshot", f"version {version} no longer has a snapshot")
        return panels.changes(model, summary_of(snapshot.state).weights)

    async def _act(self, request: Request, fields: dict[str, str]) -> Response:
        model, action = self._decision(request)
        self._require_effect()
        if action == "roll-back":
            await models.roll_back(self._service, model, version_of(fields.get("version")))
        else:
            await models.act(self._service, model, action)
        self._frame.readings.renew()
        return RedirectResponse(f"{place_of(model)}?done={action}", 303)

    def _require_effect(self) -> None:
        reason = health.can_act(self._service)
        if reason:
            raise RequestError("learner_stopped", reason)

    def _decision(self, request: Request) -> tuple[LiveModel, str]:
        model = self._frame.model(request)
        action = request.path_params["action"]
        if action not in ACTIONS:
            raise RequestError("no_such_action", f"unknown action {action[:40]!r}; choose from {', '.join(ACTIONS)}")
        return model, action

    # Experiments

    async def _experiments(self, request: Request) -> Response:
        model, trouble = self._frame.model(request), None
        part = "hx-request" in request.headers
        reports: list[ExperimentReport] = []
        challengers: list[ChallengerReport] = []
        try:
            reports = await experimenting.experiments(self._service, model)
            challengers = [] if part else await challenging.challengers(self._service, model)
        except StateError:
            raise
        except StoreError as error:
            trouble = str(error)
        return self._frame.tab(
            request, "experiments", "experiments-part.html" if part else "experiments.html", model, oob=part,
            reports=reports, running=next((one for one in reports if one.stopped is None), None),
            arms=self._arms(model), arm_name=arm_name, done=DONE.get(request.query_params.get("done", ""), ""),
            challengers=challengers, trouble=trouble, read_at=None,
            free_name=free_name(model.settings.name, {one.settings.name for one in self._service.registry.all()}),
            learners=[name for name, kind in LEARNERS.items() if not kind.needs_grades()],
        )  # fmt: skip

    def _arms(self, model: LiveModel) -> list[tuple[str, str]]:
        """Orders that can be compared on this model's pages: (arm, name)."""
        mine = model.settings
        others = [
            other.settings.name
            for other in self._service.registry.all()
            if other is not model and (other.settings.names, other.settings.page_size) == (mine.names, mine.page_size)
        ]
        return [(arm, arm_name(arm)) for arm in (INCOMING, LEARNED, *others)]

    async def _start(self, request: Request, fields: dict[str, str]) -> Response:
        model = self._frame.model(request)
        self._require_effect()
        chosen = [name.partition(":")[2] for name in fields if name.startswith("arm:")]
        # The first is what others are held against: the engine's order if it takes part.
        arms = sorted(chosen, key=lambda arm: arm != INCOMING)
        await experimenting.start_experiment(self._service, model, experiment_of(arms, fields))
        self._frame.readings.renew()
        return RedirectResponse(f"{place_of(model)}/experiments?done=experiment", 303)

    async def _stop(self, request: Request, _: dict[str, Any]) -> Response:
        model = self._frame.model(request)
        self._require_effect()
        await experimenting.stop_experiment(self._service, model)
        self._frame.readings.renew()
        return RedirectResponse(f"{place_of(model)}/experiments?done=stopped", 303)

    # Challengers

    async def _challenge(self, request: Request, fields: dict[str, str]) -> Response:
        model = self._frame.model(request)
        self._require_effect()
        await challenging.start_challenger(self._service, model, challenger_of(fields))
        self._frame.readings.renew()
        return RedirectResponse(f"{place_of(model)}/experiments?done=challenger", 303)

    async def _sure_of(self, request: Request) -> Response:
        model, action, name = self._about_challenger(request)
        label, effect = CHALLENGER_ACTIONS[action]
        place = place_of(model)
        return self._frame.page(
            request, "confirm.html", title=f"{label}?", label=label, effect=effect.format(name=name), model=model,
            action=action, version=None, changed=[], place=place,
            target=f"{place}/challengers/{quote(name)}/{action}",
        )  # fmt: skip

    async def _settle(self, request: Request, _: dict[str, str]) -> Response:
        model, action, name = self._about_challenger(request)
        self._require_effect()
        act = challenging.promote if action == "promote" else challenging.drop
        await act(self._service, model, name)
        self._frame.readings.renew()
        return RedirectResponse(f"{place_of(model)}/experiments?done={action}", 303)

    def _about_challenger(self, request: Request) -> tuple[LiveModel, str, str]:
        model, action = self._frame.model(request), request.path_params["action"]
        if action not in CHALLENGER_ACTIONS:
            raise RequestError("no_such_action", f"unknown action {action[:40]!r}; choose from promote, drop")
        return model, action, challenging.found(self._service, model, request.path_params["challenger"]).settings.name


def version_of(text: str | None) -> int:
    """The number of a snapshot that an address or a form names."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > 15:
        raise RequestError("invalid_request", "version must be the number of a snapshot")
    return int(text)
