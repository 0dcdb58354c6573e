"""A store of their own for the tests that fill one."""

from pathlib import Path

import pytest

from .sources import write_source


@pytest.fixture
def own_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path) -> Path:
    return write_source(tmp_path / "source")
