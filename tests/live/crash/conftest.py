"""Two sizes of the same proofs: ten crashes per store with every test run, a hundred with `pytest -m crash`."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "crash: a hundred crashes per store, minutes long; runs with `pytest -m crash`")


def pytest_collection_modifyitems(config, items):
    """The long size runs only where it is asked for by its marker."""
    if "crash" in (config.option.markexpr or ""):
        return
    long = [item for item in items if item.get_closest_marker("crash")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("crash")]


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    """Where the service keeps its log: a file, or a database of its own on a real server."""
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    return request.getfixturevalue("postgres_server").new_database()
