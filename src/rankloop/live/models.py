"""What people decide about models: create, pause, resume, freeze, roll back, delete. Each is an event in the log."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.learners import to_settings
from rankloop.learners.contract import require_small
from rankloop.live.descriptions import Comparison, Exploration, Mode, Model, SnapshotDocument, WeightChange
from rankloop.live.errors import RequestError
from rankloop.live.events import Kind, Restored, encode
from rankloop.live.fold import Fold
from rankloop.live.kept import decoded, drawers_in, settings_in, summary_of
from rankloop.live.keys import WHO
from rankloop.live.loading import settings_of
from rankloop.live.log import Control, settle
from rankloop.live.registry import LiveModel
from rankloop.live.requests import Limits
from rankloop.live.service import Service, now
from rankloop.live.settings import IncomingOrder, ModelSettings, Weights
from rankloop.live.start import Report, settled, starting_point
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import COMPACTED, Snapshot
from rankloop.live.stores.transaction import Transaction
from rankloop.settings import counted

ACTIONS = {
    "pause": Kind.PAUSED,
    "resume": Kind.RESUMED,
    "freeze": Kind.FROZEN,
    "freeze-scaling": Kind.SCALING_FROZEN,
}


MAX_MODELS = 500
PREPARING_SECONDS = 120.0
"""How long the making of a model waits for its kernels: a second if they are on disk, more if they are not."""
MAX_SAMPLE_QUERIES, MAX_SAMPLE_SCORES = 1_000, 100_000


async def create_model(service: Service, settings: ModelSettings) -> Report:
    """Make a model and its first snapshot in one transaction; its expected exploration is reported."""
    if settings.challenges is not None:
        raise RequestError(
            "invalid_model", f"model: make a challenger with POST /v1/models/{settings.challenges}/challengers"
        )
    require_room(service)
    report = await starting_report(service, settings)
    settings = await asyncio.to_thread(settled, settings)
    if not await asyncio.to_thread(create, service, settings, report.weights):
        raise name_taken(settings.name)
    await noticed(service)
    return report


def require_room(service: Service) -> None:
    """Refuse a model too many."""
    if len(service.registry.all()) >= MAX_MODELS:
        raise RequestError("too_many_models", f"a service can have at most {MAX_MODELS} models; delete one first")


def name_taken(name: str) -> RequestError:
    """What is said to whoever wants a name that another model has."""
    return RequestError("name_taken", f"a model {name!r} already exists; choose another name")


def create(
    service: Service, settings: ModelSettings, weights: list[float] | None, challenged: LiveModel | None = None
) -> bool:
    """Write a new model down, with its first snapshot, in one transaction; False if the name is taken. A challenger
    begins where the pages do that it learns from."""
    text = msgspec.json.encode(settings)
    drawn_by = challenged.made if challenged else None
    with service.store.transaction() as transaction:
        if challenged and transaction.deleted({challenged.id}):
            raise challenged.gone()
        model = transaction.create_model(settings.name, text, now())
        if model is None:
            return False
        offset = settle(transaction, [Control(model, Kind.CREATED, now(), text, WHO.get())])[0]
        fold = Fold(settings, weights, drawn_by)
        if challenged is not None:
            offset = _pages_begin(service.store, challenged, fold)
        transaction.save_snapshot(Snapshot(model, 0, offset, now(), fold.state()), expects=-1)
    return True


def _pages_begin(store: Store, model: LiveModel, challenger: Fold) -> int:
    """The place in the log after which all of a model's pages can be folded. Where its first events were compacted
    away, a challenger is told whose settings drew the pages."""
    created = store.events(0, 1, kinds=(Kind.CREATED,), model=model.id)
    if created and created[0].offset + 1 >= int(store.fact(COMPACTED) or 0):
        return created[0].offset
    if newest := store.newest_snapshot(model.id):
        challenger.drawers |= drawers_in(decoded(newest.state))
    return store.snapshots(model.id)[-1].offset


async def noticed(service: Service) -> None:
    """Wait until a new model can rank."""
    await asyncio.to_thread(service.registry.refresh)
    if service.learner:
        service.learner.wake()
    with suppress(TimeoutError):
        # On kernels that nobody has compiled yet it takes longer; until then pages come in the incoming order.
        await asyncio.wait_for(asyncio.shield(service.preparation.begin()), PREPARING_SECONDS)


async def starting_report(service: Service, settings: ModelSettings) -> Report:
    """Where a model would begin, without making it."""
    try:
        require_affordable(settings, service.limits)
        chosen = await asyncio.to_thread(settled, settings)
        chosen.learner.require_affordable(len(chosen.names), chosen.page_size)
        return await asyncio.to_thread(starting_point, chosen)
    except SettingsError as error:
        raise RequestError("invalid_model", str(error)) from None


def require_affordable(settings: ModelSettings, limits: Limits) -> None:
    """Refuse settings that are possible, but would take the service down: too much memory or time, or overflow."""
    settings.learner.require_affordable(len(settings.names), settings.page_size)
    match settings.start:
        case Weights(weights, sample=sample, candidates=candidates):
            require_small("start: a weight", weights)
            _require_small_sample(sample, candidates, limits)
        case IncomingOrder(sample=sample, candidates=candidates):
            _require_small_sample(sample, candidates, limits)


def _require_small_sample(sample: tuple[tuple[float, ...], ...], candidates: int, limits: Limits) -> None:
    if candidates > limits.candidates:
        raise SettingsError(
            f"start: candidates must be at most {limits.candidates:,}, as in a request; got {counted(candidates)}"
        )
    scores = sum(len(query) for query in sample)
    if len(sample) > MAX_SAMPLE_QUERIES or scores > MAX_SAMPLE_SCORES:
        raise SettingsError(
            f"start: a sample has at most {MAX_SAMPLE_QUERIES:,} queries and {MAX_SAMPLE_SCORES:,} scores; "
            f"got {len(sample):,} and {scores:,}"
        )


async def act(service: Service, model: LiveModel, action: str) -> Model:
    """Pause, resume, freeze, or freeze the scaling; answered when the model has taken it in."""
    if action == "freeze-scaling" and model.settings.scaling != "running":
        scaling = model.settings.scaling if isinstance(model.settings.scaling, str) else "fixed"
        raise RequestError("nothing_to_freeze", f"scaling {scaling!r} does not change as the model learns")
    model.require_whole()
    await decided(service, model, Control(model.id, ACTIONS[action], now()))
    return describe(service, model)


async def decided(service: Service, model: LiveModel, decision: Control) -> None:
    """Put a decision into the log, and wait until the model has taken it in."""
    [offset] = await service.append(decision._replace(who=WHO.get()))
    if offset is None:
        raise model.gone()
    await model.applied(offset)


async def roll_back(service: Service, model: LiveModel, version: int) -> Model:
    """Return to a snapshot: its whole state goes into the log, so the log alone still tells what the weights are."""
    model.require_whole()
    snapshot = await _snapshot(service, model, version)
    Fold.restored(model.made, snapshot.state, snapshot.offset)  # a damaged state must not get into the log
    body = encode(Restored(version, snapshot.state, snapshot.offset))
    await decided(service, model, Control(model.id, Kind.ROLLED_BACK, now(), body))
    return describe(service, model)


async def snapshot_document(service: Service, model: LiveModel, version: int) -> SnapshotDocument:
    """A kept state, readable, with the whole of it for safekeeping."""
    snapshot = await _snapshot(service, model, version)
    summary = summary_of(snapshot.state)
    return SnapshotDocument(
        format="rankloop-snapshot",
        model=model.settings.name,
        settings=settings_in(model.made, decoded(snapshot.state)),
        version=version,
        offset=snapshot.offset,
        at=snapshot.at,
        features=list(model.settings.names),
        weights=summary.weights.tolist(),
        mode=summary.mode,
        fates=dict(summary.fates),
        state=snapshot.state,
    )


async def restored(service: Service, model: LiveModel, version: int) -> Fold:
    """The state of a version that is kept."""
    snapshot = await _snapshot(service, model, version)
    return Fold.restored(model.made, snapshot.state, snapshot.offset)


async def compare(service: Service, model: LiveModel, before: int, after: int) -> Comparison:
    """Weights of two states, one by one, largest change first, and how far apart they point."""
    kept = [await _snapshot(service, model, version) for version in (before, after)]
    one, two = (summary_of(snapshot.state) for snapshot in kept)
    u, v = one.weights, two.weights
    if len(u) != len(v):
        raise RequestError(
            "invalid_request", f"versions {before} and {after} have rankers of different kinds: no weights to compare"
        )
    order = np.argsort(-np.abs(v - u), kind="stable")
    names = settings_in(model.made, decoded(kept[1].state)).weight_names
    return Comparison(
        before=before,
        after=after,
        learned_between=two.fates["learned"] - one.fates["learned"],
        distance=float(np.linalg.norm(v - u)),
        cosine=cosine(u, v),
        weights=[WeightChange(names[i], float(u[i]), float(v[i]), float(v[i] - u[i])) for i in order.tolist()],
    )


def cosine(u: NDArray[np.float64], v: NDArray[np.float64]) -> float | None:
    """Of the angle between two rankers' weights; None if one is zero."""
    lengths = float(np.linalg.norm(u) * np.linalg.norm(v))
    return float(u @ v) / lengths if lengths > 0 else None


async def _snapshot(service: Service, model: LiveModel, version: int) -> Snapshot:
    snapshot = await asyncio.to_thread(service.store.snapshot, model.id, version)
    if snapshot is None:
        raise RequestError(
            "no_such_snapshot",
            f"there is no snapshot of version {version}; GET /v1/models/{model.settings.name}/snapshots lists them",
        )
    return snapshot


async def delete_model(service: Service, model: LiveModel) -> None:
    """Forget a model, and its challengers, which learn from its pages; events stay in the log until it is compacted."""
    await forget(service, lambda _: {model.id, *_challengers(service.store, model.settings.name)})


async def forget(service: Service, chosen: Callable[[Transaction], set[int]]) -> None:
    """Delete models, and end the experiments of others that they are part of: no page could be interleaved any more.
    Which ones is asked within the transaction."""

    def delete() -> dict[LiveModel, int]:
        ended = {}
        with service.store.transaction() as transaction:
            doomed = chosen(transaction)
            for other in (one for one in service.registry.all() if one.id not in doomed):
                running = other.view().experiment
                if running is not None and doomed.intersection(running.models):
                    stop = Control(other.id, Kind.EXPERIMENT_STOPPED, now(), who=WHO.get())
                    [ended[other]] = settle(transaction, [stop])
            for number in sorted(doomed):
                settle(transaction, [Control(number, Kind.DELETED, now(), who=WHO.get())])
                transaction.delete_model(number, now())
        return ended

    ended = await asyncio.to_thread(delete)
    if ended and service.learner:
        service.learner.hurry()
    for other, offset in ended.items():
        await other.applied(offset)
    await asyncio.to_thread(service.registry.refresh)


def _challengers(store: Store, name: str) -> list[int]:
    """As the store has them: another process may just have made one."""
    return [other.id for other in store.models() if settings_of(other).challenges == name]


def describe(service: Service, model: LiveModel) -> Model:
    """A model as it is now. Its exploration so far: how far documents stood, on average over all learned pages, from
    where the model's best order has them."""
    view = model.view()
    fold = service.folds().get(model.id)
    learned = fold.fates["learned"] if fold else 0
    return Model(
        name=model.settings.name,
        version=view.version,
        mode=cast(Mode, view.mode),
        created=model.created,
        learner=to_settings(model.settings.learner),
        page_size=model.settings.page_size,
        features=list(model.settings.names),
        weights=view.model.ranker.weights.tolist(),
        settings=model.settings,
        offset=view.offset,
        open=service.store.open_count(model.id),
        fates=dict(fold.fates) if fold else {},
        exploration=Exploration(
            model.settings.learner.policy_temperature, fold.explored / learned if fold and learned else None
        ),
        guarded=view.guarded,
        trouble=view.damage,
    )
