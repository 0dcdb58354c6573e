"""A service's pages as a click log that others, and rankloop itself, can read."""

import pytest

from rankloop.errors import SettingsError
from rankloop.logs.access import at_one_moment
from rankloop.logs.click_file import write_click_log
from rankloop.logs.clicked import read_clicks

from .writing import PAGE, Log, model_settings


def test_closed_pages_leave_with_their_features_and_clicks(log, store, address, tmp_path):
    log.visit(3, close=False)
    with at_one_moment(address) as moment:
        counts = write_click_log(moment, tmp_path / "clicks.parquet", None)
    assert counts == {"pages": 60, "rows": 60 * PAGE}
    read = read_clicks(tmp_path / "clicks.parquet")
    assert (read.pages, max(read.ranks), len(read.feature_names)) == (60, PAGE, 5)
    assert sum(read.clicks) == log.fold.clicks


def test_a_click_log_is_one_models(store, tmp_path):
    with pytest.raises(SettingsError, match="choose it with --model: there is none at all"):
        write_click_log(store, tmp_path / "x", None)
    Log(store, model_settings())
    with pytest.raises(SettingsError, match="no page of 'shop' was closed yet"):
        write_click_log(store, tmp_path / "x", "shop")
