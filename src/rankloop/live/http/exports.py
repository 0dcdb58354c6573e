"""A model leaves as a file: to keep, for a search engine, or as ONNX; and how far it ranks there as it does here."""

import asyncio

from rankloop.errors import SettingsError
from rankloop.interchange import EXPORT_FORMATS, export_model
from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.exporting import Leaving, leaving, newest_pages
from rankloop.live.http.answers import ExportCheck
from rankloop.live.http.calls import Answer, Call, attachment
from rankloop.live.http.declaration import VERSION, Endpoint, Parameter, Reply
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service
from rankloop.live.views import View

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
    file = attachment(file_name(call.model, view.version, form))
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
    return await exported(call.service, call.model, call["format"], call["version"])


def file_name(model: LiveModel, version: int, form: str) -> str:
    """What the file is called."""
    suffix = {"json": "json", "onnx": "onnx"}.get(form, f"{form}.json")
    return f"{model.settings.name}-{version}.{suffix}"


async def exported(
    service: Service, model: LiveModel, form: str, version: int | None = None
) -> tuple[View, Leaving, bytes]:
    """A model's state, what leaves of it, and that as a file."""
    view = model.require_whole() if version is None else (await models.restored(service, model, version)).view()

    def work() -> tuple[Leaving, bytes]:
        pages = newest_pages(service.store, model.id)
        leaves = leaving(model.settings, view, pages, form)
        return leaves, export_model(leaves.model, form)

    try:
        return view, *await asyncio.to_thread(work)
    except SettingsError as error:
        raise RequestError("not_exportable", str(error)) from None
