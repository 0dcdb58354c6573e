"""What tests of a log's upkeep share: a log, and patience."""

from pathlib import Path

import pytest
from tests.patience import A_SERVICE, be_brisk, be_patient

from .writing import Log

HERE = Path(__file__).parent

# What shares a store in this process gives up on it no sooner than the tests do.
be_patient(*A_SERVICE, "rankloop.logs.refolding")
be_brisk()

LONG_ON_POSTGRESQL = {"test_comparing.py", "test_refolding.py", "test_refolding_damage.py", "test_replaying.py"}
"""What is folded anew there is arithmetic, whatever the store; that PostgreSQL reads, erases and compacts a log as
SQLite does, all other tests here say, and those of stores. So these run on PostgreSQL with the longest."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        stored = getattr(getattr(item, "callspec", None), "params", {}).get("address")
        if stored == "postgres" and item.path.name in LONG_ON_POSTGRESQL and item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.long)


@pytest.fixture
def log(store):
    """A log with 60 learned pages and a snapshot after every ten."""
    return Log.filled(store, impressions=60)
