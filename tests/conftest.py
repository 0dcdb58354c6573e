"""What tests of logs share: every store there is, and a real PostgreSQL server, started where a test asks for it."""

import pytest

STORES = ["sqlite", "postgres"]


@pytest.fixture(scope="session")
def postgres_server():
    """A `PostgresServer`, one per worker; a test that stopped it finds it running again the next time."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'rankloop[postgres]'")
    from tests.live.postgres_server import postgres

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
    from rankloop.live.stores import open_store

    store = open_store(address)
    yield store
    store.close()


@pytest.fixture
def device():
    """Skip where there is no CUDA device: no package can bring one."""
    from tests.skipping import skip_here

    from rankloop.gpu import why_no_device

    reason = why_no_device()
    if reason is not None:
        skip_here(reason)


@pytest.fixture
def stand_in(monkeypatch):
    """A machine with a device that has code for ROLTR."""
    from tests.stand_in import StandIn

    from rankloop import gpu

    made = StandIn()
    monkeypatch.setattr(gpu, "why_no_device", lambda: None)
    monkeypatch.setattr(gpu, "why_not", made.why_not)
    monkeypatch.setattr(gpu, "simulate_on_device", made.simulate_on_device)
    monkeypatch.setattr(gpu, "fingerprint", lambda: "0123456789abcdef")
    return made


@pytest.fixture
def no_device(monkeypatch):
    """A machine without one."""
    from rankloop import gpu

    monkeypatch.setattr(gpu, "why_no_device", lambda: "there is no CUDA device on this machine")
