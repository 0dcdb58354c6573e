"""What tests of PostgreSQL's part share: a store on the server, and the server for tests that stop it."""

import pytest

from rankloop.live.stores import open_store


@pytest.fixture
def postgres_store(postgres_address):
    """An empty store on the server."""
    store = open_store(postgres_address)
    yield store
    store.close()


@pytest.fixture
def stopped(postgres_server):
    """The server, for a test that stops it."""
    yield postgres_server
    postgres_server.start()
