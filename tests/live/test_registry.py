"""The models as ranking sees them: the newest state, never an older one, and numbers that nobody else has."""

import asyncio
import re
import sqlite3
import threading

import msgspec
import pytest
from tests.patience import PATIENCE

from rankloop.live import registry
from rankloop.live.errors import RequestError, StateError, StoreError
from rankloop.live.events import Kind, Restored, encode, now
from rankloop.live.fold import Fold
from rankloop.live.log import Control
from rankloop.live.models import act, create_model, delete_model, describe, roll_back
from rankloop.live.registry import LiveModel
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import StoredModel
from rankloop.logs.verifying import verify

from ..logs.writing import refold
from .diary import FOR_ALL
from .in_process import X, click, rank, running, told, until


def model(name: str = "m") -> ModelSettings:
    return ModelSettings(name=name, features=2, seed=1, guards=FOR_ALL)


def view(offset: int, version: int = 0):
    fold = Fold(model())
    fold.offset, fold.version = offset, version
    return fold.view()


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


def live(store) -> LiveModel:
    with store.transaction() as transaction:
        number = transaction.create_model("m", msgspec.json.encode(model()), 0)
    return LiveModel(store, StoredModel(number, "m", msgspec.json.encode(model()), 0))


def test_a_state_is_never_replaced_by_an_older_one(store):
    found = live(store)
    for offset, version in [(5, 2), (3, 1), (5, 3), (9, 4), (8, 3)]:
        found.publish(view(offset, version))
    assert (found.view().offset, found.version) == (9, 4)


def test_before_its_state_is_loaded_a_model_says_so(store):
    found = live(store)
    assert found.version == 0
    with pytest.raises(StoreError, match="'m' is still being loaded"):
        found.view()


def test_those_who_wait_for_a_place_in_the_log_go_on_when_a_state_has_reached_it(store):
    async def story():
        found = live(store)
        waiting = [asyncio.create_task(found.applied(offset)) for offset in (4, 2, 7)]
        await asyncio.sleep(0)
        found.publish(view(4))
        await asyncio.gather(*waiting[:2])
        early = waiting[2].done()
        found.publish(view(9))
        await waiting[2]
        await found.applied(9)  # at once
        return early

    assert told(story()) is False


def test_numbers_are_given_once_whoever_asks_and_however_many_at_once(store, monkeypatch):
    monkeypatch.setattr(registry, "BLOCK", 7)

    async def story():
        one = live(store)
        two = LiveModel(store, StoredModel(one.id, "m", msgspec.json.encode(model()), 0))  # another process
        return await asyncio.gather(*(found.next_number(30.0) for _ in range(40) for found in (one, two)))

    numbers = told(story())
    assert len(set(numbers)) == 80
    # Blocks are used up, but for the last of each of the two.
    assert max(numbers) < 80 + 2 * 7


def test_a_store_that_cannot_give_numbers_is_asked_again_by_the_next_page(store, monkeypatch):
    async def story():
        found = live(store)
        answers = iter([StoreError("away"), StoreError("away"), 0])

        def reserve(model, count):
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(store, "reserve", reserve)
        for _ in range(2):
            with pytest.raises(StoreError, match="away"):
                await found.next_number(30.0)
        return await found.next_number(30.0)

    assert told(story()) == 0


def test_models_that_another_process_makes_learns_and_deletes_are_noticed(tmp_path):
    async def story():
        path = tmp_path / "log.db"
        async with running(path, model("a")) as one, running(path) as two:
            assert [found.settings.name for found in two.registry.all()] == ["a"]
            await create_model(two, model("b"))
            await until(lambda: len(one.registry.all()) == 2)
            names = [found.settings.name for found in one.registry.all()]
            gone = one.registry.get("b")
            await delete_model(two, two.registry.get("b"))
            await until(lambda: len(one.registry.all()) == 1)
            with pytest.raises(RequestError) as deleted:
                await one.registry.by_id(gone.id, PATIENCE)
            with pytest.raises(RequestError) as unknown:
                one.registry.get("b")
            return names, deleted.value.code, unknown.value.code, str(unknown.value)

    names, deleted, unknown, sentence = told(story())
    assert names == ["a", "b"]
    assert (deleted, unknown) == ("model_deleted", "no_such_model")
    assert "'b'" in sentence


def test_a_newer_snapshot_of_another_process_is_ranked_from(tmp_path):
    async def story():
        path = tmp_path / "log.db"
        async with running(path, model("a")) as one, running(path, learn=False) as two:
            found = one.registry.get("a")
            page = await rank(two, X[:, :2], name="a")
            await click(two, page.impression, page.ranking[:1], close=True)
            await until(lambda: found.version == 1)
            await until(lambda: two.registry.get("a").version == 1)
            return [service.registry.get("a").view().model.ranker.weights.tolist() for service in (one, two)]

    one, two = told(story())
    assert one == two != [0.0, 0.0]


def damage(path, version=0):
    """Spoil a model's kept state behind the service's back."""
    with sqlite3.connect(path) as connection:
        changed = connection.execute("UPDATE snapshots SET state = x'c1' WHERE version >= ?", [version]).rowcount
    connection.close()
    return changed


def test_a_model_whose_kept_state_is_damaged_shows_the_incoming_order_and_the_others_go_on(tmp_path, caplog):
    async def story():
        path = tmp_path / "log.db"
        async with running(path, model("a")) as service:
            page = await rank(service, X[:, :2], name="a")
            await click(service, page.impression, page.ranking[:1], close=True)
            await until(lambda: service.registry.get("a").version == 1)
        assert damage(path) > 0
        async with running(path, model("b")) as service:
            fallback, page = [await rank(service, X[:, :2], name=name) for name in "ab"]
            await click(service, page.impression, page.ranking[:1], close=True)
            await until(lambda: service.registry.get("b").version == 1)
            described = describe(service, service.registry.get("a"))
            troubles = service.trouble(), service.damaged()
            for refused in (act(service, service.registry.get("a"), "pause"), service_roll_back(service)):
                with pytest.raises(StateError, match="model 'a': its kept state is damaged"):
                    await refused
            done = await asyncio.to_thread(refold, path, "a", 1)
            await until(lambda: service.registry.get("a").damage is None)
            healed = await rank(service, X[:, :2], name="a")
            await click(service, healed.impression, healed.ranking[:1], close=True)
            await until(lambda: service.registry.get("a").version == done.version + 1)
            return fallback, described, troubles, done

    def service_roll_back(service):
        return roll_back(service, service.registry.get("a"), 0)

    fallback, described, troubles, done = told(story())
    assert (fallback.group, fallback.impression, fallback.ranking) == ("fallback", None, [f"d{i}" for i in range(6)])
    assert fallback.reason.startswith("model 'a': its kept state is damaged")
    assert (described.mode, described.version, described.trouble) == ("damaged", 1, fallback.reason)
    assert troubles == ([], [fallback.reason])
    assert (done.begins, done.learned, done.version, done.distance) == ("the beginning", 1, 2, 0.0)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [Kind.ROLLED_BACK, Kind.REFOLDED])
@pytest.mark.parametrize("body", [encode(Restored(0, b"\xc1", 1)), b"\xc1"], ids=["state", "event"])
def test_a_damaged_state_in_the_log_itself_stops_its_model_alone_until_a_refold(tmp_path, kind, body):
    async def story():
        path = tmp_path / "log.db"
        async with running(path, model("a")) as service:
            page = await rank(service, X[:, :2], name="a")
            await click(service, page.impression, page.ranking[:1], close=True)
            await until(lambda: service.registry.get("a").version == 1)
            await create_model(service, model("b"))
            await service.append(Control(service.registry.get("a").id, kind, 1, body))
            await until(lambda: service.registry.get("a").damage)
            page = await rank(service, X[:, :2], name="b")
            await click(service, page.impression, page.ranking[:1], close=True)
            await until(lambda: service.registry.get("b").version == 1)
        async with running(path) as service:
            await until(lambda: service.registry.get("a").damage)
            fallback = await rank(service, X[:, :2], name="a")
            troubles = service.trouble(), service.damaged()
            found = verify(path).problems
            done = await asyncio.to_thread(refold, path, "a", 1)
            await until(lambda: service.registry.get("a").damage is None)
            healed = await rank(service, X[:, :2], name="a")
            await click(service, healed.impression, healed.ranking[:1], close=True)
            await until(lambda: service.registry.get("a").version == done.version + 1)
            return fallback, troubles, found, done

    fallback, troubles, found, done = told(story())
    assert fallback.group == "fallback"
    assert re.match(r"model 'a': event \d+ of its log: .* damaged \(.+\); rankloop log refold", fallback.reason)
    assert troubles == ([], [fallback.reason])
    assert any("cannot be folded" in problem or "cannot be read" in problem for problem in found)
    assert (done.begins, done.learned) == ("the beginning", 1)

    async def again():
        async with running(tmp_path / "log.db") as service:
            return service.damaged(), service.registry.get("a").version

    assert told(again()) == ([], done.version + 1)
    assert not any("cannot be folded" in problem for problem in verify(tmp_path / "log.db").problems)


@pytest.mark.parametrize("kind", [Kind.SHOWN, Kind.CLOSED])
def test_an_event_that_cannot_be_read_stops_its_model_alone_if_at_all(tmp_path, kind):
    """A page is then as good as erased; what closed one, and therefore whose clicks are lost, only a refold passes."""
    path = tmp_path / "log.db"

    async def visit(service, name):
        page = await rank(service, X[:, :2], name=name)
        await click(service, page.impression, page.ranking[:1], close=True)

    async def story():
        async with running(path, model("a"), model("b")) as service:
            await visit(service, "a")
            await until(lambda: service.registry.get("a").version == 1)
        async with running(path, learn=False) as service:
            await visit(service, "a")
        with sqlite3.connect(path) as connection:
            newest = "SELECT max(position) FROM events WHERE kind = ?"
            connection.execute(f"UPDATE events SET body = x'c1' WHERE position = ({newest})", [int(kind)])
        connection.close()
        async with running(path) as service:
            await visit(service, "b")
            await until(lambda: service.registry.get("b").version == 1)
            troubles = service.trouble(), service.damaged()
            if kind == Kind.CLOSED:
                await until(lambda: service.registry.get("a").damage)
                troubles = service.trouble(), service.damaged()
                await asyncio.to_thread(refold, path, "a", 1)
                await until(lambda: service.registry.get("a").damage is None)
            version = service.registry.get("a").version
            await visit(service, "a")
            await until(lambda: service.registry.get("a").version == version + 1)
            return troubles, service.folds()[service.registry.get("a").id].fates

    (trouble, damaged), fates = told(story())
    assert trouble == []
    assert len(damaged) == (kind == Kind.CLOSED)
    assert all("which closes a page, cannot be read" in one for one in damaged)
    assert fates["learned"] == 2


def test_a_store_that_hangs_holds_up_nobody_but_the_clicks_on_a_model_that_was_just_made_elsewhere(
    tmp_path, monkeypatch
):
    asked, answer = [], threading.Event()

    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            page, loop = await rank(service, X[:, :2]), threading.current_thread()
            real = service.registry.refresh

            def hanging():
                asked.append(threading.current_thread())
                if asked[-1] is not loop:
                    answer.wait(PATIENCE)
                real()

            monkeypatch.setattr(service.registry, "refresh", hanging)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            elsewhere = service.impression_id(7, 0, now())
            strangers = await asyncio.gather(
                *(click(service, elsewhere, []) for _ in range(20)), return_exceptions=True
            )
            known = await service.verify(page.impression)
            waiting = list(asked)
            answer.set()
            monkeypatch.setattr("rankloop.live.service.PATIENCE", PATIENCE)
            with pytest.raises(RequestError) as after:
                await click(service, elsewhere, [])
            return strangers, known.number, after.value.code, waiting, loop

    strangers, number, after, waiting, loop = told(story())
    assert {str(error) for error in strangers} == {"the store did not respond within 0.1 s"}
    assert all(isinstance(error, StoreError) for error in strangers)
    assert (number, after) == (0, "model_deleted")
    assert loop not in asked
    assert len(waiting) <= 2  # by the service itself, and once for all who wait
