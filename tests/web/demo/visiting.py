"""What a visitor of the demo does in a browser, each until the page has answered."""

import time

from tests.patience import PATIENCE


def start_over(page, rival="nobody"):
    if page.locator("#rival").input_value() != rival:
        if not page.locator("#rival").is_visible():
            page.locator(".reset summary").click()
        page.select_option("#rival", rival)
    page.evaluate("document.body.dataset.old = 'yes'")
    page.locator("#reset").click()
    page.wait_for_selector("body:not([data-old]) #status[data-visits='0']")


def want(page, taste):
    page.select_option("#taste", taste)
    page.wait_for_selector(f"#status[data-taste='{taste}']")


def search(page, query):
    page.fill("#q", query)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-query], h2.sentence")


def shown(page):
    """The results, from the top."""
    return page.locator("#results [data-key]").evaluate_all("rows => rows.map((row) => row.dataset.key)")


def impression(page):
    return page.locator("#results").get_attribute("data-impression")


def match(page, line="model"):
    return int(page.locator(f".curve .name.{line} .value").text_content())


def wait_until(page, what, least):
    """Until a number on the page is large enough. (The browser's own way to wait would need `unsafe-eval`.)"""
    deadline = time.monotonic() + PATIENCE
    while page.evaluate(what) < least:
        assert time.monotonic() < deadline, f"{what} stays at {page.evaluate(what)}; {least} was awaited"
        page.wait_for_timeout(50)


def wait_for_visits(page, count):
    wait_until(page, "Number(document.querySelector('#status').dataset.visits)", count)


def stop(page):
    page.locator("#stop").click()
    page.wait_for_selector("#status[data-running='no']")


def click(page, place):
    """Click the result at this place, from 1, and wait for what the page makes of it."""
    was = impression(page)
    page.locator("#results button.link").nth(place - 1).click()
    page.wait_for_selector(f"#results:not([data-impression='{was}'])")
