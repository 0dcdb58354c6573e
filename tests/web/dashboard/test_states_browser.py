"""A model's first screen in a browser when all is not well: new, worse than the engine's order, or with an alert."""

import re

import httpx
import pytest
from tests.patience import PATIENCE

from rankloop.live.alerts import alert_of
from rankloop.live.settings import Guards
from rankloop.live.watching import Period

from .looking import drawn, expect
from .running import click, make_model, make_past, outlet, rank, running, shop

pytestmark = [pytest.mark.xdist_group("dashboard-browser"), pytest.mark.slow]

SCREENS = {"phone": (360, 740), "laptop": (1280, 800)}
LONG = "a-model-whose-name-is-as-long-as-the-name-of-a-model-may-ever-be"
BEYOND = "(region) => region.scrollWidth - region.clientWidth"


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """A service with a model that is new, one that is guarded, one that counts value, one with words without end."""

    def prepare(store):
        make_model(store, shop("garden"))
        make_past(store, outlet(), 60, 30)
        make_model(store, shop("market", actions={"click": 0.02, "purchase": 1.0}))
        make_model(store, shop(LONG))
        make_past(store, shop("attic", guards=Guards(control=0.0)), 2, 4)
        make_past(store, shop("desks"), 6, 30)

    with running(str(tmp_path_factory.mktemp("states") / "log.db"), prepare=prepare) as service:
        assert service.service.registry.get("outlet").view().guarded
        shown = rank(service, "oak table", model="market")
        click(service, shown, shown["ranking"][:1], close=False)
        click(service, rank(service, "oak table", model="market"), [])
        for query in ("something that somebody pasted from a letter " * 12, "Hauptbetriebswerkbauunterbeamte" * 9):
            shown = rank(service, query, ids=[f"{place}-{'number-without-end-' * 8}" for place in range(8)], model=LONG)
            click(service, shown, shown["ranking"][:1])
        yield service


def first_screen(page, height):
    """What the five cards say; all of it is seen without scrolling."""
    for card in page.locator("#five > div").all():
        box = card.bounding_box()
        assert box["y"] + box["height"] <= height
    return page.locator("#five").inner_text()


@pytest.mark.parametrize("screen", SCREENS)
def test_a_model_that_hurts_says_how_much_who_sees_it_and_what_to_do(states, visit, pictures, screen):
    width, height = SCREENS[screen]
    page = visit(f"{states.url}/models/outlet", viewport={"width": width, "height": height}, is_mobile=width < 400)
    drawn(page)
    page.screenshot(path=pictures / f"outlet-{screen}.png")
    expect(page.locator("#answer .words")).to_have_text("No, it hurts")
    expect(page.locator("#answer")).to_contain_text("so most people see the engine’s now")
    expect(page.locator("#answer .huge")).to_have_text(re.compile("^−[1-9][0-9] %$"))
    expect(page.locator("#answer .unit")).to_have_text(
        re.compile("^clicks per page since the model was created: .* vs. ")
    )
    expect(page.locator("#answer .interval")).to_contain_text("when the guard came on")
    expect(page.locator("#chart-gain figcaption")).to_contain_text("It ends where the guard came on")
    said = first_screen(page, height)
    assert "It never did better. Let it learn, or start anew in the engine’s order" in said
    assert "At least 95 % sure" in said
    # The numbers behind it are on the screen, too, and not half of them.
    assert page.locator("#comparison .scroll").evaluate(BEYOND) <= 0


def test_on_a_phone_what_cannot_wait_is_marked_and_stays_in_line(states, visit):
    page = visit(f"{states.url}/models/outlet", viewport={"width": 360, "height": 740}, is_mobile=True)
    names = [name.bounding_box()["x"] for name in page.locator("#five dt").all()]
    assert len(set(names)) == 1


@pytest.mark.parametrize("screen", SCREENS)
def test_a_new_model_says_that_it_waits_for_its_first_page(states, visit, screen):
    width, height = SCREENS[screen]
    page = visit(f"{states.url}/models/garden", viewport={"width": width, "height": height}, is_mobile=width < 400)
    drawn(page)
    expect(page.locator("#answer")).to_contain_text("No pages to compare yet. A comparison takes about")
    assert "Send it pages to rank. Connect your search" in first_screen(page, height).replace("\n", " ")


@pytest.mark.parametrize("screen", SCREENS)
def test_after_a_rollback_and_with_an_experiment_all_five_answers_are_on_the_first_screen(states, visit, screen):
    """Their sentences are the longest, and on a phone the last one was cut off."""
    api = f"{states.url}/v1/models/desks"
    if not states.service.registry.get("desks").view().experiment:
        versions = [one["version"] for one in httpx.get(f"{api}/snapshots", timeout=PATIENCE).json()["snapshots"]]
        assert httpx.post(f"{api}/roll-back", json={"version": versions[1]}, timeout=PATIENCE).status_code == 200
        arms = {"arms": ["incoming", "learned"], "share": 1.0}
        assert httpx.post(f"{api}/experiment", json=arms, timeout=PATIENCE).status_code == 200
    width, height = SCREENS[screen]
    page = visit(f"{states.url}/models/desks", viewport={"width": width, "height": height}, is_mobile=width < 400)
    drawn(page)
    expect(page.locator("#answer .words")).to_have_text("Measuring again")
    said = first_screen(page, height)
    assert "No answer since the rollback on" in said
    assert "Started an experiment, " in said


def test_an_alert_is_told_once_and_leaves_the_answer_where_it_was(states, visit, monkeypatch):
    page = visit(f"{states.url}/models/garden")
    stood = page.locator("#answer").bounding_box()
    alerts = [alert_of("garden", Period(kind, "price", 5)) for kind in ("constant", "shifted")]
    monkeypatch.setattr(states.service.alarms, "of", lambda model: alerts)
    page.reload()
    expect(page.locator("#notices .notice")).to_have_count(2)  # a model without pages has something else to do first
    assert page.locator("#answer").bounding_box() == stood


def test_the_overview_has_a_card_without_a_number_where_there_is_none(states, visit, pictures):
    page = visit(states.url, viewport={"width": 360, "height": 740}, is_mobile=True)
    page.screenshot(path=pictures / "cards-phone.png", full_page=True)
    garden = page.locator(".model", has=page.get_by_role("link", name="garden"))
    expect(garden.locator(".big")).to_have_count(0)
    expect(garden.locator(".spark")).to_be_hidden()
    outlet = page.locator(".model", has=page.get_by_role("link", name="outlet"))
    expect(outlet.locator(".words")).to_have_text("No, it hurts")
    expect(outlet.locator(".tone")).to_have_text(["guarded"])
    lost = outlet.locator(".whole").inner_text()
    page.goto(f"{states.url}/models/outlet")
    expect(page.locator("#answer .huge")).to_have_text(lost)


@pytest.mark.parametrize("screen", SCREENS)
def test_without_a_control_group_nobody_is_told_to_wait_for_an_answer(states, visit, screen):
    width, height = SCREENS[screen]
    page = visit(f"{states.url}/models/attic", viewport={"width": width, "height": height}, is_mobile=width < 400)
    said = first_screen(page, height)
    assert "yet" not in said
    assert "Or create a new model with a control group." in said
    page.locator("#five").get_by_role("link", name="Start an experiment").click()
    expect(page.locator("#start-experiment")).to_be_visible()


@pytest.mark.parametrize("screen", SCREENS)
def test_words_without_end_are_cut_to_two_lines_until_they_are_opened(states, visit, pictures, screen):
    width, height = SCREENS[screen]
    size = {"viewport": {"width": width, "height": height}, "is_mobile": width < 400}
    page = visit(f"{states.url}/models/{LONG}/queries", **size)
    page.screenshot(path=pictures / f"long-{screen}.png", full_page=True)
    two_lines = 64  # with their margins; a third one would take 83
    for words in page.locator(".picks a, .order summary, .order > li:not(:has(details)), #recent summary .query").all():
        assert words.bounding_box()["height"] <= two_lines
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    row = page.locator("#recent summary").first
    before = row.bounding_box()["height"]
    row.click()
    assert row.bounding_box()["height"] > before
    page.goto(f"{states.url}/models/{LONG}")
    drawn(page)
    first_screen(page, height)


def test_what_a_click_is_worth_is_not_rounded_away_and_actions_are_counted_one_by_one(states, visit):
    page = visit(f"{states.url}/models/market/queries")
    expect(page.locator("#recent .tone").last).to_have_text("value 0.02")
    page.goto(f"{states.url}/models/market/learning")
    expect(page.locator("#chart-click-through figcaption, #chart-click-through h3").first).to_contain_text(
        "Value by rank"
    )
    plot = httpx.get(f"{states.url}/models/market/charts/click-through.json", timeout=PATIENCE).json()
    assert (plot["y_label"], plot["unit"]) == ("value", "")
    page.goto(f"{states.url}/models/market")
    actions = page.get_by_role("table", name="What people did, by action")
    expect(actions.get_by_role("row", name="purchase")).to_contain_text("too few to say")
    expect(actions.get_by_role("row", name="click")).to_contain_text("0.02")


def test_on_a_wide_screen_panels_fill_their_row(states, visit):
    page = visit(f"{states.url}/models/garden/learning", viewport={"width": 1920, "height": 1080})
    for grid in page.locator(".grid").all():
        whole = grid.bounding_box()
        second = grid.locator("> .card").nth(1).bounding_box()
        assert second["x"] + second["width"] == pytest.approx(whole["x"] + whole["width"], abs=1)
