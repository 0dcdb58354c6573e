"""A device, where there is one."""

import pytest
from tests.skipping import skip_here

from rankloop.gpu import why_no_device


@pytest.fixture
def device():
    """Skip where there is no device: no package can bring one."""
    reason = why_no_device()
    if reason is not None:
        skip_here(reason)
