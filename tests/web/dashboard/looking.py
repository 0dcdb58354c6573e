"""What tests in a browser wait for before they look at a page."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

FACT = "#facts .fact:has(.label:text-is('{}')) .value"


def drawn(page):
    """Wait until every chart has been drawn."""
    expect(page.locator("figure.chart:not([data-points])")).to_have_count(0)
    figures = page.locator("figure.chart").all()
    return {figure.get_attribute("id"): int(figure.get_attribute("data-points")) for figure in figures}


def polled(page, times=2):
    """Wait until the page has asked for news some times."""
    for _ in range(times):
        with page.expect_response(lambda answer: "/live" in answer.url):
            pass
