"""Runs on the device, from requests to results."""

from collections.abc import Callable, Sequence

from rankloop.errors import SettingsError
from rankloop.gpu import Request
from rankloop.runs.run import Run


def simulate_on_device(requests: Sequence[Request], progress: Callable[[int], None] | None = None) -> list[Run]:
    """The runs of requests that there is device code for, in their order."""
    raise SettingsError("simulate_on_device: no method has device code yet")
