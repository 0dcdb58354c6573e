"""Rows of a log's tables, written as a service would."""

from rankloop.live.events import Event, Kind
from rankloop.live.stores.rows import Open

BODY = bytes(range(256)) * 12  # every byte there is, more than PostgreSQL keeps in a row


def event(offset, model=1, kind=Kind.SHOWN, number=0, at=0, client=b"", body=BODY):
    return Event(offset, model, int(kind), number, at, client, body)


def waiting(number, shown=1, at=0, model=1, clicks=bytes(8)):
    return Open(model, number, shown, at, 0, 0.1, clicks)


def write(store, events=(), opened=(), clicked=(), closed=(), tallies=()):
    with store.transaction() as transaction:
        transaction.write(list(events), list(opened), list(clicked), list(closed), list(tallies))


def new_model(store, name="shop"):
    with store.transaction() as transaction:
        return transaction.create_model(name, b'{"a": 1}', 5)


def save(store, snapshot, expects):
    with store.transaction() as transaction:
        return transaction.save_snapshot(snapshot, expects)
