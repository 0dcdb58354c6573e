"""The demo in a real browser, from the first search to the last reset. Pictures of it go to RANKLOOP_SCREENSHOTS."""

import os
import time
from pathlib import Path

import pytest
from tests.patience import BROWSER_PATIENCE, PATIENCE

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.slow]

HOSTILE = """<img src=x onerror="document.title='broken'"> "csv" '</script><script>document.title='broken'</script>"""


@pytest.fixture
def visit(chromium, demonstration):
    """A new visitor on a demo that has just been started over; every complaint of the browser fails the test."""
    complaints, requests, contexts = [], [], []

    def come(**options):
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(BROWSER_PATIENCE)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{demonstration.url}/demo")
        page.select_option("#taste", "explorers")
        page.locator("#switch").click()
        page.wait_for_selector(".taste strong:text-is('explorers')")
        start_over(page, learner="Posterior", rival_learner="ROLTR", rival_reward="ips+-", rival_step="0.01")
        return page

    yield come
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith((demonstration.url, "data:"))] == []


@pytest.fixture
def picture(tmp_path):
    folder = Path(os.environ.get("RANKLOOP_SCREENSHOTS", tmp_path))

    def take(page, name, **options):
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", **options)
        assert (folder / f"{name}.png").stat().st_size > 10_000

    return take


def start_over(page, **rules):
    page.locator(".rules summary").click()
    for name, value in rules.items():
        page.select_option(f"select[name={name}]", value)
    page.locator("#reset").click()
    page.wait_for_selector("#status[data-visits='0']")


def search(page, query):
    page.fill("#q", query)
    page.keyboard.press("Enter")
    page.wait_for_selector("h1.sentence")


def weights(page):
    return page.locator("#belief .number").all_inner_texts()


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


def test_a_newcomers_story_search_click_see_what_changed(visit, picture):
    page = visit()
    assert page.evaluate("document.activeElement.id") == "q"
    before = weights(page)
    search(page, "read csv file")
    assert page.locator(".results li").count() == 10
    assert page.locator(".snippet mark").count() > 0
    page.locator(".why summary").first.click()
    assert page.locator(".why[open] svg rect").count() >= 1
    clicked = page.locator(".results button.link").last
    name = clicked.inner_text()
    clicked.click()
    page.wait_for_selector("h1.name")
    assert page.locator("h1.name").inner_text().startswith(name)
    assert "The model has learned from your click." in page.content()
    assert weights(page) != before
    assert page.locator("#lesson .bars svg").count() == 6
    picture(page, "demo-click")
    # The same click again: soon the order shows it.
    for _ in range(4):
        summary = page.locator("#lesson details summary").inner_text()
        if "no moves" not in summary:
            break
        page.locator("a", has_text="again").click()
        page.wait_for_selector(".results")
        page.locator(".results button.link").last.click()
        page.wait_for_selector("h1.name")
    assert page.locator("#lesson .moves strong").count() > 0


@pytest.mark.long
def test_visitors_make_the_curve_rise_and_a_new_taste_is_learned(visit, picture, demonstration):
    page = visit()
    page.locator("#send").click()
    wait_for_visits(page, 20)
    # The page is usable meanwhile.
    search(page, "temporary directory")
    assert page.locator(".results li").count() == 10
    assert page.locator("#status").get_attribute("data-running") == "yes"
    live = weights(page)
    wait_for_visits(page, 200)
    assert weights(page) != live
    wait_until(page, "Number(document.querySelector('#curve').dataset.points)", 10)
    assert page.locator("#curve canvas").count() == 1
    picture(page, "demo-visitors", full_page=True)
    model, rival, shadow, engine = (line["values"] for line in demonstration.curve()["series"])
    assert model[-1] > engine[-1] + 0.2
    assert model[-1] > rival[-1] + 0.1
    assert shadow[-1] > rival[-1]
    page.select_option("#taste", "readers")
    page.locator("#switch").click()
    page.wait_for_selector(".taste strong:text-is('readers')")
    switched = demonstration.curve()
    place = switched["series"][0]["values"].index(None)
    assert page.locator("#status").get_attribute("data-running") == "yes"
    wait_for_visits(page, switched["x"][place] + 200)
    stop(page)
    after = demonstration.curve()["series"][0]["values"][place + 1 :]
    assert max(after[5:]) > after[0]


def test_starting_over_brings_the_engines_order_back(visit):
    page = visit()
    fresh = weights(page)
    page.locator("#send").click()
    wait_for_visits(page, 20)
    start_over(page, rival_step="0.1")
    assert weights(page) == fresh
    assert "ROLTR, ips+-, α = 0.1" in page.locator("#status").inner_text()
    assert "Nothing yet" in page.locator("#lesson").inner_text()


def test_the_whole_story_with_the_keyboard_alone(visit):
    page = visit()
    page.locator("h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("split string")
    page.keyboard.press("Enter")
    page.wait_for_selector(".results")
    page.keyboard.press("/")
    tab_to(page, "e => e.classList.contains('link')")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1.name")
    page.keyboard.press("/")
    tab_to(page, "e => e.id === 'send'")
    page.keyboard.press("Enter")
    wait_for_visits(page, 5)
    tab_to(page, "e => e.id === 'stop'")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status[data-running='no']")


def tab_to(page, wanted):
    """Tab until the focused element is wanted; it must be seen to have the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"({wanted})(document.activeElement)"):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return
    raise AssertionError(f"no number of tabs leads to {wanted}")


def test_hostile_words_stay_words(visit):
    page = visit()
    search(page, HOSTILE)
    assert HOSTILE in page.locator("h1.sentence").inner_text()
    assert page.locator("#q").input_value() == HOSTILE
    page.locator(".results button.link").first.click()
    page.wait_for_selector("h1.name")
    assert page.locator("img[src=x]").count() == 0
    assert "broken" not in page.title()
    assert "onerror" in page.locator("#lesson").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(visit, picture, scheme):
    page = visit(color_scheme=scheme)
    search(page, "parse date")
    page.locator(".why summary").first.click()
    page.locator(".honest summary").click()
    picture(page, f"demo-{scheme}", full_page=True)
    assert page.evaluate(CONTRASTS) >= 4.5


def test_on_a_phone_nothing_is_wider_than_the_screen(visit, picture):
    page = visit(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    search(page, "read csv file")
    page.locator(".why summary").first.tap()
    page.locator(".results button.link").nth(3).tap()
    page.wait_for_selector("h1.name")
    picture(page, "demo-phone", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    search(page, "x" * 900)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_nothing_jumps_while_visitors_come(visit):
    page = visit()
    page.locator("#send").click()
    wait_for_visits(page, 5)
    page.evaluate(WATCH_SHIFTS)
    wait_for_visits(page, 60)
    stop(page)
    assert page.evaluate("window.shifted") < 0.01


WATCH_SHIFTS = """() => {
  window.shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shifted += e.value; }))
    .observe({ type: "layout-shift", buffered: false });
}"""

# The smallest contrast between a visible text and the colour behind it, by WCAG's formula.
CONTRASTS = """() => {
  const numbers = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  let least = 21;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest("option, .skip, canvas")) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color).slice(0, 3)), light(behind(element))];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
}"""
