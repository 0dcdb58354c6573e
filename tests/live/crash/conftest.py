"""What the proofs share: where a service keeps its log."""

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    """A file, or a database of its own on a real server."""
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    return request.getfixturevalue("postgres_server").new_database()
