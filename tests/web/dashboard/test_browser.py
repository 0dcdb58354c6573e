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

from rankloop.live.keys import create_key
from rankloop.live.looks import Looks
from rankloop.live.settings import Zeros

from .running import click, make_model, make_past, rank, running, shop

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
pytestmark = [pytest.mark.xdist_group("dashboard-browser"), pytest.mark.slow]

SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
  // What follows what somebody just did is no surprise.
  if (!one.hadRecentInput) window.shifts.push([one.value, one.sources.map((source) => source.node && source.node.id)]);
})).observe({type: "layout-shift", buffered: true});
"""
FACT = "#facts .fact:has(.label:text-is('{}')) .value"


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Where screenshots go, to be looked at."""
    return tmp_path_factory.mktemp("pictures")


def drawn(page):
    """Wait until every chart has been drawn."""
    expect(page.locator("figure.chart:not([data-points])")).to_have_count(0)
    figures = page.locator("figure.chart").all()
    return {figure.get_attribute("id"): int(figure.get_attribute("data-points")) for figure in figures}


def mode(service):
    return httpx.get(f"{service.url}/v1/models/shop", timeout=PATIENCE).json()["mode"]


def polled(page, times=2):
    """Wait until the page has asked for news some times."""
    for _ in range(times):
        with page.expect_response(lambda answer: "/live" in answer.url):
            pass


def test_a_models_page_shows_everything_loads_little_and_nothing_from_elsewhere(service, visit, pictures):
    click(service, rank(service), ["b"])
    page = visit(f"{service.url}/models/shop")
    charts = drawn(page)
    assert len(charts) == 7  # it learns from no reward
    assert all(charts.values())
    for heading in ("Does it help?", "What it has learned", "How it explores", "Actions and snapshots", "Recent pages"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    for figure in page.locator("figure.chart").all():
        expect(figure.locator("h3")).not_to_be_empty()
        expect(figure.locator("figcaption")).not_to_be_empty()
        expect(figure.locator("canvas")).to_be_visible()
    page.screenshot(path=pictures / "model.png", full_page=True)
    assert {request.url.split("/")[2] for request in page.asked} == {service.url.split("/")[2]}
    # Each address once: what is asked again later is news.
    loaded = {request.url: request for request in page.asked if "/live" not in request.url}
    assert len(loaded) > 15
    assert sum(request.sizes()["responseBodySize"] for request in loaded.values()) < 100_000
    # Even where nothing can be compressed on the way.
    assert sum(len(request.response().body()) for request in loaded.values()) < 200_000
    assert page.complaints == []


def test_news_arrive_without_a_reload_and_nothing_moves_or_closes(service, visit):
    page = visit(f"{service.url}/models/shop")
    page.context.add_init_script(SHIFTS)
    page.reload()
    drawn(page)
    page.evaluate("window.stayed = true")
    closed = page.locator(FACT.format("pages closed, all time"))
    before = int(closed.inner_text().replace(",", ""))
    page.locator("#act-pause").focus()
    shown = rank(service, query="something new")
    click(service, shown, [shown["ranking"][0]])
    expect(closed).to_have_text(f"{before + 1:,}")
    expect(page.locator("#recent summary").first).to_contain_text("something new")
    assert page.evaluate("document.activeElement.id") == "act-pause"
    first = page.locator("#recent details").first
    first.locator("summary").click()
    rank(service, query="newer still")
    polled(page)
    # The list stands still under somebody who reads in it, and goes on afterwards.
    expect(first).to_contain_text("something new")
    expect(first).to_have_attribute("open", "")
    first.locator("summary").click()
    expect(page.locator("#recent summary").first).to_contain_text("newer still")
    assert page.evaluate("window.stayed") is True
    assert page.evaluate("window.shifts") == []
    assert page.complaints == []


def test_a_chart_grows_without_a_reload(service, visit):
    page = visit(f"{service.url}/models/shop?over=hours")
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
    page = visit(f"{service.url}/models/shop")
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
    expect(page.locator(FACT.format("model state"))).to_have_text("paused")

    before = httpx.get(f"{service.url}/v1/models/shop", timeout=PATIENCE).json()["weights"]
    press_until(page, "[id^=back-]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/act/roll-back**")
    version = int(page.url.split("=")[1])
    page.screenshot(path=pictures / "roll-back.png")
    press_until(page, "#confirm")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The model has been rolled back.")
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
    page = visit(f"{service.url}/models/shop", color_scheme="dark")
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


def test_on_a_phone_nothing_is_cut_off(service, visit, pictures):
    page = visit(f"{service.url}/models/shop", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    drawn(page)
    page.locator("#recent summary").first.click()
    page.screenshot(path=pictures / "phone.png", full_page=True)
    for address in ("/models/shop", "/", "/models/shop/act/roll-back?version=0", "/models/shop/snapshots"):
        page.goto(service.url + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
    page.goto(f"{service.url}/models/shop")
    for figure in page.locator("figure.chart").all():
        assert figure.bounding_box()["width"] <= 390


def test_a_chart_without_a_neighbour_has_the_row_to_itself_and_a_command_stays_on_one_line(service, visit, monkeypatch):
    monkeypatch.setattr(Looks, "known", np.arange(10) > 0)
    page = visit(f"{service.url}/models/shop")
    drawn(page)
    whole = page.locator("#comparison").bounding_box()["width"]
    assert page.locator("#chart-learning").bounding_box()["width"] < 0.6 * whole
    assert page.locator("#chart-propensities").bounding_box()["width"] == pytest.approx(whole, abs=1)
    page.set_viewport_size({"width": 390, "height": 844})
    command = page.locator("#comparison .findings code")
    assert command.evaluate("(code) => code.getClientRects().length") == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_chart_that_is_not_drawn_yet_does_not_say_that_there_is_nothing_to_draw(service, visit):
    page = visit(f"{service.url}/models/shop", java_script_enabled=False)
    expect(page.locator("#chart-learning .empty")).to_have_count(1)
    expect(page.locator("#chart-learning .empty")).not_to_be_visible()


def test_times_are_in_the_viewers_zone(service, visit):
    page = visit(f"{service.url}/models/shop", timezone_id="Asia/Tokyo")
    one = page.locator("time").first
    expect(one).to_have_attribute("data-local", "yes")
    at = datetime.strptime(one.get_attribute("datetime"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert one.inner_text() == f"{at.astimezone(ZoneInfo('Asia/Tokyo')):%d/%m/%Y, %H:%M:%S}"


def test_a_charts_numbers_can_be_taken_away_as_csv(service, visit):
    page = visit(f"{service.url}/models/shop")
    with page.expect_download() as download:
        page.get_by_role("link", name="Click-through by rank as CSV").click()
    assert download.value.suggested_filename == "shop-click-through.csv"
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 11)]
    assert 0 < float(rows[0]["learned: click-through (%)"]) < 100


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"&{{7*7}}"


def test_names_and_queries_are_shown_as_they_are_and_do_nothing(tmp_path, visit):
    names = (f"{HOSTILE}", "=cmd", "javascript:alert(3)", "</title><svg onload=alert(4)>")
    settings = shop(features=names, start=Zeros(), scaling="none")
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_model(store, settings)) as service:
        shown = rank(service, query=HOSTILE, ids=[HOSTILE, "</table><script>alert(5)</script>", "\u202eevil", "d"])
        click(service, shown, [HOSTILE])
        page = visit(f"{service.url}/models/shop?over=<script>alert(6)</script>&done={HOSTILE}")
        page.locator("#recent summary").first.click()
        expect(page.locator("#recent .query").first).to_have_text(HOSTILE)
        expect(page.locator("#recent td", has_text="<img src=x").first).to_be_visible()
        drawn(page)
        texts = page.locator("#weights .name").all_inner_texts()
        assert set(texts) == set(names)
        assert "<img" in page.locator("#chart-weights .u-legend").inner_text()
        polled(page)
        for address in ("/", f"/models/{HOSTILE}", f"/sign-in?next={HOSTILE}", "/models/shop/charts/<script>.json"):
            page.goto(service.url + address)
        assert page.dialogs == []
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("document.querySelectorAll('script:not([src])').length") == 0


def test_an_empty_service_says_how_to_begin_and_then_shows_the_first_model(tmp_path, visit, pictures):
    with running(str(tmp_path / "log.db")) as service:
        page = visit(service.url)
        expect(page.locator("#walk")).to_contain_text(f"curl -s {service.url}/v1/models")
        page.screenshot(path=pictures / "empty.png")
        httpx.post(
            f"{service.url}/v1/models", json={"name": "shop", "features": 4}, timeout=PATIENCE
        ).raise_for_status()
        link = page.get_by_role("link", name="shop")
        expect(link).to_be_visible()
        link.click()
        expect(page.locator("#comparison")).to_contain_text("This model has not ranked a page yet")
        click(service, rank(service), ["a"])
        expect(page.locator(FACT.format("pages closed, all time"))).to_have_text("1")
        assert page.complaints == []


def test_a_stopped_learner_is_shown_as_such(tmp_path, visit, pictures):
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_past(store, shop(), 3, 4)) as service:
        page = visit(f"{service.url}/models/shop")
        learner = page.locator("#states li", has_text="Learner")
        expect(learner).to_contain_text("healthy")
        service.service.learner.stop()
        expect(learner).to_contain_text("stopped")
        expect(learner).to_contain_text("Ranking continues with the last state")
        page.screenshot(path=pictures / "learner.png")
        assert rank(service)["ranking"]
        page.goto(f"{service.url}/models/shop/act/pause")
        page.locator("#confirm").click()
        expect(page.get_by_role("alert").first).to_contain_text("the learner has stopped")
        page.goto(service.url)
        expect(page.locator("#states li", has_text="Learner")).to_contain_text("stopped")


def test_a_stopped_store_is_shown_as_such_with_the_numbers_from_before(visit, pictures):
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    from ...live.postgres_server import postgres

    with (
        postgres() as server,
        running(server.new_database(), prepare=lambda store: make_past(store, shop(), 3, 4)) as service,
    ):
        page = visit(f"{service.url}/models/shop")
        store = page.locator("#states li", has_text="Store")
        expect(store).to_contain_text("healthy")
        server.stop()
        expect(store).to_contain_text("down")
        expect(store).to_contain_text("pages keep the incoming order")
        expect(page.locator(FACT.format("pages closed, all time"))).to_have_text("12")
        page.screenshot(path=pictures / "store.png")
        assert rank(service)["group"] == "fallback"
        page.goto(service.url)
        expect(page.locator("#states li", has_text="Store")).to_contain_text("down")
        server.start()
        expect(page.locator("#states li", has_text="Store")).to_contain_text("healthy")


def test_a_service_that_is_gone_is_said_to_be_gone(tmp_path, visit):
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_model(store, shop())) as service:
        page = visit(f"{service.url}/models/shop")
        expect(page.locator("#lost")).to_be_hidden()
    expect(page.locator("#lost")).to_be_visible()
    expect(page.locator("#lost")).to_contain_text("is not responding")


def test_with_keys_somebody_signs_in_acts_and_signs_out(tmp_path, visit, pictures):
    made = []

    def prepare(store):
        make_model(store, shop())
        made.append(create_key(store, "ops", ["admin"], 1))

    with running(str(tmp_path / "log.db"), prepare=prepare) as service:
        page = visit(f"{service.url}/models/shop")
        page.screenshot(path=pictures / "sign-in.png")
        page.get_by_label("API key").fill(made[0])
        page.keyboard.press("Enter")
        page.wait_for_url("**/models/shop")
        page.locator("#act-freeze").click()
        page.locator("#confirm").click()
        expect(page.get_by_role("status")).to_contain_text("frozen")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in")
        page.goto(f"{service.url}/models/shop")
        assert re.search(r"/sign-in\?next=%2Fmodels%2Fshop$", page.url)
