"""Addresses of experiments: start one, read what they say, stop it."""

from rankloop.live import experimenting
from rankloop.live.experiments import ExperimentReport, ExperimentSettings
from rankloop.live.http import answers
from rankloop.live.http.calls import Call
from rankloop.live.http.declaration import Endpoint


@Endpoint(
    "POST", "/v1/models/{model}/experiment", "admin", ExperimentReport,
    body=ExperimentSettings, needs_body=False, refuses=("experiment_running",),
)  # fmt: skip
async def start_experiment(call: Call) -> ExperimentReport:
    """Start an experiment: from now on some people's pages are interleaved from several orders."""
    return await experimenting.start_experiment(call.service, call.model, call.body)


@Endpoint("GET", "/v1/models/{model}/experiments", "admin", answers.Experiments)
async def list_experiments(call: Call) -> answers.Experiments:
    """What a model's experiments say, the newest first; look as often as you like."""
    return answers.Experiments(await experimenting.experiments(call.service, call.model))


@Endpoint("POST", "/v1/models/{model}/experiment/stop", "admin", ExperimentReport, refuses=("no_experiment",))
async def stop_experiment(call: Call) -> ExperimentReport:
    """Stop the experiment that is running; pages that are still open will count."""
    return await experimenting.stop_experiment(call.service, call.model)
