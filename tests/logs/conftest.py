"""What tests of a log's upkeep share: a log, and patience."""

import pytest
from tests.patience import A_SERVICE, be_brisk, be_patient

from .writing import Log

# What shares a store in this process gives up on it no sooner than the tests do.
be_patient(*A_SERVICE, "rankloop.logs.refolding")
be_brisk()


@pytest.fixture
def log(store):
    """A log with 60 learned pages and a snapshot after every ten."""
    return Log.filled(store, impressions=60)
