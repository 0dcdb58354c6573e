"""The dashboard in a real browser: what somebody sees, does, and must never have to put up with."""

import csv
import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import numpy as np
import pytest
from tests.patience import PATIENCE

from rankloop.live.looks import Looks

from .looking import FACT, drawn, expect, polled
from .running import click, rank

pytestmark = [pytest.mark.xdist_group("dashboard-browser"), pytest.mark.slow]

SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
  // What follows what somebody just did is no surprise.
  if (!one.hadRecentInput) window.shifts.push([one.value, one.sources.map((source) => source.node && source.node.id)]);
})).observe({type: "layout-shift", buffered: true});
"""
TABS = ("Overview", "Queries", "Experiments", "Learning", "History", "Settings")


def mode(service):
    return httpx.get(f"{service.url}/v1/models/shop", timeout=PATIENCE).json()["mode"]


SCREENS = {"phone": (360, 740), "laptop": (1280, 800)}


@pytest.mark.parametrize("screen", SCREENS)
def test_a_models_page_answers_five_questions_on_the_first_screen(service, visit, pictures, screen):
    """Does it help, since when, how sure, what changed, what should I do: without scrolling."""
    width, height = SCREENS[screen]
    phone = {"has_touch": True, "is_mobile": True} if screen == "phone" else {}
    page = visit(f"{service.url}/models/shop", viewport={"width": width, "height": height}, **phone)
    drawn(page)
    page.screenshot(path=pictures / f"model-{screen}.png")
    expect(page.get_by_role("heading", name="Does it help?")).to_be_visible()
    expect(page.locator("#answer .words")).to_have_text("Yes, it helps")
    assert re.fullmatch(r"\+\d+ %", page.locator("#answer .huge").inner_text())
    assert re.fullmatch(r"95 % interval: \+\d+ % to \+\d+ %", page.locator("#answer .interval").inner_text())
    answers = {"Since when": "Clear since ", "How sure": "people in the control group",
               "What changed": "it learned to", "What to do": "Nothing. It keeps learning"}  # fmt: skip
    for question, answer in answers.items():
        told = page.locator("#five > div", has=page.get_by_text(question, exact=True))
        expect(told).to_contain_text(answer)
        box = told.bounding_box()
        assert box["y"] + box["height"] <= height, question


@pytest.mark.parametrize("tab", ["", "/learning"])
def test_pages_load_little_and_nothing_from_elsewhere(service, visit, pictures, tab):
    click(service, rank(service), ["b"])
    page = visit(f"{service.url}/models/shop{tab}")
    charts = drawn(page)
    assert len(charts) == (5 - 1 if tab else 2)  # it learns from no reward
    assert all(charts.values())
    for figure in page.locator("figure.chart").all():
        expect(figure.locator("h3")).not_to_be_empty()
        expect(figure.locator("figcaption")).not_to_be_empty()
        expect(figure.locator("canvas")).to_be_visible()
    page.screenshot(path=pictures / f"model{tab.replace('/', '-')}-whole.png", full_page=True)
    assert {request.url.split("/")[2] for request in page.asked} == {service.url.split("/")[2]}
    # Each address once: what is asked again later is news.
    loaded = {request.url: request for request in page.asked if "/live" not in request.url}
    assert len(loaded) > 8
    assert sum(request.sizes()["responseBodySize"] for request in loaded.values()) < 100_000
    # Even where nothing can be compressed on the way.
    assert sum(len(request.response().body()) for request in loaded.values()) < 250_000
    assert page.complaints == []


def test_every_tab_is_a_page_and_says_which_one_it_is(service, visit):
    page = visit(f"{service.url}/models/shop")
    for label in TABS:
        page.get_by_role("navigation", name="Pages of shop").get_by_role("link", name=label).click()
        expect(page.locator(".tabs [aria-current=page]")).to_have_text(label)
        drawn(page)
    for address, heading in (("/service", "Service"), ("/new", "New model"), ("/", "Models")):
        page.goto(service.url + address)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert page.complaints == []


def test_whoever_points_at_a_chart_is_told_the_values_there(service, visit):
    page = visit(f"{service.url}/models/shop")
    drawn(page)
    plot = page.locator("#chart-learning .plot")
    box = plot.bounding_box()
    plot.hover(position={"x": box["width"] / 2, "y": box["height"] / 3})
    tip = page.locator("#chart-learning .tip")
    expect(tip).to_be_visible()
    assert re.search(r"learned\s*\d[.\d]* \([\d.]+ to [\d.]+\)", tip.inner_text())
    assert re.search(r"control\s*\d[.\d]* \([\d.]+ to [\d.]+\)", tip.inner_text())
    # And with the keyboard alone.
    page.mouse.move(0, 0)
    page.locator("#chart-gain .plot").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#chart-gain .tip")).to_contain_text("%")


def test_news_arrive_without_a_reload_and_nothing_moves_or_closes(service, visit):
    page = visit(f"{service.url}/models/shop")
    page.context.add_init_script(SHIFTS)
    page.reload()
    drawn(page)
    page.evaluate("window.stayed = true")
    closed = page.locator(FACT.format("pages closed"))
    before = int(closed.inner_text().replace(",", ""))
    page.locator(".tabs a").nth(1).focus()
    shown = rank(service, query="something new")
    click(service, shown, [shown["ranking"][0]])
    expect(closed).to_have_text(f"{before + 1:,}")
    assert page.evaluate("document.activeElement.textContent") == "Queries"
    # What somebody has opened stands still while they read in it.
    page.locator("#method summary").click()
    shown = rank(service)
    click(service, shown, [])
    expect(closed).to_have_text(f"{before + 2:,}")
    expect(page.locator("#method")).to_have_attribute("open", "")
    assert page.evaluate("window.stayed") is True
    # A number that gets one more digit pushes its neighbours in the line of facts; nothing else may move. (What
    # browsers call good ends at 0.1; such a digit was seen as 0.0017.)
    assert page.evaluate("window.shifts.reduce((sum, one) => sum + one[0], 0)") < 0.01, page.evaluate("window.shifts")
    assert page.complaints == []


def test_a_chart_grows_without_a_reload(service, visit):
    page = visit(f"{service.url}/service")
    drawn(page)
    rank(service)
    errors = page.locator("#chart-errors")
    with page.expect_response(lambda answer: "errors.json" in answer.url) as answer:
        pass
    points = len(answer.value.json()["x"])
    expect(errors).to_have_attribute("data-points", str(points))
    assert points > 0


def press_until(page, selector, limit=150):
    """Tab through the page until something has the focus, and see that it shows."""
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return
    raise AssertionError(f"{selector} cannot be reached with the keyboard")


def test_pause_roll_back_and_resume_with_the_keyboard_alone(service, visit, pictures):
    page = visit(f"{service.url}/models/shop/history")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    press_until(page, "#act-pause")
    page.keyboard.press("Enter")
    page.wait_for_url("**/act/pause")
    assert mode(service) == "learning"
    press_until(page, "#confirm")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Learning is paused.")
    assert mode(service) == "paused"
    expect(page.locator("#mode")).to_have_text("paused")
    page.goto(f"{service.url}/models/shop/history")
    expect(page.locator(".timeline li").first).to_contain_text("Paused learning")

    before = httpx.get(f"{service.url}/v1/models/shop", timeout=PATIENCE).json()["weights"]
    press_until(page, "[id^=back-]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/act/roll-back**")
    version = int(page.url.split("=")[1])
    page.screenshot(path=pictures / "roll-back.png")
    press_until(page, "#confirm")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The model has been rolled back.")
    expect(page.locator("#five")).to_contain_text(f"Rolled back to version {version:,}")
    page.goto(f"{service.url}/models/shop/history")
    kept = httpx.get(f"{service.url}/v1/models/shop/snapshots/{version}", timeout=PATIENCE).json()["weights"]
    after = httpx.get(f"{service.url}/v1/models/shop", timeout=PATIENCE).json()["weights"]
    assert after == kept
    assert after != before

    press_until(page, "#act-resume")
    page.keyboard.press("Enter")
    page.wait_for_url("**/act/resume")
    press_until(page, "#confirm")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Learning has resumed.")
    assert mode(service) == "learning"
    assert page.complaints == []


def test_cancelling_changes_nothing(service, visit):
    page = visit(f"{service.url}/models/shop/act/freeze")
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url("**/models/shop")
    assert mode(service) == "learning"


def test_in_the_dark_the_page_is_dark_and_so_are_its_charts(service, visit, pictures):
    page = visit(f"{service.url}/models/shop/learning", color_scheme="dark")
    drawn(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 18, 21)"
    page.screenshot(path=pictures / "dark.png", full_page=True)
    ink = """() => { const canvas = document.querySelector('#chart-propensities canvas');
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const found = new Set(); for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] === 255) found.add(data.slice(i, i + 3).join());
      return [...found]; }"""
    assert "143,180,255" in page.evaluate(ink)
    with page.expect_response(lambda answer: "propensities.json" in answer.url):
        page.emulate_media(color_scheme="light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(248, 249, 250)"
    polled(page, 1)
    assert "42,91,208" in page.evaluate(ink)


PLACES = [
    "/", "/new", "/service", "/models/shop", "/models/shop/queries", "/models/shop/experiments",
    "/models/shop/learning",
    "/models/shop/history", "/models/shop/settings", "/models/shop/connect?engine=opensearch",
    "/models/shop/export?format=solr", "/models/shop/replay", "/models/shop/act/roll-back?version=0", "/sign-in",
]  # fmt: skip
NAMES = """() => [...document.querySelectorAll("a, button, input, select, textarea")].filter((one) => {
  const box = one.getBoundingClientRect(), hidden = !one.checkVisibility() || one.type === "hidden";
  return !hidden && one.className !== "skip" && box.width > 0 && (box.left < -1 || box.right > innerWidth + 1);
}).map((one) => one.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [360, 768])
def test_on_small_screens_nothing_that_matters_is_off_the_screen(service, visit, pictures, width):
    page = visit(service.url, viewport={"width": width, "height": 740}, has_touch=True, is_mobile=True)
    for place in PLACES:
        page.goto(service.url + place)
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        assert page.evaluate(NAMES) == [], place
        for figure in page.locator("figure.chart").all():
            assert figure.bounding_box()["width"] <= width
    page.goto(f"{service.url}/models/shop/history")
    table = page.locator("#snapshots")
    display = table.locator("tbody tr").first.evaluate("(row) => getComputedStyle(row).display")
    assert display == ("block" if width < 640 else "table-row")  # on a phone, tables are lists
    page.screenshot(path=pictures / f"phone-{width}.png", full_page=True)


def test_a_command_stays_on_one_line(service, visit, monkeypatch):
    monkeypatch.setattr(Looks, "known", np.arange(10) > 0)
    page = visit(f"{service.url}/models/shop/learning")
    drawn(page)
    command = page.locator(".findings code")
    assert command.evaluate("(code) => code.getClientRects().length") == 1


def test_a_chart_that_is_not_drawn_yet_does_not_say_that_there_is_nothing_to_draw(service, visit):
    page = visit(f"{service.url}/models/shop", java_script_enabled=False)
    expect(page.locator("#chart-learning .empty")).to_have_count(1)
    expect(page.locator("#chart-learning .empty")).not_to_be_visible()


def test_times_are_in_the_viewers_zone(service, visit):
    page = visit(f"{service.url}/models/shop/history", timezone_id="Asia/Tokyo")
    one = page.locator("#snapshots time").first
    expect(one).to_have_attribute("data-local", "yes")
    at = datetime.strptime(one.get_attribute("datetime"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert one.inner_text() == f"{at.astimezone(ZoneInfo('Asia/Tokyo')):%-d %b %Y, %H:%M:%S}"


def test_a_charts_numbers_can_be_taken_away_as_csv(service, visit):
    page = visit(f"{service.url}/models/shop/learning")
    with page.expect_download() as download:
        page.get_by_role("link", name="Click-through by rank as CSV").click()
    assert download.value.suggested_filename == "shop-click-through.csv"
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 11)]
    assert 0 < float(rows[0]["learned: click-through (%)"]) < 100


def test_a_query_is_picked_and_its_orders_stand_beside_each_other_with_reasons(service, visit, pictures):
    shown = rank(service, query="red shoes", client="anna")
    click(service, shown, [shown["ranking"][0]])
    page = visit(f"{service.url}/models/shop/queries")
    page.get_by_label("Query").fill("RED  shoes")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".orders .lead")).to_contain_text("“red shoes”")
    engine, model = (
        page.get_by_role("region", name=name).locator(".document") for name in ("Your engine", "The learned order")
    )
    assert engine.all_inner_texts() == list("abcdefgh")
    assert sorted(model.all_inner_texts()) == list("abcdefgh")
    first = page.get_by_role("region", name="The learned order").locator("details").first
    first.locator("summary").click()
    expect(first.locator(".bars .name").first).to_be_visible()
    expect(page.get_by_role("region", name="The learned order")).to_contain_text(re.compile(r"\d clicks?"))
    page.screenshot(path=pictures / "queries.png", full_page=True)
    page.get_by_role("complementary", name="Queries").get_by_role("link").first.click()
    expect(page.locator(".picks [aria-current]")).to_have_count(1)
    page.get_by_label("Query").fill("never asked")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Not among the newest pages")).to_be_visible()
    assert page.complaints == []


def test_a_model_is_connected_exported_and_replayed_from_its_page(service, visit):
    page = visit(f"{service.url}/models/shop/settings")
    expect(page.locator(".words-list")).to_contain_text("20 % of people always get the engine’s order")
    page.get_by_role("link", name="Connect").click()
    page.get_by_label("Engine", exact=True).select_option("OpenSearch")
    page.locator("#show-files").click()
    expect(page.locator(".file summary", has_text="PUT _search/pipeline/rankloop-shop")).to_be_visible()
    page.goto(f"{service.url}/models/shop/export")
    page.get_by_label("Format").select_option("Solr")
    page.locator("#check").click()
    expect(page.get_by_role("region", name="What leaves")).to_contain_text("of pages keep their first result")
    with page.expect_download() as download:
        page.locator("#download").click()
    assert re.fullmatch(r"shop-\d+\.solr\.json", download.value.suggested_filename)
    page.goto(f"{service.url}/models/shop/replay")
    page.get_by_label("Method").select_option("PDGD")
    page.locator("#begin").click()
    expect(page.get_by_role("region", name="Replay")).to_contain_text("PDGD", timeout=1000 * PATIENCE)
    assert page.complaints == []
    # On a phone a table is a list, and its caption as wide as that.
    page.set_viewport_size({"width": 360, "height": 740})
    caption, table = (page.locator(f"#replayed {part}").first.bounding_box() for part in ("caption", "table"))
    assert caption["width"] == table["width"]
