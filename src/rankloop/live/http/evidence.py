"""Addresses of evidence: actions, queries and segments, the learned order against the incoming one."""

from rankloop.live import evidencing
from rankloop.live.acting import ActionsReport
from rankloop.live.contrasts import QueriesReport, SegmentsReport
from rankloop.live.evidence import TRACKED
from rankloop.live.http.calls import Call
from rankloop.live.http.declaration import Endpoint, Parameter

LIMIT = Parameter("limit", {"type": "integer", "minimum": 1, "maximum": TRACKED, "default": 50})


@Endpoint("GET", "/v1/models/{model}/actions", "admin", ActionsReport)
async def list_actions(call: Call) -> ActionsReport:
    """How often each of a model's actions happened, and how the learned order compares with the incoming one in it."""
    return await evidencing.actions(call.service, call.model)


@Endpoint("GET", "/v1/models/{model}/queries", "admin", QueriesReport, query=(LIMIT,))
async def list_queries(call: Call) -> QueriesReport:
    """The most frequent queries, and on which of them the learned order helps or hurts; new queries against known."""
    return await evidencing.queries(call.service, call.model, call["limit"])


@Endpoint("GET", "/v1/models/{model}/segments", "admin", SegmentsReport)
async def list_segments(call: Call) -> SegmentsReport:
    """The segments that requests name, and in which of them the learned order helps or hurts."""
    return await evidencing.segments(call.service, call.model)
