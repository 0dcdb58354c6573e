"""A model leaves as a file: to keep, for a search engine, or as ONNX. What would rank differently is refused."""

import asyncio

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.interchange import EXPORT_FORMATS, LinearModel, export_model
from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.http.calls import Answer, Call, attachment
from rankloop.live.scaling import Scaler
from rankloop.live.settings import ModelSettings


async def export(call: Call) -> Answer:
    """The model as a file: `?format=…`, and `&version=…` for a kept state instead of the newest."""
    call.takes("format", "version")
    model = call.service.registry.get(call.path["model"])
    form = call.query.get("format", "json")
    if form not in EXPORT_FORMATS:
        known = ", ".join(EXPORT_FORMATS)
        raise RequestError("invalid_request", f"format must be one of {known}; got {form[:40]!r}")
    if "version" in call.query:
        fold = await models.restored(call.service, model, call.whole_number("version"))
        version, weights, scaler = fold.version, fold.ranker.weights, fold.scaler
    else:
        view = model.view()
        version, weights, scaler = view.version, view.model.ranker.weights, view.scaler
    try:
        linear = linear_model(model.settings, weights, scaler)
        content = await asyncio.to_thread(export_model, linear, form)
    except SettingsError as error:
        raise RequestError("not_exportable", str(error)) from None
    suffix = {"json": "json", "onnx": "onnx"}.get(form, f"{form}.json")
    return Answer(200, content, EXPORT_FORMATS[form], attachment(f"{model.settings.name}-{version}.{suffix}"))


def linear_model(settings: ModelSettings, weights: NDArray[np.float64], scaler: Scaler) -> LinearModel:
    """A live model's state as what leaves rankloop: its weights, and its scaling as it will stay."""
    scaling: dict[str, object] = {}
    if scaler.settings == "query":
        scaling = {"per_query": True}
    elif scaler.settings == "running" and not scaler.frozen:
        raise SettingsError(
            f"{settings.name!r} scales features by running statistics, which still move with every impression; "
            f"freeze them first: POST /v1/models/{settings.name}/freeze-scaling"
        )
    elif scaler.settings != "none":
        shift, spread = scaler.affine()
        scaling = {"shift": tuple(shift.tolist()), "spread": tuple(spread.tolist())}
    return LinearModel(
        weights=tuple(weights.tolist()),
        feature_names=settings.names,
        name=settings.name,
        **scaling,  # type: ignore[arg-type]
    )
