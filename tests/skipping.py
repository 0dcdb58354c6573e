"""A test that cannot run here, through nobody's fault.

In CI a skipped test has failed: what it lacked (a browser, a PostgreSQL server, a package) should have been installed.
Only what nobody can install is an excuse, and it is said with `skip_here`.
"""

from typing import NoReturn

import pytest


class NotHereError(pytest.skip.Exception):
    """The test belongs to another place: beside the real collections, or on another kind of machine."""


def skip_here(reason: str) -> NoReturn:
    """Skip the test, also in CI."""
    raise NotHereError(reason, _use_item_location=True)
