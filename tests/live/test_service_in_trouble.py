"""The store is down: pages go on, nothing is promised that is not kept."""

import asyncio
import sqlite3
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from tests.patience import PATIENCE

from rankloop.answers import Closed
from rankloop.live.errors import StoreError
from rankloop.live.events import Kind, decode

from .in_process import IDS, X, click, model, rank, running, told, until


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


# The store is down


def assert_incoming_order(page, reason: str) -> None:
    assert (page.group, page.impression) == ("fallback", None)
    assert page.ranking == ["d0", "d5", "d1"]
    assert page.rest == ["d2", "d3", "d4"]
    assert reason in page.reason


async def page_in_trouble(service):
    return await rank(service, pinned={"d5": 2}, rest=True)


def break_by_error(service, monkeypatch):
    @contextmanager
    def transaction():
        raise StoreError("the disk is on fire")
        yield

    monkeypatch.setattr(service.store, "transaction", transaction)
    return monkeypatch.undo, "the disk is on fire"


def break_by_lock(service, monkeypatch):
    service.store._write.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(service.store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return lambda: (other.execute("ROLLBACK"), other.close()), "another process holds the database"


def break_by_permission(service, monkeypatch):
    service.store._write.execute("PRAGMA query_only = ON")
    return lambda: service.store._write.execute("PRAGMA query_only = OFF"), "read-only"


def break_by_full_disk(service, monkeypatch):
    write = service.store._write
    # A free page or two may be left; a large page of candidates does not fit into them.
    write.execute(f"PRAGMA max_page_count = {write.execute('PRAGMA page_count').fetchone()[0]}")
    return lambda: write.execute(f"PRAGMA max_page_count = {2**30}"), "full"


@pytest.mark.parametrize("breaking", [break_by_error, break_by_lock, break_by_permission, break_by_full_disk])
def test_without_its_store_pages_come_in_the_incoming_order_with_the_reason_and_it_recovers_by_itself(
    path, monkeypatch, breaking
):
    async def story():
        async with running(path, model(features=3)) as service:
            first = await rank(service)
            await click(service, first.impression, first.ranking[:1])
            repair, reason = breaking(service, monkeypatch)
            candidates = np.tile(X, (1 if breaking is not break_by_full_disk else 700, 1))
            if breaking is break_by_full_disk:
                page = await rank(service, candidates)
                assert (page.group, page.impression, page.ranking) == ("fallback", None, IDS[:3])
                assert reason in page.reason
            else:
                assert_incoming_order(await page_in_trouble(service), reason)
            fallbacks = service.counts["impressions", "fallback"]
            repair()
            second = await rank(service, candidates)
            for page in (first, second):
                await service.close(page.impression, wait=True)
            await until(lambda: not service._unseen)
            fates = dict(service.learner.folds()[1].fates)
            return first.group, second.group, fallbacks, fates, service.trouble()

    assert told(story()) == ("learned", "learned", 1, {"learned": 2}, [])


def test_clicks_and_closings_that_cannot_be_kept_are_errors_not_promises(path, monkeypatch):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            repair, _ = break_by_permission(service, monkeypatch)
            for attempt in (click(service, page.impression, page.ranking[:1]), service.close(page.impression)):
                with pytest.raises(StoreError, match="read-only"):
                    await attempt
            repair()
            answer = await click(service, page.impression, page.ranking[:1])
            return answer.accepted, await service.close(page.impression, wait=True)

    assert told(story()) == (1, Closed(True, 1))


def test_a_page_that_reached_the_log_after_its_caller_was_gone_is_never_learned_from(path, monkeypatch):
    async def story():
        async with running(path, model(window=0.2)) as service:
            await service.registry.get("m").next_number(PATIENCE)  # from now on there are numbers at hand
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")  # the writer waits for it, longer than the page does
            page = await page_in_trouble(service)
            assert_incoming_order(page, "did not respond within 0.1 s")
            monkeypatch.undo()
            other.execute("ROLLBACK")
            other.close()
            await until(lambda: 1 in service.learner.folds() and service.learner.folds()[1].fates.total() == 1)
            await until(lambda: not service._unseen)
            return dict(service.learner.folds()[1].fates), service.store.open_count(1), service.store.tallies(1)

    assert told(story()) == ({"void": 1}, 0, [])


def test_pages_that_were_given_up_on_before_their_turn_are_never_written(path, monkeypatch):
    async def story():
        async with running(path, model()) as service:
            await service.registry.get("m").next_number(PATIENCE)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            pages = [await page_in_trouble(service) for _ in range(10)]
            monkeypatch.undo()
            other.execute("ROLLBACK")
            other.close()
            await until(lambda: not service._unseen)
            last = await rank(service)
            shown = [event for event in service.store.events(0, 99) if event.kind == Kind.SHOWN]
            return {page.group for page in pages}, last.group, len(shown)

    groups, last, shown = told(story())
    assert (groups, last) == ({"fallback"}, "learned")
    assert shown <= 2  # the last, and the one that the writer held when the log was locked


def test_a_page_whose_commit_was_not_heard_of_is_never_learned_from(path, monkeypatch):
    """A connection can break after the commit and before its answer: the page is in the log, and nobody saw it."""

    async def story():
        async with running(path, model(window=0.2)) as service:
            real = service.store.transaction

            @contextmanager
            def unheard_of():
                with real() as transaction:
                    yield transaction
                raise StoreError("the connection broke during a commit")

            monkeypatch.setattr(service.store, "transaction", unheard_of)
            assert_incoming_order(await page_in_trouble(service), "broke during a commit")
            monkeypatch.undo()
            await until(lambda: 1 in service.learner.folds() and service.learner.folds()[1].fates.total() == 1)
            return dict(service.learner.folds()[1].fates), service.store.open_count(1)

    assert told(story()) == ({"void": 1}, 0)


def test_a_page_given_up_on_right_before_the_end_is_voided_all_the_same(path, monkeypatch):
    async def story():
        async with running(path, model(), learn=False) as service:
            await service.registry.get("m").next_number(PATIENCE)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            assert (await page_in_trouble(service)).group == "fallback"
            other.execute("ROLLBACK")
            other.close()
        async with running(path) as service:
            [closing] = service.store.events(0, 100, kinds=[Kind.CLOSED])
            return decode(closing.kind, closing.body).why, service.store.open_count(1)

    assert told(story()) == ("void", 0)


def test_nothing_to_write_is_no_transaction(path, monkeypatch):
    async def story():
        async with running(path, model(), learn=False) as service:
            written = []
            monkeypatch.setattr(service._writer, "append_all", lambda *given: written.append(given))
            return await service.append(), await service._close_due(service.registry.get("m")), written

    assert told(story()) == ([], None, [])


def test_a_store_that_hangs_is_asked_for_numbers_once_and_pages_wait_no_longer_than_they_should(path, monkeypatch):
    asked, answer = [], threading.Event()

    async def story():
        async with running(path, model()) as service:
            real = service.store.reserve

            def hanging(*arguments):
                asked.append(arguments)
                answer.wait(PATIENCE)
                return real(*arguments)

            monkeypatch.setattr(service.store, "reserve", hanging)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            pages = await asyncio.gather(*(page_in_trouble(service) for _ in range(20)))
            pages.append(await page_in_trouble(service))
            answer.set()
            monkeypatch.undo()
            await until(lambda: service.registry.get("m")._next != service.registry.get("m")._last)
            return pages, (await rank(service)).group

    pages, after = told(story())
    for page in pages:
        assert_incoming_order(page, "did not respond within 0.1 s")
    assert len(asked) == 1
    assert after == "learned"


# Nothing can be written, and nobody has tried


@pytest.mark.parametrize("breaking", [break_by_error, break_by_lock, break_by_permission])
def test_a_service_that_nobody_asks_notices_that_nothing_can_be_written_and_when_it_can_be_again(
    path, monkeypatch, breaking
):
    monkeypatch.setattr("rankloop.live.writer.BEAT_SECONDS", 0.01)
    monkeypatch.setattr("rankloop.live.writer.RETRY_SECONDS", 0.01)

    async def story():
        async with running(path, model()) as service:
            repair, reason = breaking(service, monkeypatch)
            await until(service.trouble)
            trouble = service.trouble()
            repair()
            await until(lambda: not service.trouble())
            return trouble, reason

    [trouble], reason = told(story())
    assert trouble.startswith("store: ")
    assert reason in trouble


def test_a_store_that_hangs_is_noticed_without_asking_it_and_the_service_ends_all_the_same(path, monkeypatch):
    monkeypatch.setattr("rankloop.live.writer.BEAT_SECONDS", 0.01)
    monkeypatch.setattr("rankloop.live.writer.END_SECONDS", 0.1)
    monkeypatch.setattr("rankloop.live.learning.END_SECONDS", 0.1)
    thawed = threading.Event()

    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            real = service.store._exclusive

            @contextmanager
            def frozen():
                with service.store._held():
                    thawed.wait(PATIENCE)
                with real() as connection:
                    yield connection

            monkeypatch.setattr(service.store, "_exclusive", frozen)
            monkeypatch.setattr("rankloop.live.stores.sqlite.WAIT_MS", 50)
            monkeypatch.setattr("rankloop.live.writer.SLOW_SECONDS", 0.05)
            await until(service.trouble)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.05)
            with pytest.raises(StoreError, match="did not respond within"):
                await service.close(page.impression)
            with pytest.raises(StoreError, match=r"has not ended for 0\.05 s"), service.store._held():
                pass
            return service.trouble()

    [trouble] = told(story())
    thawed.set()
    assert "store: it has not answered for" in trouble


def test_a_writer_that_has_died_is_started_again(path, caplog):
    async def story():
        async with running(path, model()) as service:
            dead, wake = service._writer._thread, service._writer._committed
            service._writer._committed = sys.exit
            await rank(service)
            await until(lambda: not dead.is_alive())
            service._writer._committed = wake
            await until(lambda: not service.trouble())
            return (await rank(service)).group

    assert told(story()) == "learned"
    assert "the writer had stopped; it is started again" in caplog.text
