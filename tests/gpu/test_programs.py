"""The device's sources are put together whole, and have one fingerprint."""

import re

import pytest

from rankloop.gpu import fingerprint
from rankloop.gpu.programs import source_of


@pytest.mark.parametrize("name", ["simulate.cu", "evaluate.cu"])
def test_a_source_has_all_that_it_includes_once(name):
    text = source_of(name)
    assert not re.search(r'^#include "', text, re.MULTILINE)
    assert text.count("DEVICE double uniform(") <= 1
    assert text.count("struct Measures {") == 1


def test_the_fingerprint_is_short_and_stays():
    assert re.fullmatch("[0-9a-f]{16}", fingerprint())
    assert fingerprint() == fingerprint()
