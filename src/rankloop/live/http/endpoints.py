"""What each address of the API does: one declaration and one function for each. UBI's are next door."""

import asyncio

import msgspec

from rankloop.answers import Clicked, Closed, Ranked
from rankloop.live import models
from rankloop.live.descriptions import Comparison, Model, SnapshotDocument
from rankloop.live.http import answers
from rankloop.live.http.calls import Answer, Call, attachment
from rankloop.live.http.declaration import NUMBER, Endpoint, Parameter, Reply
from rankloop.live.requests import ClicksBody, CloseBody, RankBody, RollBackBody
from rankloop.live.settings import NewModelSettings

GONE = ("impression_expired", "model_deleted")


@Endpoint("POST", "/v1/models/{model}/rank", "rank", Ranked, body=RankBody, hot=True)
async def rank(call: Call) -> Ranked:
    """Rank candidates: the page that comes back is the one to show."""
    return await call.service.rank(call["model"], call.body)


@Endpoint("POST", "/v1/clicks", "click", Clicked, answers.ManyClicked, body=ClicksBody, refuses=GONE, hot=True)
async def clicks(call: Call) -> Clicked | answers.ManyClicked:
    """Report what was clicked: one report, or many as `{"reports": [...]}`."""
    results = await call.service.click(call.body.all())
    return results[0] if call.body.reports is None else answers.ManyClicked(results)


@Endpoint(
    "POST", "/v1/impressions/{impression}/close", "click", Closed,
    body=CloseBody, needs_body=False, refuses=GONE, hot=True,
)  # fmt: skip
async def close(call: Call) -> Closed:
    """End an impression: nothing more will come, so the model learns from it now."""
    return await call.service.close(call["impression"], wait=call.body.wait)


@Endpoint(
    "POST", "/v1/models", "admin",
    Reply(answers.DryRun, description="With `dry_run`: nothing was created."), Reply(answers.NewModel, 201),
    body=NewModelSettings, query=(Parameter("dry_run", {"type": "boolean", "default": False}),),
    refuses=("name_taken", "too_many_models"),
)  # fmt: skip
async def create_model(call: Call) -> answers.DryRun | Answer:
    """Make a model; `?dry_run=true` only reports where it would begin and how much it would explore."""
    if call["dry_run"]:
        return answers.DryRun(await models.starting_report(call.service, call.body))
    report = await models.create_model(call.service, call.body)
    made = models.describe(call.service, call.service.registry.get(call.body.name))
    return Answer(answers.NewModel(**msgspec.structs.asdict(made), start=report), 201)


@Endpoint("GET", "/v1/models", "admin", answers.Models)
async def list_models(call: Call) -> answers.Models:
    """All models."""
    known = call.service.registry.all()
    return answers.Models(await asyncio.to_thread(lambda: [models.describe(call.service, model) for model in known]))


@Endpoint("GET", "/v1/models/{model}", "admin", Model)
async def inspect_model(call: Call) -> Model:
    """One model: settings, weights, what became of its impressions."""
    return await asyncio.to_thread(models.describe, call.service, call.model)


@Endpoint("DELETE", "/v1/models/{model}", "admin", answers.Deleted)
async def delete_model(call: Call) -> answers.Deleted:
    """Forget a model."""
    await models.delete_model(call.service, call.model)
    return answers.Deleted(call["model"])


def _action(name: str, description: str, *refuses: str) -> Endpoint:
    """An endpoint that changes what a model does from now on."""

    async def act(call: Call) -> Model:
        return await models.act(call.service, call.model, name)

    act.__name__, act.__doc__ = name.replace("-", "_"), description
    return Endpoint("POST", f"/v1/models/{{model}}/{name}", "admin", Model, refuses=refuses)(act)


pause = _action("pause", "Stop learning; ranking, exploring and logging go on.")
resume = _action("resume", "Learn again.")
freeze = _action("freeze", "Stop learning and exploring: show the model's best order.")
freeze_scaling = _action(
    "freeze-scaling",
    "Keep the running standardisation as it is now, so that the model can be exported.",
    "nothing_to_freeze",
)


@Endpoint("GET", "/v1/models/{model}/snapshots", "admin", answers.Snapshots)
async def list_snapshots(call: Call) -> answers.Snapshots:
    """The states of a model that are kept."""
    kept = await asyncio.to_thread(call.service.store.snapshots, call.model.id)
    return answers.Snapshots([answers.SnapshotRow(snapshot.version, snapshot.offset, snapshot.at) for snapshot in kept])


@Endpoint("GET", "/v1/models/{model}/snapshots/{version}", "admin", SnapshotDocument)
async def snapshot(call: Call) -> Answer:
    """One state, as a file to keep: settings, weights, and everything else that the future depends on."""
    document = await models.snapshot_document(call.service, call.model, call["version"])
    return Answer(document, headers=attachment(f"{document.model}-{document.version}.snapshot.json"))


@Endpoint(
    "GET", "/v1/models/{model}/compare", "admin", Comparison,
    query=(Parameter("from", NUMBER, required=True), Parameter("to", NUMBER, required=True)),
)  # fmt: skip
async def compare(call: Call) -> Comparison:
    """Two states side by side: `?from=…&to=…`."""
    return await models.compare(call.service, call.model, call["from"], call["to"])


@Endpoint("POST", "/v1/models/{model}/roll-back", "admin", Model, body=RollBackBody)
async def roll_back(call: Call) -> Model:
    """Return to a kept state; learning goes on from there."""
    return await models.roll_back(call.service, call.model, call.body.version)


@Endpoint("GET", "/healthz", None, answers.Health, always=True)
async def healthz(call: Call) -> answers.Health:
    """The process is up."""
    return answers.Health("ok")


@Endpoint("GET", "/readyz", None, answers.Readiness, Reply(answers.Readiness, 503))
async def readyz(call: Call) -> Answer:
    """The service can rank and learn: 503 if the store or the learner is down (ranking goes on all the same).

    At the start it is not ready before the kernels of all models are compiled or loaded. A model whose kept state
    cannot be read, or that is new and still being compiled, is listed too, but the service stays ready for the others:
    200, degraded.
    Everybody may ask which part is in trouble; what exactly is wrong is told to a key with the scope `admin`.
    """
    trouble = call.service.trouble()
    status = 503 if trouble else 200
    trouble += call.service.preparation.unprepared() if status == 200 else []
    trouble += [f"state: {damage}" for damage in call.service.damaged()]
    if not call.allows("admin"):
        trouble = [sentence.partition(":")[0] for sentence in trouble]
    return Answer(answers.Readiness("degraded" if trouble else "ok", trouble), status)


@Endpoint("GET", "/metrics", None, Reply(str, media=("text/plain",)))
async def metrics(call: Call) -> Answer:
    """Counters for Prometheus."""
    text = await asyncio.to_thread(call.metrics.exposition, fresh=call.keys.know(call.headers))
    return Answer(text, type="text/plain; version=0.0.4; charset=utf-8")
