"""The address of alerts."""

import asyncio

from rankloop.live.http import answers
from rankloop.live.http.calls import Call
from rankloop.live.http.declaration import Endpoint


@Endpoint("GET", "/v1/models/{model}/alerts", "admin", answers.Alerts)
async def list_alerts(call: Call) -> answers.Alerts:
    """What somebody should look at, since when, and until when."""
    return answers.Alerts(await asyncio.to_thread(call.service.alarms.of, call.model))
