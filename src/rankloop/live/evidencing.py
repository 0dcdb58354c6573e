"""What can be asked about a model's evidence: its actions, its queries, its segments."""

import asyncio

from rankloop.live import acting, contrasts
from rankloop.live.acting import ActionsReport
from rankloop.live.contrasts import QueriesReport, SegmentsReport
from rankloop.live.kept import noted_of
from rankloop.live.noted import Noted
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service


async def actions(service: Service, model: LiveModel) -> ActionsReport:
    """How often each action happened, and how the two orders compare in it."""
    noted = await asyncio.to_thread(known, service, model)
    return acting.report(model.settings, noted.acts)


async def queries(service: Service, model: LiveModel, limit: int) -> QueriesReport:
    """The most frequent queries, so many, and where the learned order helps and hurts."""
    noted = await asyncio.to_thread(known, service, model)
    return contrasts.queries_report(noted.evidence, limit, controlled=model.settings.guards.control > 0)


async def segments(service: Service, model: LiveModel) -> SegmentsReport:
    """The segments, and where the learned order helps and hurts."""
    noted = await asyncio.to_thread(known, service, model)
    return contrasts.segments_report(noted.evidence, controlled=model.settings.guards.control > 0)


def known(service: Service, model: LiveModel) -> Noted:
    """As the state says that is learned here; elsewhere, as the newest that was kept. Reads the store: in a thread."""
    fold = service.folds().get(model.id)
    if fold is not None:
        return fold.noted
    snapshot = service.store.newest_snapshot(model.id)
    return Noted(model.settings) if snapshot is None else noted_of(model.settings, snapshot.state)
