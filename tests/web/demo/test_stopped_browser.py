"""What a browser shows when the demo is told to end."""

import re
from pathlib import Path

import pytest
from tests.patience import BROWSER_PATIENCE

from .conftest import Demonstration

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.slow]


def test_a_demo_that_ends_in_the_middle_of_a_crowd_ends_and_is_shown_as_stopped(chromium, tmp_path):
    demonstration = Demonstration(tmp_path)
    page = chromium.new_page()
    page.set_default_timeout(BROWSER_PATIENCE)
    page.goto(f"{demonstration.url}/demo?q=csv")
    page.locator("#send").click()
    page.wait_for_selector("#status[data-running='yes']")
    assert not page.locator("#stopped").is_visible()
    log = Path(re.search(r"(/\S+/demo\.db)", demonstration.said.read_text())[1])
    assert log.exists()
    assert demonstration.stop() == 0
    assert not log.parent.exists()
    page.wait_for_selector("#stopped", state="visible")
    assert "has stopped" in page.locator("#stopped").inner_text()
    page.close()
