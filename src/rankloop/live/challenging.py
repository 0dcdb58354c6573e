"""What people decide about challengers: start one, look, promote or drop it. Each decision is an event in the log."""

import asyncio
from contextlib import suppress
from functools import partial

from rankloop.errors import SettingsError
from rankloop.live import models
from rankloop.live.challengers import (
    MOST,
    ChallengerReport,
    ChallengerSettings,
    challenger_settings,
    changes,
    compares,
    judged,
)
from rankloop.live.descriptions import Model
from rankloop.live.errors import RequestError, StateError
from rankloop.live.events import Kind, Promoted, encode
from rankloop.live.experimenting import experiments
from rankloop.live.experiments import ExperimentReport
from rankloop.live.fold import Fold
from rankloop.live.keys import WHO
from rankloop.live.log import Control, settle
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service, now
from rankloop.live.shadow import Shadow, earned_in
from rankloop.live.stores.transaction import Transaction

PATIENCE = 5.0
"""Seconds in which a challenger that is close behind should have kept what it learned."""
CLOSE = 1_000
"""Pages that a challenger may still have to learn from when it is promoted."""


async def start_challenger(service: Service, model: LiveModel, given: ChallengerSettings) -> ChallengerReport:
    """Make a challenger, which begins with the oldest pages that are left; answered when it could be interleaved."""
    if model.settings.challenges is not None:
        raise model.in_shadow()
    model.require_whole()
    models.require_room(service)
    if len(service.registry.challengers_of(model)) >= MOST:
        raise RequestError(
            "too_many_challengers", f"model {model.settings.name!r} has {MOST} challengers already; drop one first"
        )
    taken = {other.settings.name for other in service.registry.all()}
    try:
        check = partial(models.require_affordable, limits=service.limits)
        settings = await asyncio.to_thread(challenger_settings, model.settings, given, taken, check)
    except SettingsError as error:
        raise RequestError("invalid_model", str(error)) from None
    report = await models.starting_report(service, settings)
    if not await asyncio.to_thread(models.create, service, settings, report.weights, model):
        raise models.name_taken(settings.name)
    await models.noticed(service)
    return await challenger(service, model, settings.name)


async def challengers(service: Service, model: LiveModel) -> list[ChallengerReport]:
    """A model's challengers and what is known of them."""
    known = service.registry.challengers_of(model)
    tried = await experiments(service, model) if known else []
    return [await asyncio.to_thread(_reported, service, model, other, tried) for other in known]


async def challenger(service: Service, model: LiveModel, name: str) -> ChallengerReport:
    """One of them."""
    other = found(service, model, name)
    return await asyncio.to_thread(_reported, service, model, other, await experiments(service, model))


def found(service: Service, model: LiveModel, name: str) -> LiveModel:
    """A challenger by name; refused if it challenges another model, or none."""
    for other in service.registry.challengers_of(model):
        if other.settings.name == name:
            return other
    own = model.settings.name
    sentence = f"{own!r} has no challenger {name[:80]!r}; GET /v1/models/{own}/challengers lists them"
    raise RequestError("no_such_challenger", sentence)


def _reported(service: Service, model: LiveModel, other: LiveModel, tried: list[ExperimentReport]) -> ChallengerReport:
    """Reads the store: in a thread."""
    view, fold = other.view(), service.folds().get(other.id)
    if fold is None and not other.damage:
        fold = _kept(service, other)
    behind = service.store.unfolded(fold.offset).get(model.id, 0) if fold else 0
    shadow = fold.shadow if fold else None
    earned = (shadow or Shadow()).found(earned_in(model.settings)) if not other.damage else None
    name = other.settings.name
    # Neither an earlier challenger of the same name nor a model that was replaced since says anything of these two.
    reign = model.view().reign
    tried = [one for one in tried if compares(one, name) and one.started >= other.created and one.id > reign]
    experiment = tried[0] if tried else None
    advice, verdict = judged(name, behind, other.damage, earned, experiment)
    return ChallengerReport(
        name=name,
        challenges=model.settings.name,
        created=other.created,
        mode=view.mode,
        version=view.version,
        changes=changes(model.settings, other.settings),
        behind=behind,
        fates=dict(fold.fates) if fold else {},
        off_policy=earned,
        interleaving=experiment,
        advice=advice,
        verdict=verdict,
    )


def _kept(service: Service, model: LiveModel) -> Fold | None:
    """A state that is learned elsewhere, as it was kept last."""
    snapshot = service.store.newest_snapshot(model.id)
    return None if snapshot is None else Fold.restored(model.made, snapshot.state, snapshot.offset)


async def promote(service: Service, model: LiveModel, name: str) -> Model:
    """Let a challenger take the model's place: its settings and its newest kept state go into the log, and the
    challenger is gone. The states from before stay, to roll back to."""
    other = found(service, model, name)
    model.require_whole()
    other.require_whole()
    await _until_kept(service, model, other)
    offset = await asyncio.to_thread(_promote, service, model, other)
    if service.learner:
        service.learner.hurry()
    await model.applied(offset)
    await asyncio.to_thread(service.registry.refresh)
    return await asyncio.to_thread(models.describe, service, model)


async def _until_kept(service: Service, model: LiveModel, other: LiveModel) -> None:
    """Wait a moment until what a challenger has learned from the pages closed by now is kept."""
    newest = await asyncio.to_thread(service.store.newest_closings, model.id, 1)
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while newest:
                if service.learner:
                    service.learner.keep()
                kept = await asyncio.to_thread(service.store.newest_versions)
                if kept.get(other.id, (0, 0))[1] >= newest[0].offset:
                    return
                await asyncio.sleep(0.02)


def _promote(service: Service, model: LiveModel, other: LiveModel) -> int:
    store = service.store
    with store.transaction() as transaction:
        if gone := transaction.deleted({model.id, other.id}):
            raise (other if other.id in gone else model).gone()
        snapshot = store.newest_snapshot(other.id)
        stored = next((one for one in store.models() if one.id == other.id), None)
        if snapshot is None or stored is None:
            raise StateError(f"model {other.settings.name!r} has no kept state; drop it")
        behind = store.unfolded(snapshot.offset).get(model.id, 0)
        if behind > CLOSE:
            raise RequestError(
                "not_ready", f"{other.settings.name!r} still has {behind:,} closed pages of the log to learn from; wait"
            )
        fold = Fold.restored(other.made, snapshot.state, snapshot.offset)  # a damaged state must not get into the log
        body = encode(Promoted(other.id, stored.settings, fold.state(), snapshot.version, snapshot.offset))
        who = WHO.get()
        decided = [
            Control(model.id, Kind.PROMOTED, now(), body, who),
            Control(other.id, Kind.DELETED, now(), who=who),
        ]
        offset: int = settle(transaction, decided)[0]
        transaction.delete_model(other.id, now())
    return offset


async def drop(service: Service, model: LiveModel, name: str) -> None:
    """Forget a challenger; an experiment that it is part of ends."""
    other = found(service, model, name)

    def chosen(transaction: Transaction) -> set[int]:
        if transaction.deleted({other.id}):
            raise other.gone()
        return {other.id}

    await models.forget(service, chosen)
