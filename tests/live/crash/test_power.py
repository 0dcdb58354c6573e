"""A sync precedes every acknowledgement, and what was synced is enough: whatever the power leaves on the disk, an
acknowledged event is in it. (`kill −9` cannot show that: the system keeps what a killed process had written.)"""

import asyncio
import json
import random
import sqlite3
import sys
from collections import Counter
from contextlib import closing

import msgspec
import pytest

from rankloop.live.events import Kind
from rankloop.live.models import create_model
from rankloop.live.service import Service
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store, opened
from rankloop.live.tokens import Signer

from ..serving import Serving
from . import disk
from .disk import ANSWER, SYNC_BEGINS, SYNC_ENDS, WRITE
from .traffic import SETTINGS, Traffic

DATABASE, WAL = 0, 1
ANSWERS = 400


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """(the database before, everything that then happened on its disk) of a service under traffic."""
    folder = tmp_path_factory.mktemp("watched")
    path = folder / "log.db"
    asyncio.run(make_log(path))
    before = path.read_bytes()
    assert not path.with_name("log.db-wal").exists()
    command = (sys.executable, disk.__file__, "trace")
    with Serving(folder, address=str(path), command=command) as service:
        with Traffic([service.url], seed=3) as traffic:
            traffic.wait_for(acknowledged=ANSWERS)
        service.kill()
    return before, disk.read(folder / "trace")


async def make_log(path):
    service = Service(open_store(path))
    await service.start()
    await create_model(service, msgspec.convert(SETTINGS, ModelSettings))
    await service.stop()


class Promises:
    """What answers have promised: pages, reports on pages, closings, by the number of the page."""

    def __init__(self, verify, answers):
        self.shown, self.clicked, self.closed = set(), Counter(), set()
        for answer in answers:
            path, _, body = answer.data.partition(b"\n")
            told = json.loads(body)
            impression = path.decode().split("/")[3] if b"/close" in path else told["impression"]
            if impression is None:
                continue  # a page in the incoming order promises nothing
            number = verify(impression).number
            if "ranking" in told:
                self.shown.add(number)
            if "accepted" in told:
                self.clicked[number] += 1
            if b"/close" in path or told.get("closed"):
                self.closed.add(number)

    def lost(self, path):
        """How many of them a database does not keep."""
        with opened(path) as store:
            events = store.events(0, 10**9)
        assert [event.offset for event in events] == list(range(1, len(events) + 1))
        kept = {kind: Counter(event.number for event in events if event.kind == kind) for kind in Kind}
        clicks = (self.clicked - kept[Kind.CLICKED]).total()
        return len(self.shown - set(kept[Kind.SHOWN])) + clicks + len(self.closed - set(kept[Kind.CLOSED]))


class Failures:
    """Power failures in one life of a service: how many events had been acknowledged before them, and were lost."""

    def __init__(self, before, records, folder):
        self._before, self._records, self._path = before, records, folder / "failed.db"
        self._path.write_bytes(before)
        with opened(self._path) as store:
            self._verify = Signer(store.secrets()).verify
        self._rng = random.Random(1)
        self.answers = [place for place, record in enumerate(records) if record.kind == ANSWER and record.file == 2]
        self.acknowledged = self.lost = self.damaged = 0

    def as_answers_leave(self, count):
        """Just when an answer leaves; all that no sync had covered is gone."""
        for place in self._rng.sample(self.answers, min(count, len(self.answers))):
            self._fail(place + 1, kept=0.0)

    def at_random(self, count):
        """At any moment; what no sync had covered is there, in part, or gone."""
        for _ in range(count):
            self._fail(self._rng.randrange(self.answers[0], len(self._records)), kept=0.5)

    def _fail(self, moment, kept):
        answers = [self._records[place] for place in self.answers if place < moment]
        database, wal = disk.after_power_failure(self._records[:moment], self._before, self._rng, kept=kept)
        self._path.write_bytes(database)
        self._path.with_name("failed.db-wal").write_bytes(wal)
        self._path.with_name("failed.db-shm").unlink(missing_ok=True)
        with closing(sqlite3.connect(self._path)) as connection:
            try:
                sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            except sqlite3.DatabaseError:
                sound = False
        self.acknowledged += len(answers)
        if sound:
            self.lost += Promises(self._verify, answers).lost(self._path)
        else:
            self.damaged += 1


@pytest.mark.slow
@pytest.mark.xdist_group("watched-disk")
@pytest.mark.parametrize("failures", [40, pytest.param(1000, marks=pytest.mark.crash)])
def test_nothing_acknowledged_is_lost_when_the_power_fails_and_no_file_is_damaged(
    life, tmp_path, failures, record_property
):
    before, records = life
    # Checkpoints have been among it, and the write-ahead log began anew: where a missing sync would hurt most.
    assert sum(record.kind == SYNC_ENDS and record.file == DATABASE for record in records) > 3
    assert sum(record.kind == WRITE and record.file == WAL and record.offset == 0 for record in records) > 1
    found = Failures(before, records, tmp_path)
    found.as_answers_leave(failures)
    found.at_random(failures)
    record_property("power", f"{failures} × 2 failures, {len(found.answers)} answers, {found.acknowledged} checked")
    assert (found.lost, found.damaged) == (0, 0)


@pytest.mark.slow
@pytest.mark.xdist_group("watched-disk")
def test_a_disk_that_confirms_syncs_without_doing_them_loses_events_so_they_are_what_saves_them(life, tmp_path):
    before, records = life
    found = Failures(before, [record for record in records if record.kind not in (SYNC_BEGINS, SYNC_ENDS)], tmp_path)
    found.as_answers_leave(5)
    assert found.lost >= found.acknowledged > 0
