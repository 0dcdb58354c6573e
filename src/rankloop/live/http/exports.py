"""A model leaves as a file: to keep, for a search engine, or as ONNX; and how far it ranks there as it does here."""

import asyncio

from rankloop.errors import SettingsError
from rankloop.interchange import EXPORT_FORMATS, export_model
from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.exporting import Leaving, leaving, newest_pages
from rankloop.live.fold import View
from rankloop.live.http.answers import ExportCheck
from rankloop.live.http.calls import Answer, Call, attachment
from rankloop.live.http.declaration import VERSION, Endpoint, Parameter, Reply

FORMAT = Parameter("format", {"type": "string", "enum": list(EXPORT_FORMATS), "default": "json"})


@Endpoint(
    "GET", "/v1/models/{model}/export", "admin",
    Reply(None, description="The file.", media=tuple(sorted(set(EXPORT_FORMATS.values())))),
    query=(FORMAT, VERSION), refuses=("not_exportable",),
)  # fmt: skip
async def export(call: Call) -> Answer:
    """The model as a file: `?format=…`, and `&version=…` for a kept state instead of the newest."""
    view, _, content = await _exported(call)
    form = call["format"]
    suffix = {"json": "json", "onnx": "onnx"}.get(form, f"{form}.json")
    file = attachment(f"{call.model.settings.name}-{view.version}.{suffix}")
    return Answer(content, type=EXPORT_FORMATS[form], headers=file)


@Endpoint(
    "GET", "/v1/models/{model}/export-check", "admin", ExportCheck,
    query=(FORMAT, VERSION), refuses=("not_exportable",),
)  # fmt: skip
async def export_check(call: Call) -> ExportCheck:
    """What the file does differently from the live model, in words and measured on logged pages."""
    view, leaves, _ = await _exported(call)
    return ExportCheck(call["format"], view.version, list(leaves.differs), leaves.orders)


async def _exported(call: Call) -> tuple[View, Leaving, bytes]:
    model, version, form = call.model, call["version"], call["format"]
    view = model.require_whole() if version is None else (await models.restored(call.service, model, version)).view()

    def work() -> tuple[Leaving, bytes]:
        pages = newest_pages(call.service.store, model.id)
        leaves = leaving(model.settings, view, pages, as_it_is=form == "json")
        return leaves, export_model(leaves.model, form)

    try:
        return view, *await asyncio.to_thread(work)
    except SettingsError as error:
        raise RequestError("not_exportable", str(error)) from None
