"""Rows of a log's tables, written as a service would."""

from rankloop.live.events import Event, Kind
from rankloop.live.stores.rows import ApiKey, Open, Snapshot, Tally

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


def filled(store):
    """Something in every table."""
    new_model(store)
    new_model(store, "gone")
    store.reserve(1, 10)
    with store.transaction() as transaction:
        transaction.delete_model(2, 3)
    write(
        store,
        [event(1, kind=Kind.CREATED), event(2, number=1, client=b"me"), event(3, number=2)],
        [waiting(1, shown=2), waiting(2, shown=3)],
        tallies=[Tally(1, 1, 4, 0, rank, 1, 0.1, 1 / 3, 1e-300) for rank in (2, 0, 1)],
    )
    save(store, Snapshot(1, 0, 1, 5, BODY), -1)
    for name in ("b", "B", "ä"):
        store.add_api_key(ApiKey(name, b"\x00", "rank", 1, None))
        store.set_fact(name, name)
    store.add_secret(b"one", 1)
    store.add_secret(b"two", 2)
