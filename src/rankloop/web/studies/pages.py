"""The viewer's pages: a list that keeps itself up to date, one page per study, and what can be taken away from it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

from jinja2 import PackageLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from rankloop.studies import formats
from rankloop.studies.blocks import Tabulated
from rankloop.studies.page import Image, sections_of, size_of
from rankloop.web.site import HEADERS, Site
from rankloop.web.spreadsheets import csv_file
from rankloop.web.studies import downloads
from rankloop.web.studies.folders import WRITTEN, file_of
from rankloop.web.studies.shelf import Opened, Shelf, Standing

TONES = {"complete": "good", "in progress": "open", "partial": "open", "report only": "plain", "unreadable": "bad"}
# A picture is shown by the page; opened on its own it may neither run nor load anything.
PICTURE_POLICY = "default-src 'none'; sandbox"

Show = Callable[[Request, Opened], Awaitable[Response | None]]


class StudyPages:
    """The pages of a shelf of studies, on an application."""

    def __init__(self, application: Starlette, shelf: Shelf) -> None:
        self._shelf = shelf
        self._site = Site(application, templates=PackageLoader("rankloop.studies"))
        self._site.filters.update(moment=_moment, tone=TONES.__getitem__)
        self._site.get("/", partial(self._list, "studies/list.html"))
        self._site.get("/list", partial(self._list, "studies/list-part.html"))
        self._site.get("/study/{address}/standing", self._standing)
        for path, show in (
            ("", self._study), ("/report.html", self._alone), ("/figures/{file}", self._figure),
            ("/tables/{file}", self._table), ("/files/{file}", self._file),
        ):  # fmt: skip
            self._site.get(f"/study/{{address}}{path}", partial(self._of_study, show))

    async def _list(self, template: str, request: Request) -> Response:
        studies = await asyncio.to_thread(self._shelf.standings)
        return self._site.page(request, template, title="Studies", studies=studies, place=self._shelf.root)

    async def _of_study(self, show: Show, request: Request) -> Response:
        """What a handler shows of a study; the study or what is asked of it may be missing."""
        opened = await asyncio.to_thread(self._shelf.open, request.path_params["address"])
        shown = None if opened is None else await show(request, opened)
        return self._missing(request) if shown is None else shown

    async def _study(self, request: Request, opened: Opened) -> Response:
        files = [name for name in WRITTEN if name != "report.html" and file_of(opened.folder, name)]
        return self._site.page(
            request, "studies/study.html", title=opened.standing.title, study=opened.standing,
            sections=sections_of(opened.blocks), images=_images(opened), files=files, has_changed=False,
            has_results=bool(opened.results and opened.results.records),
            alone=file_of(opened.folder, "report.html") is not None,
        )  # fmt: skip

    async def _standing(self, request: Request) -> Response:
        standing = await asyncio.to_thread(self._shelf.standing, request.path_params["address"])
        if standing is None:
            return self._missing(request)
        seen = request.query_params.get("seen", "")
        if seen == standing.mark and standing.state != "in progress":
            return Response(status_code=204)
        return self._site.page(request, "studies/standing.html", study=standing, has_changed=seen != standing.mark)

    async def _alone(self, request: Request, opened: Opened) -> Response | None:
        path = file_of(opened.folder, "report.html")
        if path is None:
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
        return HTMLResponse(text, headers=HEADERS | {"content-security-policy": downloads.policy_of(text)})

    async def _figure(self, request: Request, opened: Opened) -> Response | None:
        name, _, suffix = request.path_params["file"].rpartition(".")
        picture = opened.pictures.get(name)
        if picture is None or picture.suffix != f".{suffix}":
            return None
        headers = {"content-security-policy": PICTURE_POLICY, "cache-control": "no-cache"}
        kind = "image/png" if suffix == "png" else "image/svg+xml"
        return Response(picture.content, media_type=kind, headers=headers)

    async def _table(self, request: Request, opened: Opened) -> Response | None:
        number = request.path_params["file"].removesuffix(".csv")
        tables = [one.table for one in opened.blocks if isinstance(one, Tabulated)]
        if not number.isdecimal() or len(number) > 4 or not 1 <= int(number) <= len(tables):
            return None
        name = f"{request.path_params['address']}-table-{int(number)}.csv"
        return csv_file(formats.csv(tables[int(number) - 1]), name)

    async def _file(self, request: Request, opened: Opened) -> Response | None:
        name = request.path_params["file"]
        made = {"results.csv": downloads.results_csv, "curves.csv": downloads.curves_csv}
        taken = f"{opened.standing.address}-{name}"
        if name in made and opened.results is not None and opened.results.records:
            return csv_file(await asyncio.to_thread(made[name], opened.results), taken)
        path = file_of(opened.folder, name) if name in WRITTEN else None
        return FileResponse(path, media_type=downloads.media_type(path), filename=taken) if path else None

    def _missing(self, request: Request) -> Response:
        message = "No such study or file. It may have been moved since the page was loaded."
        return self._site.page(request, "trouble.html", status=404, title="Not found", message=message)


def _images(opened: Opened) -> dict[str, Image]:
    """Where the page finds its pictures; the mark changes with the results, so none is kept too long."""
    place, mark = f"/study/{opened.standing.address}/figures", opened.standing.mark
    return {
        name: Image(f"{place}/{name}{one.suffix}?{mark}", *size_of(one.content), one.suffix[1:].upper())
        for name, one in opened.pictures.items()
    }


def _moment(study: Standing) -> datetime:
    return datetime.fromtimestamp(study.changed, UTC).replace(microsecond=0)
