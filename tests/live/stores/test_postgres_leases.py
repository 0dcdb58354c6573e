"""Leases of a server: they last as long as the connection that holds them."""

import pytest

from rankloop.live.stores import open_store


@pytest.fixture
def store(postgres_store):
    return postgres_store


def test_a_lease_is_lost_when_its_connection_breaks(store, postgres_server, postgres_address):
    other = open_store(postgres_address)
    lease = store.lease("model-1")
    assert other.lease("model-1") is None
    postgres_server.end_connections()
    taken = other.lease("model-1")
    assert taken is not None
    assert not lease.alive()
    assert store.lease("model-1") is None
    assert taken.alive()
    other.close()
