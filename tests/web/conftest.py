"""What all browser tests share: Debian's chromium, driven by playwright."""

import pytest
from tests.browsing import BROWSER, HOW_TO_GET_IT
from tests.patience import BROWSER_PATIENCE, be_brisk, be_patient

# Services in this process give up no sooner than the tests do, except in tests about giving up.
be_patient()
be_brisk()


@pytest.fixture(scope="module")
def chromium():
    """A browser. Not longer than a module: while it runs, playwright's event loop does, and other tests could not start
    theirs."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip(HOW_TO_GET_IT)
    playwright.expect.set_options(timeout=BROWSER_PATIENCE)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"], timeout=BROWSER_PATIENCE)
        yield browser
        browser.close()
