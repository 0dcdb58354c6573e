"""Services of their own in a real browser: empty, hostile, stopped, behind keys; what somebody is shown of each."""

import re
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from tests.patience import PATIENCE

from rankloop.live.keys import create_key
from rankloop.live.settings import Zeros

from .looking import FACT, drawn, expect, polled
from .running import click, make_model, make_past, rank, running, shop

pytestmark = [pytest.mark.xdist_group("dashboard-browser"), pytest.mark.slow]


def test_a_minute_old_model_is_drawn_by_the_minute_and_offers_no_longer_range(tmp_path, visit):
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_past(store, shop(), 4, 6)) as service:
        page = visit(f"{service.url}/models/shop?over=all")
        assert drawn(page)["chart-learning"] >= 3
        expect(page.locator(".overs")).to_have_count(0)
        plot = httpx.get(f"{service.url}/models/shop/charts/learning.json?over=all", timeout=PATIENCE).json()
        assert set(np.diff(plot["x"]).tolist()) == {60.0}


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"&{{7*7}}"


def test_names_and_queries_are_shown_as_they_are_and_do_nothing(tmp_path, visit):
    names = (f"{HOSTILE}", "=cmd", "javascript:alert(3)", "</title><svg onload=alert(4)>")
    settings = shop(features=names, start=Zeros(), scaling="none")
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_model(store, settings)) as service:
        shown = rank(service, query=HOSTILE, ids=[HOSTILE, "</table><script>alert(5)</script>", "\u202eevil", "d"])
        click(service, shown, [HOSTILE])
        page = visit(f"{service.url}/models/shop/queries?q={quote(HOSTILE)}")
        expect(page.locator(".orders .lead")).to_contain_text(HOSTILE)
        expect(page.locator(".order .document", has_text="<img src=x").first).to_be_visible()
        page.locator("#recent summary").first.click()
        expect(page.locator("#recent .query").first).to_have_text(HOSTILE)
        expect(page.locator("#recent td", has_text="<img src=x").first).to_be_visible()
        page.goto(f"{service.url}/models/shop/learning?over=<script>alert(6)</script>&done={HOSTILE}")
        drawn(page)
        texts = page.locator("#weights .name").all_inner_texts()
        assert set(texts) == set(names)
        assert "<img" in page.locator("#chart-weights .u-legend").inner_text()
        polled(page)
        for address in (
            "/",
            "/new",
            f"/models/shop/connect?engine={HOSTILE}&url={HOSTILE}",
            f"/models/{HOSTILE}",
            f"/sign-in?next={HOSTILE}",
            "/models/shop/charts/<script>.json",
        ):
            page.goto(service.url + address)
        assert page.dialogs == []
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("document.querySelectorAll('script:not([src])').length") == 0


def test_an_empty_service_leads_to_a_model_a_page_and_what_was_learned(tmp_path, visit, pictures):
    with running(str(tmp_path / "log.db")) as service:
        page = visit(service.url)
        page.screenshot(path=pictures / "empty.png")
        page.get_by_text("Or with three commands").click()
        expect(page.locator("#walk")).to_contain_text(f"curl -s {service.url}/v1/models")
        page.get_by_role("link", name="New model").click()
        page.get_by_label("Name").fill("shop")
        page.get_by_label("Features", exact=True).fill("a, b\na, d")
        page.locator("#make").click()
        expect(page.get_by_role("alert").first).to_contain_text("'a' appears twice")
        expect(page.get_by_label("Name")).to_have_value("shop")
        page.get_by_label("Features", exact=True).fill("a, b\nc, d")
        page.locator("#make").click()
        expect(page.get_by_role("status")).to_contain_text("Send it pages to rank")
        expect(page.locator("#walk")).to_contain_text("/v1/models/shop/rank")
        made = service.service.registry.get("shop").settings
        assert made.sent == ("a", "b", "c", "d")
        assert made.guards.control == 0.05
        page.goto(f"{service.url}/models/shop")
        expect(page.locator("#comparison")).to_contain_text("This model has not ranked a page yet")
        expect(page.locator("#five")).to_contain_text("Send it pages to rank. Connect your search")
        click(service, rank(service), ["a"])
        expect(page.locator(FACT.format("page closed"))).to_have_text("1")
        page.goto(service.url)
        expect(page.get_by_role("link", name="shop")).to_be_visible()
        expect(page.locator(".card.model")).to_contain_text("Too early to say")
        assert [one for one in page.complaints if "422" not in one] == []  # the form that was refused


def test_an_experiment_is_started_watched_and_stopped(tmp_path, visit, pictures):
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_past(store, shop(), 3, 4)) as service:
        page = visit(f"{service.url}/models/shop/experiments")
        page.get_by_label("Share of people").select_option("everybody")
        page.locator("#start-experiment").click()
        expect(page.get_by_role("status")).to_have_text("The experiment has started.")
        report = page.get_by_role("region", name="Experiment")
        expect(report).to_contain_text("the engine’s order vs. the learned order")
        groups = set()
        for visitor in range(12):
            shown = rank(service, client=f"visitor {visitor}")
            groups.add(shown["group"])
            click(service, shown, shown["ranking"][:1])
        assert "interleaved" in groups
        expect(report).to_contain_text(re.compile("[1-9][0-9]* interleaved pages"))
        page.screenshot(path=pictures / "experiment.png")
        page.goto(f"{service.url}/models/shop")
        page.locator("#five").get_by_role("link", name="See the experiment").click()
        page.locator("#stop-experiment").click()
        expect(page.get_by_role("status")).to_have_text("The experiment has been stopped.")
        expect(page.locator("#start-experiment")).to_be_visible()
        page.goto(f"{service.url}/models/shop/history")
        rows = page.locator(".timeline li")
        expect(rows.nth(0)).to_contain_text("Stopped the experiment")
        expect(rows.nth(1)).to_contain_text("Started an experiment: the engine’s order and the learned order")
        assert page.complaints == []


def test_a_challenger_learns_in_shadow_and_is_promoted(tmp_path, visit, pictures):
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_past(store, shop(), 3, 4)) as service:
        page = visit(f"{service.url}/models/shop/experiments")
        page.get_by_label("Method").select_option("PDGD")
        page.get_by_label("Name").fill("next")
        page.locator("#start-challenger").click()
        expect(page.get_by_role("status")).to_contain_text("in shadow")
        expect(page.locator(".challenger")).to_contain_text("next")
        page.screenshot(path=pictures / "challenger.png", full_page=True)
        # It has a page, which leads back here and asks for nothing.
        page.goto(f"{service.url}/models/next")
        expect(page.locator("#answer .words")).to_have_text("Challenger of shop")
        expect(page.locator("#walk")).to_have_count(0)
        expect(page.locator("#five")).to_contain_text("Learning in shadow since")
        for tab in ("queries", "experiments"):
            page.goto(f"{service.url}/models/next/{tab}")
            expect(page.locator("main")).to_contain_text("ranks none of its own")
            expect(page.get_by_role("link", name="Connect your search")).to_have_count(0)
            expect(page.locator("#start-experiment")).to_have_count(0)
        page.goto(f"{service.url}/models/next")
        page.locator("#five").get_by_role("link", name="Experiments").click()
        page.locator("#promote-next").click()
        page.locator("#confirm").click()
        expect(page.get_by_role("status")).to_contain_text("is the model now")
        expect(page.locator(".challenger")).to_have_count(0)
        page.goto(f"{service.url}/models/shop/history")
        expect(page.locator(".timeline li").first).to_contain_text("Promoted a challenger")
        assert page.complaints == []


def test_a_stopped_learner_is_shown_as_such(tmp_path, visit, pictures):
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_past(store, shop(), 3, 4)) as service:
        page = visit(f"{service.url}/models/shop")
        learner = page.locator("#states li", has_text="Learner")
        expect(learner).to_contain_text("healthy")
        service.service.learner.stop()
        expect(learner).to_contain_text("stopped")
        expect(learner).to_contain_text("Ranking continues with the last state")
        expect(page.locator("#five")).to_contain_text("Learner stopped")
        page.screenshot(path=pictures / "learner.png")
        assert rank(service)["ranking"]
        page.goto(f"{service.url}/models/shop/act/pause")
        page.locator("#confirm").click()
        expect(page.get_by_role("alert").first).to_contain_text("The learner has stopped")
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
        store = page.locator("#states li", has=page.locator("strong", has_text="Store"))
        expect(store).to_contain_text("healthy")
        server.stop()
        expect(store).to_contain_text("down")
        expect(store).to_contain_text("pages keep your engine’s order")
        expect(page.locator("#states li", has_text="Learner")).to_contain_text("waiting for the store")
        expect(page.locator("#answer .as-of")).to_contain_text("As of")
        expect(page.locator(FACT.format("pages closed"))).to_have_text("12")
        page.screenshot(path=pictures / "store.png")
        assert rank(service)["group"] == "fallback"
        page.goto(f"{service.url}/models/shop/experiments")
        expect(page.locator("#stale")).to_contain_text("The store is down.")
        page.goto(service.url)
        expect(page.locator("#states li", has=page.locator("strong", has_text="Store"))).to_contain_text("down")
        assert page.locator("#states").bounding_box()["y"] < page.locator("#models").bounding_box()["y"]
        server.start()
        expect(page.locator("#states li", has=page.locator("strong", has_text="Store"))).to_contain_text("healthy")


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
        page.goto(f"{service.url}/models/shop/history")
        page.locator("#act-freeze").click()
        page.locator("#confirm").click()
        expect(page.get_by_role("status")).to_contain_text("frozen")
        page.goto(f"{service.url}/models/shop/history")
        expect(page.locator(".timeline li").first).to_contain_text("Froze the model by ops")
        page.get_by_role("link", name="Resume learning").last.click()
        page.locator("#confirm").click()
        expect(page.get_by_role("status")).to_contain_text("resumed")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in")
        page.goto(f"{service.url}/models/shop")
        assert re.search(r"/sign-in\?next=%2Fmodels%2Fshop$", page.url)
