"""What each address does. An endpoint takes a call and gives an answer; routing, keys and encoding are elsewhere."""

import asyncio
from typing import Any

from rankloop.live import models
from rankloop.live.http.calls import Answer, Call, attachment
from rankloop.live.registry import LiveModel
from rankloop.live.requests import ClicksBody, CloseBody, RankBody, RollBackBody
from rankloop.live.settings import ModelSettings


async def rank(call: Call) -> Answer:
    """Rank candidates: the page that comes back is the one to show."""
    return Answer(200, await call.service.rank(call.path["model"], call.decode(RankBody)))


async def clicks(call: Call) -> Answer:
    """Report what was clicked: one report, or many as `{"reports": [...]}`."""
    body = call.decode(ClicksBody)
    results = await call.service.click(body.all())
    return Answer(200, results[0] if body.reports is None else {"results": results})


async def close(call: Call) -> Answer:
    """End an impression: nothing more will come, so the model learns from it now."""
    return Answer(200, await call.service.close(call.path["impression"], wait=call.decode(CloseBody).wait))


async def create_model(call: Call) -> Answer:
    """Make a model; `?dry_run=true` only reports where it would begin and how much it would explore."""
    call.takes("dry_run")
    settings = call.decode(ModelSettings)
    if call.flag("dry_run"):
        return Answer(200, {"start": await models.starting_report(call.service, settings)})
    report = await models.create_model(call.service, settings)
    model = call.service.registry.get(settings.name)
    return Answer(201, models.describe(call.service, model) | {"start": report})


async def list_models(call: Call) -> Answer:
    """All models."""
    found = call.service.registry.all()
    return Answer(200, {"models": await asyncio.to_thread(_describe, call, found)})


def _describe(call: Call, found: list[LiveModel]) -> list[dict[str, Any]]:
    return [models.describe(call.service, model) for model in found]


async def inspect_model(call: Call) -> Answer:
    """One model: settings, weights, what became of its impressions."""
    model = call.service.registry.get(call.path["model"])
    return Answer(200, (await asyncio.to_thread(_describe, call, [model]))[0])


async def delete_model(call: Call) -> Answer:
    """Forget a model."""
    await models.delete_model(call.service, call.service.registry.get(call.path["model"]))
    return Answer(200, {"deleted": call.path["model"]})


def act(action: str) -> Any:
    """The endpoint that pauses, resumes or freezes a model."""

    async def endpoint(call: Call) -> Answer:
        model = call.service.registry.get(call.path["model"])
        return Answer(200, await models.act(call.service, model, action))

    endpoint.__name__ = action.replace("-", "_")
    endpoint.__doc__ = _ACTION_DOCS[action]
    return endpoint


_ACTION_DOCS = {
    "pause": "Stop learning; ranking, exploring and logging go on.",
    "resume": "Learn again.",
    "freeze": "Stop learning and exploring: show the model's best order.",
    "freeze-scaling": "Keep the running standardisation as it is now, so that the model can be exported.",
}


async def list_snapshots(call: Call) -> Answer:
    """The states of a model that are kept."""
    model = call.service.registry.get(call.path["model"])
    kept = await asyncio.to_thread(call.service.store.snapshots, model.id)
    rows = [{"version": s.version, "offset": s.offset, "at": s.at} for s in kept]
    return Answer(200, {"snapshots": rows})


async def snapshot(call: Call) -> Answer:
    """One state, as a file to keep: settings, weights, and everything else that the future depends on."""
    model = call.service.registry.get(call.path["model"])
    version = call.whole_number("version")
    document = await models.snapshot_document(call.service, model, version)
    return Answer(200, document, headers=attachment(f"{model.settings.name}-{version}.snapshot.json"))


async def compare(call: Call) -> Answer:
    """Two states side by side: `?from=…&to=…`."""
    call.takes("from", "to")
    model = call.service.registry.get(call.path["model"])
    before, after = call.whole_number("from"), call.whole_number("to")
    return Answer(200, await models.compare(call.service, model, before, after))


async def roll_back(call: Call) -> Answer:
    """Return to a kept state; learning goes on from there."""
    model = call.service.registry.get(call.path["model"])
    return Answer(200, await models.roll_back(call.service, model, call.decode(RollBackBody).version))


async def healthz(call: Call) -> Answer:
    """The process is up."""
    return Answer(200, {"status": "ok"})


async def readyz(call: Call) -> Answer:
    """The service can rank and learn: 503 if the store or the learner is down (ranking goes on all the same).

    Everybody may ask which part is in trouble; what exactly is wrong is told to a key with the scope `admin`.
    """
    trouble = await asyncio.to_thread(call.service.trouble)
    if not call.allows("admin"):
        trouble = [sentence.partition(":")[0] for sentence in trouble]
    return Answer(503 if trouble else 200, {"status": "degraded" if trouble else "ok", "trouble": trouble})


async def metrics(call: Call) -> Answer:
    """Counters for Prometheus."""
    content = await asyncio.to_thread(call.metrics.exposition)
    return Answer(200, content, "text/plain; version=0.0.4; charset=utf-8")
