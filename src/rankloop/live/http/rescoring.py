"""Ranking for a search engine, in the shapes that it has at hand: hits, or a batch from a search pipeline."""

from rankloop.live.hits import RescoreBody, Rescored, page_to_rank, rescored
from rankloop.live.http.calls import Call
from rankloop.live.http.declaration import Endpoint


@Endpoint("POST", "/v1/models/{model}/rescore", "rank", Rescored, body=RescoreBody)
async def rescore(call: Call) -> Rescored:
    """Rank a search engine's hits, or a batch from its search pipeline: a number to sort each of them by."""
    came, page = page_to_rank(call.body, call.model.settings)
    return rescored(came, await call.service.rank(call["model"], page))
