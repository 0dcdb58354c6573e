"""The learner: a snapshot is the state at its place in the log, one process learns, and history thins out."""

import itertools
import sqlite3
import threading

import msgspec
import numpy as np
import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.learners import DBGD, PMGD, ROLTR
from rankloop.live import learning, models
from rankloop.live.errors import StoreError
from rankloop.live.events import FOLDED, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.learning import KEPT, SPACING, Learner, superfluous
from rankloop.live.loading import closed_impression, load, settings_of
from rankloop.live.log import Click, Close, Control, Show, settle
from rankloop.live.ranking import Ranking
from rankloop.live.serving import serve
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import Snapshot

from .diary import FOR_ALL, request
from .in_process import X, click, rank, running, told, until

HOUR = 3_600_000


def model(name: str = "m", **more) -> ModelSettings:
    return ModelSettings(name=name, **({"features": 3, "page_size": 3, "seed": 7, "guards": FOR_ALL} | more))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


@pytest.fixture
def store(path):
    store = open_store(path)
    yield store
    store.close()


def make_model(store, settings: ModelSettings) -> int:
    with store.transaction() as transaction:
        number = transaction.create_model(settings.name, msgspec.json.encode(settings), 0)
        [offset] = settle(transaction, [Control(number, Kind.CREATED, 0)])
        transaction.save_snapshot(Snapshot(number, 0, offset, 0, Fold(settings).state()), expects=-1)
    return number


def traffic(store, number: int, settings: ModelSettings, pages: int, first: int = 0) -> None:
    """Pages shown, clicked and closed, drawn from the model's beginning."""
    ranking, view = Ranking(settings), Fold(settings).view()
    for n in range(first, first + pages):
        page = ranking.rank(view, request(X, settings), n).impression
        with store.transaction() as transaction:
            shown = Show(number, n, 0, b"", encode(page), len(page.page), page.group, page.displacement)
            settle(transaction, [shown, Click(number, n, 0, [n % 3], [1.0]), Close(number, n, 0, "asked")])


def refolded(store, model, upto: int | None = None) -> Fold:
    """The state after the events up to an offset, from nothing but the log."""
    fold = Fold(settings_of(model))
    for event in store.events(0, 10**6, kinds=FOLDED, model=model.id):
        if upto is None or event.offset <= upto:
            fold.apply(event, closed_impression(store, event))
    return fold


def learner_of(store, published=None) -> Learner:
    def publish(model, view):
        if published is not None:
            published.append((model, view))

    return Learner(store, publish, lambda: 0)


def catch_up(learner: Learner) -> None:
    """One round of the learner's own loop, in this thread."""
    learner._adopt()
    while learner._step():
        pass
    learner._save()


# Snapshots


@pytest.mark.parametrize("learner", [ROLTR(baseline=True), DBGD(), PMGD(candidates=3)], ids=str)
def test_every_snapshot_is_the_fold_of_the_log_up_to_its_offset(store, learner, monkeypatch):
    monkeypatch.setattr(learning, "BATCH", 4)
    settings = model(learner=learner, scaling="running")
    number = make_model(store, settings)
    at_work = learner_of(store)
    for first in range(0, 30, 6):
        traffic(store, number, settings, 6, first)
        catch_up(at_work)
    at_work._end()
    [stored] = store.models()
    versions = [snapshot.version for snapshot in store.snapshots(number)]
    assert versions == [30, 24, 18, 12, 6, 0]
    for version in versions:
        snapshot = store.snapshot(number, version)
        assert snapshot.state == refolded(store, stored, snapshot.offset).state()


def test_a_model_comes_with_its_first_snapshot_or_not_at_all(path, monkeypatch):
    from rankloop.live.stores import sqlite_transaction

    async def story():
        async with running(path) as service:
            with monkeypatch.context() as broken:

                def fails(*_, **__):
                    raise StoreError("no room")

                broken.setattr(sqlite_transaction.SQLiteTransaction, "save_snapshot", fails)
                with pytest.raises(StoreError, match="no room"):
                    await models.create_model(service, model())
            left = service.store.models(), service.store.last_offset()
            await models.create_model(service, model())
            snapshot = service.store.newest_snapshot(1)
            return left, snapshot.offset, snapshot.state == Fold(model()).state()

    assert told(story()) == (([], 0), 1, True)


def test_a_snapshot_that_was_not_written_costs_nothing_but_time(store, monkeypatch):
    settings = model()
    number = make_model(store, settings)
    traffic(store, number, settings, 5)
    at_work = learner_of(store)
    at_work._adopt()
    at_work._step()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._write.execute("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreError, match="another process holds the database"):
        at_work._save()
    other.execute("ROLLBACK")
    other.close()
    assert store.newest_snapshot(number).version == 0  # as before
    fold, offset = load(store, store.models()[0])
    assert (fold.version, offset) == (0, 1)
    at_work._save()
    assert store.newest_snapshot(number).state == refolded(store, store.models()[0]).state()
    at_work._end()


def test_an_idle_models_snapshot_moves_up_the_log_so_that_a_restart_is_quick(store, monkeypatch):
    monkeypatch.setattr(learning, "LAG", 20)
    quiet, busy = model("quiet"), model("busy")
    one, two = make_model(store, quiet), make_model(store, busy)
    at_work = learner_of(store)
    catch_up(at_work)
    before = store.newest_snapshot(one).offset
    traffic(store, two, busy, 10)
    catch_up(at_work)
    at_work._end()
    after = store.newest_snapshot(one)
    assert after.offset > before
    assert (after.version, len(store.snapshots(one))) == (0, 1)


# One process learns


def test_two_learners_of_one_log_do_not_learn_for_the_same_model_and_the_second_takes_over(store, path):
    settings = model(scaling="running")
    number = make_model(store, settings)
    other_store = open_store(path)
    first, second = learner_of(store), learner_of(other_store)
    traffic(store, number, settings, 4)
    catch_up(first)
    catch_up(second)
    assert (list(first.folds()), list(second.folds())) == ([number], [])
    traffic(store, number, settings, 4, first=4)
    first._end()  # keeps what it has, and lets go
    catch_up(second)
    assert list(second.folds()) == [number]
    assert second.folds()[number].state() == refolded(store, store.models()[0]).state()
    assert second.folds()[number].fates == {"learned": 8}
    second._end()
    other_store.close()


def test_a_standby_in_another_service_takes_over_when_the_learner_ends(path):
    async def story():
        async with running(path) as standby:
            async with running(path, model()) as active:
                page = await rank(active)
                await click(active, page.impression, page.ranking[:1])
                await active.close(page.impression, wait=True)
                assert list(active.learner.folds()) == [1]
                assert list(standby.learner.folds()) == []
                page = await rank(active)
            await until(lambda: 1 in standby.learner.folds())
            await standby.close(page.impression, wait=True)
            [stored] = standby.store.models()
            return standby.learner.folds()[1].state() == refolded(standby.store, stored).state()

    assert told(story())


def test_a_learner_that_lost_its_model_without_noticing_cannot_undo_anothers_work(store):
    settings = model()
    number = make_model(store, settings)
    published: list = []
    late = learner_of(store, published)
    traffic(store, number, settings, 3)
    late._adopt()
    late._step()
    # Meanwhile another process, which got the lease when this one's was lost, has learned more.
    traffic(store, number, settings, 3, first=3)
    other = refolded(store, store.models()[0])
    with store.transaction() as transaction:
        assert transaction.save_snapshot(Snapshot(number, 6, other.offset, 0, other.state()), expects=1)
    late._save()
    assert late.folds() == {}
    assert store.newest_snapshot(number).state == other.state()
    # It begins again from what is there.
    catch_up(late)
    assert late.folds()[number].state() == other.state()
    late._end()


def test_a_lost_lease_is_noticed_and_the_state_is_not_published_any_more(store):
    settings = model()
    number = make_model(store, settings)
    at_work = learner_of(store)
    catch_up(at_work)
    at_work._leases[number].release()
    rival = store.lease(f"model-{number}")
    traffic(store, number, settings, 2)
    catch_up(at_work)
    assert at_work.folds() == {}
    rival.release()
    catch_up(at_work)
    assert at_work.folds()[number].fates == {"learned": 2}
    at_work._end()


# Trouble


@pytest.mark.slow
def test_after_an_error_of_the_store_learning_goes_on_from_the_snapshot_with_the_same_bits(store, monkeypatch):
    settings = model(scaling="running")
    number = make_model(store, settings)
    traffic(store, number, settings, 10)
    monkeypatch.setattr(learning, "BATCH", 3)
    calls = itertools.count()
    real, done = store.event, threading.Event()

    def flaky(offset):
        if next(calls) in (2, 7, 11):
            raise StoreError("away for a moment")
        return real(offset)

    monkeypatch.setattr(store, "event", flaky)
    at_work = Learner(store, lambda _, view: done.set() if view.version == 10 else None, lambda: 0)
    at_work.start()
    at_work.wake()
    assert done.wait(PATIENCE), "version 10 was not reached"
    at_work.stop()
    assert store.newest_snapshot(number).state == refolded(store, store.models()[0]).state()


def test_while_the_store_is_away_the_learner_is_alive_and_says_why_it_waits(store, monkeypatch):
    make_model(store, model())
    away, told_so = threading.Event(), threading.Event()
    away.set()
    real = store.models

    def away_for_a_while():
        if away.is_set():
            raise StoreError("the store is away")
        told_so.set()
        return real()

    monkeypatch.setattr(store, "models", away_for_a_while)
    at_work = learner_of(store)
    at_work.start()
    at_work.wake()
    wait_until(lambda: at_work.error, "the learner says that the store is away")
    assert (at_work.alive, at_work.error) == (True, "the store is away")
    away.clear()
    at_work.wake()
    assert told_so.wait(PATIENCE), "the learner did not ask again"
    wait_until(lambda: at_work.error is None, "the learner says that the store is back")
    at_work.stop()
    assert not at_work.alive


# History


def history(ages_in_minutes) -> list[Snapshot]:
    now = 10**9 * HOUR
    count = len(ages_in_minutes)
    return [Snapshot(1, count - n, count - n, now - int(age * 60_000), b"") for n, age in enumerate(ages_in_minutes)]


def test_the_newest_and_the_oldest_snapshots_always_stay():
    snapshots = history(range(1000))
    doomed = set(superfluous(snapshots))
    assert not doomed & {snapshot.version for snapshot in [*snapshots[:KEPT], snapshots[-1]]}
    assert len(snapshots) - len(doomed) < 100
    assert superfluous([]) == []
    assert superfluous(history(range(KEPT))) == []


@pytest.mark.thorough
def test_a_year_of_learning_leaves_some_hundred_snapshots_dense_near_now_and_sparse_long_ago():
    """One state a quarter of an hour, thinned out again and again as the learner does it."""
    kept: list[tuple[int, int]] = []  # (version, at), newest first
    for version in range(4 * 24 * 365):
        kept.insert(0, (version, version * HOUR // 4))
        if len(kept) % 10 == 0:
            doomed = set(superfluous([Snapshot(1, v, v, at, b"") for v, at in kept]))
            if len(doomed) >= KEPT:
                kept = [(v, at) for v, at in kept if v not in doomed]
    assert len(kept) < 250
    assert kept[-1][0] == 0
    now = kept[0][1]
    ages = np.array([now - at for _, at in kept[KEPT:]], dtype=float)
    # Between neighbours never lies more than a tenth of the older one's age: there is always somewhere to go back to.
    assert (np.diff(ages) / ages[1:]).max() <= SPACING


def test_the_learner_thins_out_what_it_keeps(store):
    number = make_model(store, model())
    at_work = learner_of(store)
    at_work._adopt()
    for version in range(1, 200):
        with store.transaction() as transaction:
            snapshot = Snapshot(number, version, version + 1, version * 60_000, b"")
            assert transaction.save_snapshot(snapshot, expects=version)
    at_work._thin(number)
    versions = [snapshot.version for snapshot in store.snapshots(number)]
    assert versions[:KEPT] == list(range(199, 199 - KEPT, -1))
    assert versions[-1] == 0
    assert len(versions) < 80
    at_work._thin(number)
    assert [snapshot.version for snapshot in store.snapshots(number)] == versions
    at_work._end()


def test_a_log_with_a_state_of_a_format_nobody_knows_is_not_served(store, path):
    settings = model()
    newer = msgspec.msgpack.encode(msgspec.msgpack.decode(Fold(settings).state()) | {"format": 2})
    number = make_model(store, settings)
    with store.transaction() as transaction:
        transaction.save_snapshot(Snapshot(number, 1, 2, 0, newer), expects=1)
    store.close()
    with pytest.raises(StoreError, match="format 2, and this rankloop reads format 1"):
        serve(path, port=0)
