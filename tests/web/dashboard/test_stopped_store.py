"""What pages say while the store is down, or while one model's state cannot be read: nothing that they do not know."""

import re

import httpx
import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.live.errors import StoreError

from .running import make_model, make_past, running, shop

pytestmark = pytest.mark.xdist_group("dashboard-pages")

WHY = "postgresql://ops@db/log: connection refused"
READ = ("tallies", "snapshots", "events", "newest_open", "decisions", "newest_versions", "newest_snapshot", "event")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A service whose store is down; only `shop` and all models were looked at before."""

    def prepare(store):
        make_past(store, shop(), minutes=3, per_minute=4)
        make_model(store, shop("garden"))

    def fail(*_, **__):
        raise StoreError(WHY)

    with running(str(tmp_path_factory.mktemp("stopped") / "log.db"), prepare=prepare) as service:
        assert httpx.get(f"{service.url}/models/shop", timeout=PATIENCE).status_code == 200
        with pytest.MonkeyPatch.context() as patched:
            for name in READ:
                patched.setattr(service.service.store, name, fail)
            wait_until(lambda: service.service.learner.error, "the learner waits for the store")
            wait_until(lambda: "<span>down." in said(service, "/models/shop"), "the reading from before is old")
            yield service


def said(service, address):
    answer = httpx.get(service.url + address, timeout=PATIENCE)
    assert answer.status_code == 200, address
    return answer.text


def test_the_cause_is_told_once_and_what_to_do_comes_without_it(stopped):
    text = said(stopped, "/models/shop")
    assert text.count(WHY) == 1
    todo = re.search(r"<dt>What to do</dt><dd>(.*?)</dd>", text)[1]
    assert todo.startswith("Store down. Bring it back: until then, pages keep your engine’s order")
    assert WHY not in todo
    assert "waiting for the store" in text
    assert "Ranking continues" not in text


def test_numbers_from_before_stay_and_say_from_when_they_are(stopped):
    text = said(stopped, "/models/shop")
    assert re.search(r'<span class="value">12</span> <span class="label">pages closed', text)
    assert re.search(r'class="as-of">As of <time', text)


def test_of_a_model_that_was_not_read_before_nothing_is_said(stopped):
    text = said(stopped, "/models/garden")
    assert "Unknown right now" in text
    for claim in ("No pages to compare yet", "it has ranked no page", "Nothing yet", "Send it", "0 pages closed"):
        assert claim not in text, claim


def test_neither_are_its_pages_snapshots_and_charts_said_to_be_none(stopped):
    cards = said(stopped, "/models").split('<li class="card model')
    (garden,) = (card for card in cards if "/models/garden" in card)
    assert "No pages over the last 24 hours" not in garden
    assert "No snapshots yet" not in said(stopped, "/models/garden/history")
    for kind in ("json", "csv"):
        answer = httpx.get(f"{stopped.url}/models/garden/charts/learning.{kind}", timeout=PATIENCE)
        assert answer.status_code == 503
        assert "store" in answer.text


@pytest.mark.parametrize("tab", ["queries", "experiments", "learning", "history"])
def test_every_page_of_a_model_says_so_and_leads_to_the_cause(stopped, tab):
    text = said(stopped, f"/models/shop/{tab}")
    assert re.search(r'<p class="notice bad" role="status">The store is down\. .*<a href="/service">', text)
    assert "Pages of shop" in text  # its tabs are still there
    for claim in ("No pages yet", "Start the experiment", "What became of its pages</h3>\n  Nothing"):
        assert claim not in text, claim


def test_a_decision_that_cannot_be_kept_is_refused_in_words(stopped):
    answer = httpx.get(f"{stopped.url}/models/shop/act/roll-back?version=7", timeout=PATIENCE)
    assert answer.status_code in (404, 503)
    assert "Postgresql" not in answer.text


def test_a_damaged_model_is_not_called_a_store_that_is_down(stopped, monkeypatch):
    model = stopped.service.registry.get("garden")
    monkeypatch.setattr(type(model), "damage", property(lambda self: "its kept state is damaged; rankloop log refold"))
    text = said(stopped, "/models/garden")
    assert "Model damaged. Its pages keep your engine’s order: its kept state is damaged; rankloop log refold." in text
