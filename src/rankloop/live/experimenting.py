"""What people decide about experiments: start, look, stop. Each decision is an event in the log of its model."""

import asyncio

from rankloop.live.errors import RequestError
from rankloop.live.events import ExperimentStarted, Kind, encode
from rankloop.live.experiments import INCOMING, LEARNED, ExperimentReport, Experiments, ExperimentSettings, report
from rankloop.live.kept import experiments_of
from rankloop.live.log import Control
from rankloop.live.models import decided
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service, now


async def start_experiment(service: Service, model: LiveModel, settings: ExperimentSettings) -> ExperimentReport:
    """Interleave from now on; answered when the next page may be interleaved."""
    model.require_whole()
    if model.settings.challenges is not None:
        raise model.in_shadow()
    if model.view().experiment is not None:
        raise RequestError(
            "experiment_running", f"model {model.settings.name!r} already has an experiment running; stop it first"
        )
    if model.settings.guards.control >= 1:
        raise _bad(f"everybody is in the control group of {model.settings.name!r}, so nobody could take part")
    models = [_number_of(service, model, arm) for arm in settings.arms]
    if len(set(models)) < len(models):
        raise _bad(
            f"two arms are the same; {LEARNED!r} and {model.settings.name!r} both are the order of "
            f"{model.settings.name!r}"
        )
    body = encode(ExperimentStarted(list(settings.arms), models, settings.share))
    await decided(service, model, Control(model.id, Kind.EXPERIMENT_STARTED, now(), body))
    return (await experiments(service, model))[0]


def _number_of(service: Service, model: LiveModel, arm: str) -> int:
    """The model of an arm; 0 for the incoming order. Refused if it could not rank these pages."""
    if arm == INCOMING:
        return 0
    if arm in (LEARNED, model.settings.name):
        return model.id
    try:
        other = service.registry.get(arm)
    except RequestError:
        raise _bad(f"there is no model {arm!r}; an arm is {INCOMING!r}, {LEARNED!r} or a model's name") from None
    mine, theirs = model.settings, other.settings
    if (mine.names, mine.page_size) != (theirs.names, theirs.page_size):
        raise _bad(f"{arm!r} ranks other pages: features and page_size must be those of {mine.name!r}")
    other.require_whole()
    return other.id


async def stop_experiment(service: Service, model: LiveModel) -> ExperimentReport:
    """Stop interleaving; pages that are still open will count."""
    if model.view().experiment is None:
        raise RequestError("no_experiment", f"model {model.settings.name!r} has no experiment running")
    await decided(service, model, Control(model.id, Kind.EXPERIMENT_STOPPED, now()))
    return (await experiments(service, model))[0]


async def experiments(service: Service, model: LiveModel) -> list[ExperimentReport]:
    """A model's experiments and what they say, the newest first."""
    known = await asyncio.to_thread(known_experiments, service, model)
    return [report(experiment) for experiment in reversed(known.all)]


def known_experiments(service: Service, model: LiveModel) -> Experiments:
    """As the state says that is learned here; elsewhere, as the newest that was kept. Reads the store: in a thread."""
    fold = service.folds().get(model.id)
    if fold is not None:
        return fold.experiments
    snapshot = service.store.newest_snapshot(model.id)
    return Experiments() if snapshot is None else experiments_of(snapshot.state)


def _bad(what: str) -> RequestError:
    return RequestError("invalid_request", f"experiment: {what}")
