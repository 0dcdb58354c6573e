"""A service notices by itself that somebody steers, says it once, and looks at no more than it should."""

from types import SimpleNamespace

import pytest

from rankloop.live import steering
from rankloop.live.events import Kind, encode
from rankloop.live.http.metrics import Metrics
from rankloop.live.steering import Steering
from rankloop.live.stores import open_store

from .diary import FOR_ALL
from .in_process import running, told
from .test_suspicion import SETTINGS, as_people_do, for_the_vendor, visits

BOTS = range(1_000, 1_010)


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


def write(store, pages, number=1):
    """Pages of a model, shown and closed, at the end of the log."""
    with store.transaction() as transaction:
        place, events = transaction.next_offset(), []
        for shown, closing in pages:
            body = encode(type(closing)(place, closing.clicks, closing.why))
            closed = shown._replace(offset=place + 1, model=number, kind=int(Kind.CLOSED), client=b"", body=body)
            events += [shown._replace(offset=place, model=number), closed]
            place += 2
        transaction.write(events, [], [], [], [])


def served(number=1, version=1):
    return SimpleNamespace(id=number, version=version, settings=SETTINGS)


def people():
    return visits(range(100), 1_000, as_people_do)


def bots():
    return visits(BOTS, 200, for_the_vendor, seed=2)


@pytest.mark.slow
def test_a_botnet_is_told_once_without_names_and_forgotten_when_its_pages_are_old(store, caplog, monkeypatch):
    watch = Steering(store)
    write(store, people())
    watch.look([served()])
    assert watch.found[1].found == []
    write(store, bots())
    for version in (2, 3):
        watch.look([served(version=version)])
        assert [one.name for one in watch.found[1].found] == ["vendor"]
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith(
        "model 'm': 10 clients with 17 % of its newest pages click for more vendor as nobody else does"
    )
    assert line.endswith("rankloop log suspects LOG --model m")
    monkeypatch.setattr(steering, "PAGES", 1_000)
    write(store, people())
    watch.look([served(version=4)])
    assert watch.found[1].found == []


def test_one_model_is_looked_at_at_a_time_and_none_that_has_not_changed(store, monkeypatch):
    looked = []
    watch = Steering(store)
    monkeypatch.setattr(watch, "_newest_pages", lambda number: looked.append(number) or [])
    models = [served(1), served(2), served(3)]
    for _ in range(5):
        watch.look(models)
    assert sorted(looked) == [1, 2, 3]
    models[1].version = models[2].version = 7
    looked.clear()
    for _ in range(5):
        watch.look(models)
    assert sorted(looked) == [2, 3]
    watch.look(models[:1])
    assert list(watch.found) == [1]


def test_no_more_is_read_than_it_should_be(store, monkeypatch):
    write(store, people())
    watch = Steering(store)
    size = len(next(people())[0].body)
    monkeypatch.setattr(steering, "BYTES", 10 * size + size // 2)
    watch.look([served()])
    assert watch.found[1].pages == 10
    monkeypatch.setattr(steering, "BYTES", 1 << 30)
    monkeypatch.setattr(steering, "PAGES", 30)
    watch.look([served(version=2)])
    assert watch.found[1].pages == 30
    watch.stop()
    watch.look([served(version=3)])
    assert watch.found[1].pages == 0


def test_pages_that_cannot_be_read_or_were_erased_are_passed_over(store):
    write(store, visits(range(100), 20, as_people_do))
    with store._exclusive() as connection:
        connection.execute("UPDATE events SET body = x'c1' WHERE position IN (1, 4)")
        connection.execute(f"UPDATE events SET kind = {int(Kind.ERASED)}, body = x'' WHERE position IN (5, 6)")
    watch = Steering(store)
    watch.look([served()])
    assert watch.found[1].pages == 17


@pytest.mark.thorough
def test_a_service_counts_suspects_in_its_metrics(tmp_path):
    async def story():
        settings = type(SETTINGS)(name="shop", features=SETTINGS.names, page_size=5, seed=1, guards=FOR_ALL)
        async with running(tmp_path / "log.db", settings) as service:
            write(service.store, [*people(), *bots()])
            service.steering.look(service.registry.all())
            return Metrics(service).exposition().decode()

    assert 'rankloop_suspects{model="shop"} 10.0' in told(story())
