"""The benchmark of a device, as far as it can be looked at without one."""

import pytest

from rankloop.benchmark import devices
from rankloop.errors import SettingsError


def test_without_a_device_it_says_so(monkeypatch):
    monkeypatch.setattr(devices, "why_no_device", lambda: "there is no CUDA device on this machine")
    with pytest.raises(SettingsError, match="bench: there is no CUDA device"):
        devices.run(quick=True)


@pytest.mark.gpu
def test_every_part_measures_something(device):
    results = devices.run(quick=True)
    assert len(results.sections) == len(devices.PARTS)
    assert all(value > 0 for section in results.sections for value in section.values.values())
