"""What the live tests share: every store there is, and a real PostgreSQL server, started where a test asks for it."""

import sys
from pathlib import Path

import pytest
from tests.patience import A_SERVICE, be_patient

from rankloop.live.stores import open_store

# Tests are imported without their folder on the path, and this one has a module of its own.
sys.path.insert(0, str(Path(__file__).parent))

STORES = ["sqlite", "postgres"]

# A service in this process gives up on its store no sooner than the tests do, except in tests about giving up.
be_patient(*A_SERVICE, "rankloop.logs.refolding", "rankloop.cli.simulate_traffic")


@pytest.fixture(scope="session")
def postgres_server():
    """A `PostgresServer`, one per worker; a test that stopped it finds it running again the next time."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'rankloop[postgres]'")
    from postgres_server import postgres

    with postgres() as server:
        yield server


@pytest.fixture
def postgres_address(postgres_server):
    """The connection string of an empty database."""
    return postgres_server.new_database()


@pytest.fixture(params=STORES)
def address(request, tmp_path):
    """Where a store can be opened, again and again: a path for SQLite, a connection string for PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    return request.getfixturevalue("postgres_server").new_log()


@pytest.fixture
def store(address):
    """An empty store of each kind."""
    store = open_store(address)
    yield store
    store.close()
