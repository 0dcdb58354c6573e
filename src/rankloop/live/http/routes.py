"""Every address, with the scope that a key needs for it. What is not in this table does not exist."""

from typing import NamedTuple

from rankloop.live.http import endpoints, exports, ubi
from rankloop.live.http.calls import Endpoint
from rankloop.live.models import ACTIONS


class Route(NamedTuple):
    """An address, what answers it, and who may ask: `scope` None is everybody."""

    method: str
    path: str
    endpoint: Endpoint
    scope: str | None
    hot: bool = False
    """Whether live traffic uses it."""


ROUTES = (
    Route("POST", "/v1/models/{model}/rank", endpoints.rank, "rank", hot=True),
    Route("POST", "/v1/clicks", endpoints.clicks, "click", hot=True),
    Route("POST", "/v1/impressions/{impression}/close", endpoints.close, "click", hot=True),
    Route("POST", "/v1/models", endpoints.create_model, "admin"),
    Route("GET", "/v1/models", endpoints.list_models, "admin"),
    Route("GET", "/v1/models/{model}", endpoints.inspect_model, "admin"),
    Route("DELETE", "/v1/models/{model}", endpoints.delete_model, "admin"),
    *(Route("POST", f"/v1/models/{{model}}/{action}", endpoints.act(action), "admin") for action in ACTIONS),
    Route("GET", "/v1/models/{model}/snapshots", endpoints.list_snapshots, "admin"),
    Route("GET", "/v1/models/{model}/snapshots/{version}", endpoints.snapshot, "admin"),
    Route("GET", "/v1/models/{model}/compare", endpoints.compare, "admin"),
    Route("POST", "/v1/models/{model}/roll-back", endpoints.roll_back, "admin"),
    Route("GET", "/v1/models/{model}/export", exports.export, "admin"),
    Route("POST", "/ubi/queries", ubi.take_queries, "click"),
    Route("POST", "/ubi/events", ubi.take_events, "click"),
    Route("GET", "/ubi/queries", ubi.read_queries, "admin"),
    Route("GET", "/ubi/events", ubi.read_events, "admin"),
    Route("GET", "/healthz", endpoints.healthz, None),
    Route("GET", "/readyz", endpoints.readyz, None),
    Route("GET", "/metrics", endpoints.metrics, None),
)
