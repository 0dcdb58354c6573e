"""What all browser tests share: Debian's chromium, driven by playwright."""

import shutil

import pytest


@pytest.fixture(scope="module")
def chromium():
    """A browser. Not longer than a module: while it runs, playwright's event loop does, and other tests could not start
    theirs."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()
