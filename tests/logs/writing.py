"""Logs as a service would have written them, made in this process: pages drawn by a real model, people who click,
snapshots on the way. Everything is a function of a seed.
"""

import msgspec
import numpy as np

from rankloop.learners import ROLTR
from rankloop.live.clients import client_hash
from rankloop.live.events import FOLDED, Kind, Restored, encode
from rankloop.live.fold import Fold
from rankloop.live.loading import closed_impression
from rankloop.live.log import Click, Close, Control, Show, settle
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import Guards, ModelSettings
from rankloop.live.stores.rows import TABLES, Snapshot
from rankloop.logs.access import at_one_moment
from rankloop.logs.exported import write_export
from rankloop.logs.refolding import refolding
from rankloop.logs.verifying import verify

SALT = bytes(range(32))
FEATURES, CANDIDATES, PAGE, QUERIES = 5, 8, 4, 30
DAY = 86_400_000
DAMAGED = b"\xc1"
"""Bytes that are no body, no state and no settings."""


def model_settings(name="shop", **other):
    given = {
        "features": FEATURES, "page_size": PAGE, "seed": 7, "scaling": "none", "learner": ROLTR(learning_rate=0.1),
        "guards": Guards(control=0.0),
    }  # fmt: skip
    return ModelSettings(name=name, **given | other)


class World:
    """Queries with candidates, and people who look from the top and click on what attracts them."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.features = rng.uniform(size=(QUERIES, CANDIDATES, FEATURES)).astype(np.float32)
        taste = np.array([4.0, -3.0, 2.0, 0.0, 0.0])
        self.attraction = 0.9 / (1 + np.exp(-(self.features @ taste - 1.5) * 2))
        self.examination = 1.0 / np.arange(1, PAGE + 1)


class Log:
    """A model in a store, and the traffic that it gets."""

    def __init__(self, store, settings=None, seed=0):
        self.store = store
        self.settings = settings or model_settings()
        self.world = World()
        self.number = 0
        self._rng = np.random.default_rng(seed)
        self.at = 1_700_000_000_000
        store.keep_fact("client_salt", SALT.hex())
        if not store.secrets():
            store.add_secret(bytes(32), 0)
        self.fold = Fold(self.settings)
        settings_bytes = msgspec.json.encode(self.settings)
        with store.transaction() as transaction:
            self.model = transaction.create_model(self.settings.name, settings_bytes, self.at)
            [self.fold.offset] = settle(transaction, [Control(self.model, Kind.CREATED, self.at, settings_bytes)])
            transaction.save_snapshot(Snapshot(self.model, 0, self.fold.offset, self.at, self.fold.state()), -1)
        self._ranking = Ranking(self.settings)

    @classmethod
    def filled(cls, store, settings=None, impressions=60, **other):
        log = cls(store, settings, **other)
        for _ in range(impressions // 10):
            log.visit(10)
            log.snapshot()
        return log

    def visit(self, count, *, close=True, clients=("ann", "bob", "cid", ""), milliseconds=1000):
        """So many pages, clicked on and closed in one transaction, then learned from."""
        entries, pages = [], []
        self.store.reserve(self.model, count)
        for _ in range(count):
            self.at += milliseconds
            query, client = int(self._rng.integers(QUERIES)), clients[self.number % len(clients)]
            hashed = client_hash(client, SALT) if client else b""
            names = [f"d{query}-{document}" for document in range(CANDIDATES)]
            request = Request(f"query {query}", hashed, names, self.world.features[query], PAGE, {})
            impression = self._ranking.rank(self.fold.view(), request, self.number).impression
            shown = Show(self.model, self.number, self.at, hashed, encode(impression), PAGE, impression.group, 0.0)
            entries.append(shown)
            chances = self.world.examination * self.world.attraction[query, impression.page]
            ranks = np.flatnonzero(self._rng.random(PAGE) < chances).tolist()
            if ranks:
                entries.append(Click(self.model, self.number, self.at + 1, ranks, [1.0] * len(ranks)))
            pages.append(self.number)
            self.number += 1
        if close:
            entries += [Close(self.model, number, self.at + 2, "asked") for number in pages]
        with self.store.transaction() as transaction:
            settle(transaction, entries)
        self.follow()
        return pages

    def close(self, numbers):
        with self.store.transaction() as transaction:
            settle(transaction, [Close(self.model, number, self.at, "asked") for number in numbers])
        self.follow()

    def control(self, kind, body=b""):
        with self.store.transaction() as transaction:
            settle(transaction, [Control(self.model, kind, self.at, body)])
        self.follow()

    def roll_back(self, version):
        snapshot = self.store.snapshot(self.model, version)
        self.control(Kind.ROLLED_BACK, encode(Restored(version, snapshot.state, snapshot.offset)))

    def follow(self):
        """Learn, as the service's learner does."""
        for event in self.store.events(self.fold.offset, 1_000_000, kinds=FOLDED, model=self.model):
            self.fold.apply(event, closed_impression(self.store, event))

    def snapshot(self):
        newest = self.store.newest_snapshot(self.model)
        with self.store.transaction() as transaction:
            kept = Snapshot(self.model, self.fold.version, self.fold.offset, self.at, self.fold.state())
            assert transaction.save_snapshot(kept, newest.offset)


def contents(store):
    """Everything that is in a store."""
    return {table: list(store.export_rows(table)) for table in TABLES}


def exported(address, path):
    """Write the log at an address into a file; rows by table."""
    with at_one_moment(address) as store:
        return write_export(store, path, at=5)


def change(store, sql):
    """Change a store behind its back; how many rows."""
    with store._exclusive() as connection:
        return connection.execute(sql).rowcount


def blob(store, content):
    """Bytes as SQL."""
    return f"x'{content.hex()}'" if not store.shared else f"'\\x{content.hex()}'::bytea"


def rewrite(store, event, body):
    """Change what an event says, behind the store's back."""
    assert change(store, f"UPDATE events SET body = {blob(store, encode(body))} WHERE position = {event.offset}") == 1


def problems(address):
    """What is wrong with the log at an address, in sentences."""
    return verify(address).problems


def only_model(address):
    """What was checked of the one model in a log."""
    [found] = verify(address).models
    return found


def refold(address, name, at, *, forget=False):
    """Compute a model anew, and agree to whatever comes out."""
    with refolding(address, name) as work:
        work.compare()
        return work.serve(at, forget=forget)
