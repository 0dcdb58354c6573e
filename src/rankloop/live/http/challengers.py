"""Addresses of challengers: start one, read what is known of them, promote or drop one."""

from rankloop.live import challenging
from rankloop.live.challengers import ChallengerReport, ChallengerSettings
from rankloop.live.descriptions import Model
from rankloop.live.http import answers
from rankloop.live.http.calls import Answer, Call
from rankloop.live.http.declaration import Endpoint, Reply

NONE = ("no_such_challenger", "model_deleted")


@Endpoint(
    "POST", "/v1/models/{model}/challengers", "admin", Reply(ChallengerReport, 201), body=ChallengerSettings,
    refuses=("in_shadow", "name_taken", "too_many_challengers", "too_many_models", "invalid_model"),
)  # fmt: skip
async def start_challenger(call: Call) -> Answer:
    """Start a challenger: another learner, which learns from the model's pages without showing its own."""
    return Answer(await challenging.start_challenger(call.service, call.model, call.body), 201)


@Endpoint("GET", "/v1/models/{model}/challengers", "admin", answers.Challengers)
async def list_challengers(call: Call) -> answers.Challengers:
    """A model's challengers, each with a verdict; look as often as you like."""
    return answers.Challengers(await challenging.challengers(call.service, call.model))


@Endpoint("GET", "/v1/models/{model}/challengers/{challenger}", "admin", ChallengerReport, refuses=NONE)
async def inspect_challenger(call: Call) -> ChallengerReport:
    """One challenger, with a verdict."""
    return await challenging.challenger(call.service, call.model, call["challenger"])


@Endpoint(
    "POST", "/v1/models/{model}/challengers/{challenger}/promote", "admin", Model, refuses=(*NONE, "not_ready")
)  # fmt: skip
async def promote_challenger(call: Call) -> Model:
    """Let a challenger take the model's place; the states from before stay, to roll back to."""
    return await challenging.promote(call.service, call.model, call["challenger"])


@Endpoint("DELETE", "/v1/models/{model}/challengers/{challenger}", "admin", answers.Deleted, refuses=NONE)
async def drop_challenger(call: Call) -> answers.Deleted:
    """Forget a challenger; an experiment that it is part of ends."""
    await challenging.drop(call.service, call.model, call["challenger"])
    return answers.Deleted(call["challenger"])
