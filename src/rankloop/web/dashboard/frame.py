"""What all of the dashboard's pages share: the service behind them, what was read of it, and a model's tabs."""

import re
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from rankloop.live.errors import RequestError
from rankloop.live.http.app import Application
from rankloop.live.registry import LiveModel
from rankloop.live.service import now
from rankloop.web.dashboard import health
from rankloop.web.dashboard.plain_words import unit_of
from rankloop.web.dashboard.reading import Readings
from rankloop.web.dashboard.tallied import OVERS, Over, over_named
from rankloop.web.site import Site

HOST = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:]+\](:\d{1,5})?")
TABS = {
    "": "Overview",
    "queries": "Queries",
    "experiments": "Experiments",
    "learning": "Learning",
    "history": "History",
    "settings": "Settings",
}
"""A model's pages, by the last part of their address."""


class Frame:
    """The service, its pages, and what they have read."""

    def __init__(self, application: Application, site: Site, home: str) -> None:
        self.application = application
        self.service = application.service
        self.site = site
        self.home = home
        self.readings = Readings(application.service)

    def page(self, request: Request, template: str, **values: Any) -> Response:
        """A page of the dashboard."""
        return self.site.page(request, f"dashboard/{template}", home_address=self.home, **values)

    def tab(self, request: Request, tab: str, template: str, model: LiveModel, **values: Any) -> Response:
        """One of a model's pages, under its name and tabs."""
        name = model.settings.name
        return self.page(
            request, template, title=f"{TABS[tab]} · {name}" if tab else name, model=model, settings=model.settings,
            tab=tab, tabs=TABS, place=place_of(model), mode=model.view().mode, guarded=model.view().guarded,
            attention=health.needs_attention(self.service, model), unit=unit_of(model.settings), **values,
        )  # fmt: skip

    def model(self, request: Request) -> LiveModel:
        """The model that the address names."""
        name = request.path_params["model"]
        try:
            return self.service.registry.get(name)
        except RequestError as error:
            # The API says which request lists them; whoever reads a page has a link there.
            raise RequestError(error.code, f"there is no model {name[:80]!r}") from None

    def asked(self, request: Request) -> tuple[LiveModel, Over]:
        """The model, and the stretch of time to look at."""
        model = self.model(request)
        age = age_minutes(model)
        over = over_named(request.query_params.get("over"), age)
        if over.minutes is not None and age < over.minutes:  # the whole of its life
            over = over._replace(during=OVERS[-1].during)
        return model, over

    def address(self, request: Request) -> str:
        """Where the service is, as the visitor's browser has it."""
        host = request.headers.get("host", "")
        return f"{request.scope['scheme']}://{host}" if HOST.fullmatch(host) else "http://localhost:8080"

    def walk_through(self, request: Request, model: LiveModel | None = None) -> dict[str, Any]:
        """What the first requests look like, with this service's own address."""
        return {
            "address": self.address(request),
            "keys": not self.application.keys.open,
            "name": model.settings.name if model else "shop",
            "count": len(model.settings.sent) if model else 2,
            "make": model is None,
        }


def place_of(model: LiveModel) -> str:
    """The address of a model's pages."""
    return f"/models/{quote(model.settings.name)}"


def age_minutes(model: LiveModel) -> float:
    """How old it is."""
    return (now() - model.created) / 60_000
