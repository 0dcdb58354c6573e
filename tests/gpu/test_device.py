"""What a device says of itself, and what is said where there is none."""

import sys

from rankloop.gpu.device import about_device, most_shared, why_no_device


def test_what_is_missing_is_said_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    why_no_device.cache_clear()
    try:
        assert "pip install 'rankloop[gpu]'" in why_no_device()
    finally:
        why_no_device.cache_clear()


def test_a_device_says_what_it_is(device):
    assert about_device()["processors"] > 0
    assert most_shared() >= 48 * 1024
