"""PostgreSQL crashes, a learner dies, a commit is not confirmed: pages go on, nothing acknowledged is lost, the standby
takes over, and the model has the same bits."""

import time
from contextlib import contextmanager

import pytest
from tests.patience import COMMAND, PATIENCE, wait_until

from rankloop.live.log import Show
from rankloop.live.stores import open_store
from rankloop.live.writer import Writer

from ..serving import Serving
from .evidence import examine
from .traffic import Traffic, last_visit, make_model

SLOW = "did not respond within"
"""A busy machine's reason for the incoming order, and nobody's fault."""
TEN = pytest.param(10, marks=pytest.mark.crash)


@pytest.mark.slow
@pytest.mark.parametrize("crashes", [2, TEN])
def test_after_a_crash_of_the_server_everything_goes_on_by_itself(postgres_server, tmp_path, crashes, record_property):
    address = postgres_server.new_database()
    with Serving(tmp_path, address=address, command=COMMAND) as service:
        make_model(service.url)
        with Traffic([service.url], seed=11) as traffic:
            for _ in range(crashes):
                traffic.wait_for(acknowledged=40)
                postgres_server.kill()
                traffic.wait_for(fallbacks=5)
                traffic.wait_for_reason("check the address, and that the server is up", "the connection is lost")
                assert service.process.poll() is None
                postgres_server.start()
            traffic.wait_for(acknowledged=40)
            with unconfirmed_commits(postgres_server):
                wait_until(lambda: waits_for_a_replica(postgres_server), "a commit waits for the replica")
                since = time.monotonic()
                traffic.wait_for(fallbacks=4)
                assert traffic.newest_asked < since, "an answer did not wait for the commit's confirmation"
            traffic.wait_for(acknowledged=40)
        weights = last_visit(service.url)
    evidence = examine(address, traffic.visits, weights)
    record_property("evidence", f"{crashes} crashes: {evidence}")
    assert evidence.version > 15
    assert {answer["error"]["code"] for _, answer in traffic.refusals} <= {"store_unavailable", "learner_behind"}
    assert "Traceback" not in service.output


@pytest.mark.slow
@pytest.mark.parametrize("takeovers", [2, TEN])
def test_when_the_learner_is_killed_the_standby_takes_over(postgres_server, tmp_path, takeovers, record_property):
    address = postgres_server.new_database()
    active, standby = Serving(tmp_path, address=address), Serving(tmp_path, address=address)
    with active:
        make_model(active.url)
        last_visit(active.url)  # learned from, so it holds the lease
        with standby:
            # Every request goes to either, so pages of the one are clicked on and closed at the other.
            with Traffic([active.url, standby.url], seed=13) as traffic:
                for _ in range(takeovers):
                    traffic.wait_for(acknowledged=60)
                    active.kill()
                    traffic.wait_for(acknowledged=20)
                    last_visit(standby.url)  # learned from, now by the standby
                    active.start()
                    active, standby = standby, active
                traffic.wait_for(acknowledged=60)
            weights = last_visit(standby.url)
    evidence = examine(address, traffic.visits, weights)
    record_property("evidence", f"{takeovers} takeovers: {evidence}")
    assert evidence.version > 15
    assert not [why for why in traffic.fallbacks if SLOW not in why]
    assert "Traceback" not in active.output + standby.output


# A commit is confirmed before anything is acknowledged.


@contextmanager
def unconfirmed_commits(server):
    """The server writes commits, and waits for a replica that is not there before it confirms them."""
    server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    server.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        server.execute("SELECT pg_reload_conf()")


def test_nothing_is_acknowledged_before_the_server_has_confirmed_the_commit(postgres_server):
    store = open_store(postgres_server.new_log())
    writer = Writer(store)
    assert writer.append(shown(0)).result(PATIENCE) == 1
    waiting = [writer.append(shown(1))]

    def one_waits():
        # The server takes its new settings when it gets to them: what is written before is confirmed as ever.
        if waiting[-1].done():
            waiting.append(writer.append(shown(len(waiting) + 1)))
        return waits_for_a_replica(postgres_server)

    with unconfirmed_commits(postgres_server):
        wait_until(one_waits, "a commit waits for the replica")
        assert not waiting[-1].done()
    assert [entry.result(PATIENCE) for entry in waiting] == list(range(2, len(waiting) + 2))
    writer.stop()
    store.close()


def shown(number):
    return Show(1, number, 0, b"", b"page", 3, 0, 0.0)


def waits_for_a_replica(server):
    return server.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == [(1,)]


def test_the_server_syncs_at_least_once_for_every_entry_that_is_acknowledged_alone(postgres_server):
    entries = 50
    assert postgres_server.execute("SHOW fsync") == [("on",)]
    store = open_store(postgres_server.new_log())
    writer = Writer(store)
    before = syncs(postgres_server)
    for number in range(entries):
        writer.append(shown(number)).result(PATIENCE)
    writer.stop()
    store.close()  # a server's process hands in its counts when it ends, at the latest
    wait_until(lambda: syncs(postgres_server) >= before + entries, "the server tells of its syncs")


def syncs(server):
    """How often the server has synced its write-ahead log; version 18 counts it in another place."""
    recent = int(server.execute("SHOW server_version_num")[0][0]) >= 180_000
    source = "sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'" if recent else "wal_sync FROM pg_stat_wal"
    return int(server.execute(f"SELECT {source}")[0][0])
