"""The demo in a real browser, from the first search to the last reset. Pictures of it go to RANKLOOP_SCREENSHOTS."""

import os
import re
from pathlib import Path

import pytest
from tests.patience import BROWSER_PATIENCE

from .visiting import click, impression, match, search, shown, start_over, stop, wait_for_visits, wait_until, want

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
        if page.locator("#status").get_attribute("data-taste") != "explorers":
            want(page, "explorers")
        if not demonstration.untouched():
            start_over(page)
        page.mouse.move(2, 2)
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


def test_a_newcomers_story_one_sentence_a_search_a_click_that_moves_things(visit, picture):
    page = visit()
    assert page.locator("h1").inner_text() == "This search learns from clicks"
    assert page.locator(".hero p").inner_text().count(".") == 2
    first = shown(page)
    engine = page.locator(".before .name > :first-child").all_inner_texts()
    assert engine == first
    assert page.locator(".paths .up, .paths .down").count() == 0
    page.evaluate(WATCH_GLIDES)
    click(page, 10)
    now = shown(page)
    assert now.index(first[9]) < 9
    # Before stays beside it, and what moved was seen to move.
    assert page.locator(".before .name > :first-child").all_inner_texts() == engine
    moved = [name for name in now if name not in first or first.index(name) != now.index(name)]
    assert len(moved) >= 3
    assert sorted(page.evaluate("window.glided")) == sorted(moved)
    assert int(page.locator("#results").get_attribute("data-moved")) == len(moved)
    assert page.locator(".paths .up").count() >= 1
    said = page.locator("#lesson").inner_text()
    assert said.startswith(f"You clicked {first[9]}. It rose from 10th to {now.index(first[9]) + 1}")
    assert f"; {len(moved)} of 10 results moved." in said
    still(page)
    picture(page, "demo-click")
    # What has come to lie under the pointer does not look clicked, or pointed at, until the pointer moves.
    assert page.locator("#results .now li:has(.yours)").get_attribute("data-key") == first[9]
    row = page.locator("#results .now li").nth(9)
    assert now[9] != first[9]
    assert colour(row) == colour(page.locator("#results .now li:not(.clicked)").first)
    page.mouse.move(*middle(row, 6))
    page.wait_for_selector(".demo:not(.resting)")
    still(page)
    assert colour(row) != colour(page.locator("#results .now li:not(.clicked)").first)
    # Why it stands there, in words.
    page.locator(".why summary").first.click()
    assert page.locator(".why[open] svg rect").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator(".why[open]").count() == 0
    page.locator("#lesson a").click()
    page.wait_for_selector("h1.name")
    assert page.locator("h1.name").inner_text().startswith(first[9])
    page.locator(".hero a").click()
    page.wait_for_selector("#results")
    assert shown(page) == now


def colour(row):
    return row.evaluate("one => getComputedStyle(one).backgroundColor")


def middle(row, beside):
    box = row.bounding_box()
    return box["x"] + box["width"] / 3 + beside, box["y"] + box["height"] / 2


def still(page):
    """Until nothing moves any more."""
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished))")


@pytest.mark.long
def test_visitors_arrive_and_the_results_follow_them_live(visit, picture, demonstration):
    page = visit()
    first, start = shown(page), match(page)
    assert start == match(page, "engine")
    page.evaluate("window.stayed = true")
    page.locator("#send").click()
    page.wait_for_selector("#status[data-running='yes']")
    wait_for_visits(page, 60)
    assert page.locator(".latest li").count() == 4
    assert "Visitors are searching and clicking." in page.locator("#lesson").inner_text()
    wait_for_visits(page, 300)
    assert shown(page) != first
    assert page.locator(".before .name > :first-child").all_inner_texts() == first
    assert "visitors" in page.locator("#since").inner_text()
    assert match(page) > start + 15
    wait_until(page, "Number(document.querySelector('#curve').dataset.points)", 10)
    assert page.locator("polyline.model").count() == 1
    assert page.locator(".curve .mark").count() == 0
    # Another taste: the line breaks off, and the chart says when and what.
    page.mouse.move(2, 2)
    want(page, "readers")
    assert page.locator("#status").get_attribute("data-running") == "yes"
    switched = demonstration.curve()[-1]["visits"]
    wait_for_visits(page, switched + 60)
    assert page.locator("polyline.model").count() == 2
    assert page.locator(".curve .wants").all_text_contents() == ["modules and classes", "long explanations"]
    picture(page, "demo-visitors", full_page=True)
    page.wait_for_selector("#status[data-running='no']")
    assert page.evaluate("window.stayed")  # all this without leaving the page
    assert "1,000 visitors later" in page.locator("#lesson").inner_text()
    # Of those who want something else now nobody has come: it is not said to be their doing.
    want(page, "literalists")
    page.locator("#lesson", has_text="Now they want exactly what they typed.").wait_for()
    want(page, "readers")
    page.locator("#lesson", has_text="1,000 visitors later").wait_for()
    after = [point["model"] for point in demonstration.curve() if point["taste"] == "readers"]
    assert max(after[5:]) > after[0] + 0.1
    assert "After 1,000 visitors" in page.locator("#since").inner_text()


def test_results_hold_still_under_a_pointer_and_follow_when_it_goes(visit):
    page = visit()
    page.locator("#send").focus()
    page.keyboard.press("Enter")
    page.locator("#results .now li").nth(4).hover()
    was = impression(page)
    wait_for_visits(page, 40)
    stays = impression(page)
    page.mouse.move(2, 2)
    page.wait_for_selector(f"#results:not([data-impression='{stays}'])")
    page.locator("#send").focus()
    stop(page)
    assert stays == was


def test_who_wants_no_motion_gets_none(visit):
    page = visit(reduced_motion="reduce")
    page.evaluate(WATCH_GLIDES)
    click(page, 10)
    assert int(page.locator("#results").get_attribute("data-moved")) >= 3
    assert page.evaluate("window.glided") == []


def test_starting_over_brings_the_engines_order_back_and_a_rival_has_a_line_and_a_sentence(visit):
    page = visit()
    fresh = shown(page)
    click(page, 10)
    page.locator("#send").click()
    wait_for_visits(page, 20)
    start_over(page, rival="careful")
    assert shown(page) == fresh
    assert "Click the result you would have wanted." in page.locator("#lesson").inner_text()
    assert "The rival is ROLTR" in page.locator(".reset").inner_text()
    page.locator("#send").click()
    wait_for_visits(page, 40)
    stop(page)
    assert page.locator("polyline.rival").count() == 1


@pytest.mark.parametrize("size", [(360, 740), (768, 1024), (1280, 800), (1920, 1080)], ids=str)
def test_send_is_in_reach_on_every_screen(visit, picture, size):
    width, height = size
    page = visit(viewport={"width": width, "height": height})
    for address in ("/demo", "/demo?q=zzqqxx", "/demo/documents/tempfile"):
        page.goto(page.url.split("/demo")[0] + address)
        for end in ("0", "document.documentElement.scrollHeight"):
            page.evaluate(f"scrollTo(0, {end})")
            box = page.locator("#send").bounding_box()
            assert min(box["x"], box["y"]) >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(page.url.split("/demo")[0] + "/demo")
    picture(page, f"demo-{width}", full_page=True)


def test_the_whole_story_with_the_keyboard_alone(visit):
    page = visit()
    page.locator("h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("split string")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-query='split string']")
    page.keyboard.press("/")
    tab_to(page, "e => e.classList.contains('link')")
    clicked, was = page.evaluate("document.activeElement.id"), impression(page)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#results:not([data-impression='{was}'])")
    assert page.evaluate("document.activeElement.id") == clicked  # wherever it stands now
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
    assert HOSTILE in page.locator("#results-title").inner_text()
    assert page.locator("#q").input_value() == HOSTILE
    click(page, 1)
    assert page.locator("img[src=x]").count() == 0
    page.locator("#lesson a").click()
    page.wait_for_selector("h1.name")
    assert page.locator("img[src=x]").count() == 0
    assert "broken" not in page.title()
    assert "onerror" in page.locator(".hero a").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(visit, picture, scheme):
    page = visit(color_scheme=scheme)
    search(page, "parse date")
    click(page, 9)
    page.locator(".why summary").first.click()
    for summary in page.locator(".more summary").all():
        summary.click()
    still(page)
    picture(page, f"demo-{scheme}", full_page=True)
    assert page.evaluate(CONTRASTS) >= 4.5


def test_on_a_phone_nothing_is_seen_between_what_they_want_and_the_button_that_sends_them(visit):
    """A stripe of the results went through the bar at the bottom."""
    page = visit(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    wants, send = (page.locator(f".crowd {part}").bounding_box() for part in (".taste", ".sender"))
    assert wants["y"] < send["y"] <= wants["y"] + wants["height"]
    assert page.locator("#taste").bounding_box()["y"] + page.locator("#taste").bounding_box()["height"] <= send["y"]


def test_on_a_phone_nothing_is_wider_than_the_screen(visit, picture):
    page = visit(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    search(page, "read csv file")
    page.locator(".why summary").first.tap()
    assert page.locator(".why[open] .reasons").bounding_box()["x"] >= 0
    page.locator(".why summary").first.tap()
    was = impression(page)
    page.locator("#results button.link").nth(7).scroll_into_view_if_needed()
    page.locator("#results button.link").nth(7).tap()
    page.wait_for_selector(f"#results:not([data-impression='{was}'])")
    assert page.locator(".move.up").count() >= 1
    # What the click did is on the screen, however far it rose: it left it at the top.
    still(page)
    page.wait_for_function("document.querySelector('#results li.clicked').getBoundingClientRect().top >= 0")
    told, row = (page.locator(one).bounding_box() for one in ("#lesson", "#results li.clicked"))
    assert row["y"] + row["height"] <= told["y"] or told["y"] + told["height"] <= row["y"]
    page.locator("#results li").last.scroll_into_view_if_needed()
    box = page.locator("#lesson").bounding_box()
    assert box["y"] >= 0
    bar = page.locator("#taste").bounding_box()
    assert box["y"] + box["height"] <= bar["y"]
    assert bar["y"] + bar["height"] < 740
    assert re.fullmatch(r".* \d+ of 100", page.locator("#match").inner_text())
    still(page)
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


# Which results were animated, by name.
WATCH_GLIDES = """() => {
  window.glided = [];
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (frames, timing) {
    if (this.dataset.key && frames[0].transform) window.glided.push(this.dataset.key);
    return animate.call(this, frames, timing);
  };
}"""

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


def test_there_is_something_to_stop_only_while_visitors_come_and_send_stays_on_one_line(visit):
    page = visit(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    before = page.locator("#send").bounding_box()
    assert not page.locator("#stop").is_visible()
    page.locator("#send").tap()
    page.wait_for_selector("#stop", state="visible")
    assert page.locator("#send").bounding_box() == before
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    stop(page)
    page.wait_for_selector("#stop", state="hidden")
