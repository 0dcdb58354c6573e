"""How the tools of a log come by it: a log that is there, one of them at a time, a model by its name."""

import pytest

from rankloop.errors import SettingsError
from rankloop.live.errors import StoreError
from rankloop.logs.trimming import compact
from rankloop.logs.verifying import verify

from .writing import refold


def test_a_log_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(SettingsError, match="there is no log at"):
        verify(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_only_one_upkeep_at_a_time(log, store, address):
    lease = store.lease("upkeep")
    for attempt in (lambda: compact(address, 1, log.at), lambda: refold(address, "shop", log.at)):
        with pytest.raises(StoreError, match="another maintenance command"):
            attempt()
    lease.release()
    with pytest.raises(SettingsError, match="there is shop"):
        refold(address, "shoe", log.at)
