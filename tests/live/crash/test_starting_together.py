"""Replicas that find an empty store at the same moment agree on everything that only one of them may decide."""

from rankloop.live.service import Service, now
from rankloop.live.stores import open_store


def test_services_that_start_together_recognise_the_same_people_and_each_others_pages(address, monkeypatch):
    stores = [open_store(address), open_store(address)]
    first = Service(stores[0], learn=False)
    # The second looked at the store just before the first wrote to it.
    empty, secrets = [[]], stores[1].secrets
    with monkeypatch.context() as before:
        before.setattr(stores[1], "fact", lambda name: None)
        before.setattr(stores[1], "secrets", lambda: empty.pop() if empty else secrets())
        second = Service(stores[1], learn=False)
    assert first.hash_client("ann") == second.hash_client("ann")
    at = now()
    assert first.impression_id(1, 2, at) == second.impression_id(1, 2, at)
    assert len(secrets()) == 2
    for store in stores:
        store.close()
