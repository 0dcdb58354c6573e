"""Aggregate as you write, don't scan: a look at a model costs the store the same, however many pages it has shown."""

import asyncio
import sqlite3
import time

import pytest
from benchmarks.live.generator import Load
from benchmarks.live.scenarios import grow
from tests.patience import PATIENCE

from rankloop.live.service import Service, now
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import SPANS, Tally
from rankloop.web.dashboard.reading import Readings
from rankloop.web.dashboard.tallied import OVERS
from rankloop.web.dashboard.trail import points, since

from .running import make_past, shop

LOAD = Load("shop", 10, 20, 0, 0)


class Watched:
    """Counts what SQLite does while a store is read: statements, and steps of its virtual machine."""

    def __init__(self, store):
        self.steps = 0
        self.statements = []
        connect = store._connect

        def watched():
            connection = connect()
            connection.set_progress_handler(self.count, 100)
            connection.set_trace_callback(self.statements.append)
            return connection

        store._connect = watched

    @property
    def questions(self):
        """What was asked, but for single states: a slow machine keeps more of them for the same pages."""
        return [sql for sql in self.statements if "AND version = " not in sql]

    def count(self):
        self.steps += 100
        return 0


def look(path, over):
    """One reading of the model, and what it cost."""

    async def read():
        service = Service(open_store(path), learn=False)
        await service.start()
        watched = Watched(service.store)
        reading = await Readings(service).model(service.registry.get("shop"), over)
        await service.stop()
        assert reading.trouble is None
        return reading, watched

    return asyncio.run(read())


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two logs of the same length in time: one with 500 pages, one with 15,000."""
    folder = tmp_path_factory.mktemp("logs")
    for pages in (500, 15_000):
        grow(folder / f"{pages}.db", LOAD, pages)
    return folder


@pytest.mark.parametrize("over", OVERS, ids=lambda over: over.name)
def test_thirty_times_the_pages_are_no_more_work(logs, over):
    (few, little), (many, much) = (look(logs / f"{pages}.db", over) for pages in (500, 15_000))
    assert [sum(ranks[0].shown for ranks in reading.ever.values()) for reading in (few, many)] == [500, 15_000]
    # Fifteen thousand pages may fall into one minute more than five hundred, and reading a deeper tree takes a little.
    assert much.steps < 1.3 * little.steps + 3_000
    assert len(much.questions) == len(little.questions)


def test_no_question_to_the_store_reads_a_whole_table(logs):
    _, watched = look(logs / "500.db", OVERS[0])
    asked = [sql for sql in watched.statements if sql.startswith("SELECT")]
    assert len(asked) > 8
    connection = sqlite3.connect(logs / "500.db")
    for sql in asked:
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}"))
        assert "SCAN" not in plan, f"{sql}: {plan}"
        assert "TEMP B-TREE" not in plan, f"{sql}: {plan}"
    connection.close()


def test_ten_years_are_read_as_days(tmp_path):
    grow(tmp_path / "log.db", LOAD, 10)
    store, minute = open_store(tmp_path / "log.db"), now() // 60_000
    years = [minute - minute % 1440 - 1440 * day for day in range(1, 3650)]
    rows = [Tally(1, SPANS[2], day, group, 0, 100, 50.0, 50.0, 1.0) for day in years for group in (0, 1)]
    with store.transaction() as transaction:
        transaction.write([], [], [], [], rows)
    store.close()
    reading, watched = look(tmp_path / "log.db", OVERS[2])
    assert reading.step == 7 * 1440
    assert len(reading.times) < 530
    assert reading.ever[1][0].shown == 100 * 3649
    assert watched.steps < 30 * len(rows)


def test_many_who_look_at_once_ask_the_store_once(logs):
    async def read():
        service = Service(open_store(logs / "500.db"), learn=False)
        await service.start()
        watched, readings = Watched(service.store), Readings(service)
        model = service.registry.get("shop")
        await asyncio.gather(*(readings.model(model, OVERS[0]) for _ in range(20)))
        await service.stop()
        return watched

    assert len(asyncio.run(read()).statements) == len(look(logs / "500.db", OVERS[0])[1].statements)


def test_a_store_that_hangs_does_not_hold_up_the_page(logs, monkeypatch):
    async def read():
        service = Service(open_store(logs / "500.db"), learn=False)
        await service.start()
        model, readings = service.registry.get("shop"), Readings(service)
        before = await readings.model(model, OVERS[0])
        monkeypatch.setattr("rankloop.web.dashboard.reading.FRESH", 0.0)
        monkeypatch.setattr("rankloop.web.dashboard.reading.PATIENCE", 0.05)
        answered = asyncio.Event()
        asked, loop = [], asyncio.get_running_loop()

        def hang(*_, **__):
            asked.append(time.monotonic())
            asyncio.run_coroutine_threadsafe(answered.wait(), loop).result(PATIENCE)
            return []

        monkeypatch.setattr(service.store, "snapshots", hang)
        told = [await readings.model(model, OVERS[0]) for _ in range(5)]
        answered.set()
        await asyncio.gather(*readings._asking.values())
        await service.stop()
        return before, told, asked

    before, told, asked = asyncio.run(read())
    assert len(asked) == 1
    for reading in told:
        assert reading.trouble
        assert reading.ever == before.ever


def test_since_when_it_helps_and_the_beginning_of_the_curve_outlive_the_states_they_were_known_at(tmp_path):
    """With no page in between, “clear since” moved from page 1,096 to page 1,460: states had been thinned out."""
    path = tmp_path / "log.db"
    store = open_store(path)
    number = make_past(store, shop(), minutes=40, per_minute=60)
    before, _ = look(path, OVERS[0])
    tone = before.trail[-1].verdict.tone
    assert tone == "good"
    kept = store.snapshots(number)
    store.forget_snapshots(number, [one.version for one in kept[3:-1]])
    after, _ = look(path, OVERS[0])
    assert since(after.trail, tone) == since(before.trail, tone)
    assert points(after.trail) == points(before.trail)
    assert len(points(after.trail)) > 5
