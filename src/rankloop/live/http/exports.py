"""A model leaves as a file: to keep, for a search engine, or as ONNX. What would rank differently is refused."""

import asyncio

from rankloop.errors import SettingsError
from rankloop.interchange import EXPORT_FORMATS, LinearModel, NeuralModel, export_model
from rankloop.interchange.models import made
from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.fold import View
from rankloop.live.http.calls import Answer, Call, attachment
from rankloop.live.http.declaration import VERSION, Endpoint, Parameter, Reply
from rankloop.live.settings import ModelSettings


@Endpoint(
    "GET", "/v1/models/{model}/export", "admin",
    Reply(None, description="The file.", media=tuple(sorted(set(EXPORT_FORMATS.values())))),
    query=(Parameter("format", {"type": "string", "enum": list(EXPORT_FORMATS), "default": "json"}), VERSION),
    refuses=("not_exportable",),
)  # fmt: skip
async def export(call: Call) -> Answer:
    """The model as a file: `?format=…`, and `&version=…` for a kept state instead of the newest."""
    model, form = call.model, call["format"]
    version = call["version"]
    view = model.require_whole() if version is None else (await models.restored(call.service, model, version)).view()
    try:
        leaving = exported_model(model.settings, view)
        content = await asyncio.to_thread(export_model, leaving, form)
    except SettingsError as error:
        raise RequestError("not_exportable", str(error)) from None
    suffix = {"json": "json", "onnx": "onnx"}.get(form, f"{form}.json")
    file = attachment(f"{model.settings.name}-{view.version}.{suffix}")
    return Answer(content, type=EXPORT_FORMATS[form], headers=file)


def exported_model(settings: ModelSettings, view: View) -> LinearModel | NeuralModel:
    """A live model's state as what leaves rankloop: its weights, and its scaling as it will stay."""
    scaler = view.scaler
    scaling: dict[str, object] = {}
    if scaler.settings == "query":
        scaling = {"per_query": True}
    elif scaler.settings == "running" and not scaler.frozen:
        raise SettingsError(
            f"{settings.name!r} scales features by running statistics, which still move with every impression; "
            f"freeze them first: POST /v1/models/{settings.name}/freeze-scaling"
        )
    elif scaler.settings == "robust" and not scaler.spread.any():
        raise SettingsError(f"{settings.name!r} has learned from no page yet: there is nothing to export")
    elif scaler.settings != "none":
        shift, spread = scaler.affine()
        scaling = {"shift": tuple(shift.tolist()), "spread": tuple(spread.tolist())}
    return made(
        settings.learner.scoring_ranker,
        weights=tuple(view.model.ranker.weights.tolist()),
        feature_names=settings.names,
        name=settings.name,
        **scaling,
    )
