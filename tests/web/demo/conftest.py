"""The engine over this Python's own library: its index takes seconds, so it is made once."""

import pytest

from rankloop.web.demo.engine import Engine


@pytest.fixture(scope="session")
def engine():
    return Engine()
