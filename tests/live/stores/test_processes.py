"""Several processes on one log: offsets without gaps, leases that end with their process, nothing acknowledged lost."""

import subprocess
import sys
import threading

import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.live.log import Show, settle
from rankloop.live.stores import open_store
from rankloop.live.writer import Writer

pytestmark = pytest.mark.process

COUNT = 150

WRITE = """
import sys
from rankloop.live.log import Show
from rankloop.live.writer import Writer
from rankloop.live.stores import open_store
store = open_store(sys.argv[1])
model, count = int(sys.argv[2]), int(sys.argv[3])
writer = Writer(store)
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    print(writer.append(Show(model, number, 0, b"", bytes(3000), 3, 0, 0.0)).result(600), flush=True)
writer.stop()
store.close()
"""

LEASE = """
import sys
from rankloop.live.stores import open_store
store = open_store(sys.argv[1])
lease = store.lease("model-1")
print("taken" if lease else "refused", flush=True)
sys.stdin.readline()
"""

OPEN = """
import sys
import rankloop.live.writer
from rankloop.live.stores import open_store
print("ready", flush=True)
sys.stdin.readline()
store = open_store(sys.argv[1])
print(store.last_offset(), flush=True)
store.close()
"""


@pytest.fixture
def start():
    """Start a program in a process of its own; what is left of them is ended with the test."""
    processes = []

    def start(program, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def shows(model, numbers):
    return [Show(model, number, 0, b"", b"page", 3, 0, 0.0) for number in numbers]


def test_two_threads_with_a_store_each_share_one_order(address):
    stores = [open_store(address), open_store(address)]
    given = [[], []]

    def write(place):
        writer = Writer(stores[place])
        futures = [writer.append(show) for show in shows(place, range(COUNT))]
        given[place] = [future.result(PATIENCE) for future in futures]
        writer.stop()

    threads = [threading.Thread(target=write, args=[place]) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given[0] + given[1]) == list(range(1, 2 * COUNT + 1))
    assert all(order == sorted(order) for order in given)
    assert [stores[0].event(offset).number for offset in given[1]] == list(range(COUNT))
    for store in stores:
        store.close()


def test_two_processes_share_one_order_and_readers_never_see_a_gap(store, address, start):
    processes = [start(WRITE, address, model, COUNT) for model in (1, 2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        go(process)
    seen = []
    while any(process.poll() is None for process in processes):
        seen += store.events(seen[-1].offset if seen else 0, 1000)
    seen += store.events(seen[-1].offset if seen else 0, 1000)
    given = [int(line) for process in processes for line in process.stdout]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(given) == list(range(1, 2 * COUNT + 1))
    # A reader that follows the end of the log has missed nothing: what comes later is committed later.
    assert [event.offset for event in seen] == list(range(1, 2 * COUNT + 1))


def test_nothing_that_a_killed_process_had_acknowledged_is_lost(address, start):
    process = start(WRITE, address, 1, 100_000)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    go(process)
    acknowledged = [int(process.stdout.readline()) for _ in range(40)]
    process.kill()
    acknowledged += [int(line) for line in process.stdout.read().split("\n")[:-1] if line]
    store = open_store(address)
    there = [event.offset for event in store.events(0, 100_000)]
    assert there == list(range(1, len(there) + 1))
    assert set(acknowledged) <= set(there)
    assert store.open_count(1) == len(there)
    with store.transaction() as transaction:  # and the log can be written to at once
        assert settle(transaction, shows(2, [0])) == [len(there) + 1]
    store.close()


def test_a_lease_ends_with_its_process(store, address, start):
    holder = start(LEASE, address)
    assert holder.stdout.readline() == "taken\n", holder.stderr.read()
    assert store.lease("model-1") is None
    second = start(LEASE, address)
    assert second.stdout.readline() == "refused\n", second.stderr.read()
    holder.kill()
    holder.wait()
    lease = wait_until(lambda: store.lease("model-1"), "the lease of a process that was killed is free")
    assert lease.alive()


def test_processes_that_open_a_new_store_at_the_same_time_do_not_collide(address, start):
    processes = [start(OPEN, address) for _ in range(4)]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        go(process)
    assert [process.communicate(timeout=PATIENCE) for process in processes] == [("0\n", "")] * 4
