"""A model's first screen in a browser when all is not well: new, worse than the engine's order, or with an alert."""

import pytest

from rankloop.live.alerts import alert_of
from rankloop.live.watching import Period

from .looking import drawn, expect
from .running import make_model, make_past, outlet, running, shop

pytestmark = [pytest.mark.xdist_group("dashboard-browser"), pytest.mark.slow]

SCREENS = {"phone": (360, 740), "laptop": (1280, 800)}
BEYOND = "(region) => region.scrollWidth - region.clientWidth"


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """A service with a model that is new and one that is guarded."""

    def prepare(store):
        make_model(store, shop("garden"))
        make_past(store, outlet(), 60, 30)

    with running(str(tmp_path_factory.mktemp("states") / "log.db"), prepare=prepare) as service:
        assert service.service.registry.get("outlet").view().guarded
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
    expect(page.locator("#answer")).to_contain_text("clicks per page in the learned order")
    said = first_screen(page, height)
    assert "Few people see it now" in said
    assert "At least 95 % sure" in said
    # The numbers behind it are on the screen, too, and not half of them.
    assert page.locator("#comparison .scroll").evaluate(BEYOND) <= 0


@pytest.mark.parametrize("screen", SCREENS)
def test_a_new_model_says_that_it_waits_for_its_first_page(states, visit, screen):
    width, height = SCREENS[screen]
    page = visit(f"{states.url}/models/garden", viewport={"width": width, "height": height}, is_mobile=width < 400)
    drawn(page)
    expect(page.locator("#answer")).to_contain_text("No pages to compare yet: it takes at least 50 in each order.")
    assert "Send it pages to rank. Connect your search" in first_screen(page, height).replace("\n", " ")


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
    expect(page.locator(".model", has=page.get_by_role("link", name="outlet")).locator(".words")).to_have_text(
        "No, it hurts"
    )
