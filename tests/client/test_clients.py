"""A search page does not depend on the service: whatever happens to it, the client has a page to show."""

import asyncio
import inspect
from typing import Any

import numpy as np
import pytest
from tests.patience import PATIENCE

import rankloop as rl
from rankloop.client import AsyncClient, Client, Page, RefusedError, ServiceError
from rankloop.errors import RankloopError, SettingsError

from ..live.serving import Serving
from .scripted import CANDIDATES, NOBODY, answer, scripted

pytestmark = [pytest.mark.xdist_group("client"), pytest.mark.process]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("client")) as running:
        yield running


@pytest.fixture
def client(service):
    with Client(service.url, timeout=PATIENCE) as made:
        yield made


@pytest.fixture
def shop(client, request):
    name = request.node.name.replace("[", ".").replace("]", "")[:60].rstrip(".")
    client.create_model(name, features=["engine", "price"], seed=1, page_size=3, scaling="none", guards={"control": 0})
    return name


# What the two clients are


def test_both_clients_have_the_same_methods_with_the_same_arguments():
    def methods(kind):
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in vars(kind).items()
            if callable(method) and not name.startswith("_")
        }

    assert methods(Client) == methods(AsyncClient)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_methods_say_what_callers_get(kind):
    assert inspect.signature(kind.rank).return_annotation is Page
    assert inspect.signature(kind.models).return_annotation == list[dict[str, Any]]
    assert kind.flush.__annotations__["return"] is bool


# With a service


def test_a_page_is_ranked_clicked_closed_and_learned_from(client, shop):
    page = client.rank(shop, CANDIDATES, query="shoes", client="somebody", rest=True)
    assert (page.group, page.version, page.reason) == ("learned", 0, None)
    assert sorted(page.ranking + page.rest) == ["a", "b", "c", "d"]
    assert len(page.ranking) == 3
    clicked = client.click(page.impression, page.ranking[:1])
    assert (clicked.accepted, clicked.duplicate, clicked.unknown) == (1, 0, [])
    closed = client.close(page.impression, wait=True)
    assert (closed.closed, closed.version) == (True, 1)
    assert any(client.model(shop)["weights"])


def test_a_matrix_is_ranked_as_the_same_numbers_one_by_one_are(client, shop, service):
    twin = f"{shop}-twin"
    client.create_model(twin, features=["engine", "price"], seed=1, page_size=3, scaling="none", guards={"control": 0})
    by_name = {name: {"engine": row[0], "price": row[1]} for name, row in CANDIDATES.items()}
    X = np.array(list(CANDIDATES.values()))
    for _ in range(5):
        one = client.rank(shop, by_name)
        other = client.rank(twin, list(CANDIDATES), X)
        assert one.ranking == other.ranking
        for page in (one, other):
            client.click(page.impression, page.ranking[1:2])
            client.close(page.impression, wait=True)
    assert client.model(shop)["weights"] == client.model(twin)["weights"]


def test_a_transposed_matrix_travels_row_by_row(client, shop):
    client.freeze(shop)
    client.create_model(
        f"{shop}-w", ["x", "y"], start={"from": "weights", "weights": [1.0, 0.0]}, scaling="none", guards={"control": 0}
    )
    client.freeze(f"{shop}-w")
    X = np.array([[1.0, 3.0, 2.0], [9.0, 0.0, 0.0]]).T
    assert client.rank(f"{shop}-w", ["a", "b", "c"], X).ranking == ["b", "c", "a"]


def test_size_and_pins_are_kept(client, shop):
    page = client.rank(shop, CANDIDATES, size=2, pinned={"d": 1})
    assert len(page.ranking) == 2
    assert page.ranking[0] == "d"


def test_many_reports_in_one_call_and_graded_ones(client, shop):
    pages = [client.rank(shop, CANDIDATES) for _ in range(3)]
    reports = [
        (pages[0].impression, [pages[0].ranking[0]]),
        (None, ["a"]),
        (pages[1].impression, {pages[1].ranking[0]: 0.5, "nobody": 1.0}),
        (pages[2].impression, []),
    ]
    first, nothing, second, third = client.click_many(reports, close=True)
    assert nothing is None
    assert (first.accepted, second.accepted, third.accepted) == (1, 1, 0)
    assert second.unknown == ["nobody"]
    assert first.closed
    assert second.closed
    assert third.closed
    assert client.close(pages[0].impression).closed is False


def test_the_life_of_a_model(client, shop):
    assert shop in [model["name"] for model in client.models()]
    assert client.pause(shop)["mode"] == "paused"
    assert client.resume(shop)["mode"] == "learning"
    page = client.rank(shop, CANDIDATES)
    client.click(page.impression, page.ranking[:1], close=True)
    assert client.close(page.impression, wait=True).closed is False
    assert client.roll_back(shop, 0)["weights"] == [0.0, 0.0, 1.0]
    assert 0 in [snapshot["version"] for snapshot in client.snapshots(shop)]
    assert client.freeze(shop)["mode"] == "frozen"
    assert client.delete_model(shop) == {"deleted": shop}
    with pytest.raises(RefusedError, match="no model"):
        client.model(shop)


def test_a_dry_run_tells_the_start_and_makes_nothing(client, shop):
    start = {"from": "incoming", "feature": "engine"}
    told = client.create_model(f"{shop}-2", ["engine"], learner={"learner": "ROLTR"}, start=start, dry_run=True)
    assert told["start"]["keeps_first"] == pytest.approx(0.9)
    assert f"{shop}-2" not in [model["name"] for model in client.models()]


def test_states_can_be_fetched_and_compared(client, shop):
    page = client.rank(shop, CANDIDATES)
    client.click(page.impression, page.ranking[:1])
    client.close(page.impression, wait=True)
    assert client.snapshot(shop, 0)["weights"] == [0.0, 0.0, 1.0]
    assert client.compare(shop, 0, 0)["distance"] == 0.0
    client.create_model(f"{shop}-running", ["engine"], scaling="running")
    assert client.freeze_scaling(f"{shop}-running")["version"] == 1


def test_a_model_takes_learner_settings_as_objects(client):
    made = client.create_model("objects", 3, learner=rl.PDGD(learning_rate=0.5))
    assert (made["learner"]["learner"], made["learner"]["learning_rate"]) == ("PDGD", 0.5)


def test_the_asynchronous_client_does_the_same(service, shop):
    async def one():
        async with AsyncClient(service.url, timeout=PATIENCE) as client:
            pages = await asyncio.gather(*(client.rank(shop, CANDIDATES) for _ in range(20)))
            await client.click_many([(page.impression, page.ranking[:1]) for page in pages], close=True)
            last = await client.rank(shop, CANDIDATES)
            await client.click(last.impression, last.ranking[:1])
            closed = await client.close(last.impression, wait=True)
            return closed.version, (await client.model(shop))["version"]

    assert asyncio.run(one()) == (21, 21)


# Mistakes of the caller


def test_a_mistake_of_the_callers_is_raised_with_the_services_sentence(client, shop):
    with pytest.raises(RankloopError, match="there is no model 'nowhere'"):
        client.rank("nowhere", CANDIDATES)
    with pytest.raises(RefusedError, match="this model has 2 features; got 1") as caught:
        client.rank(shop, {"a": [1.0]})
    assert (caught.value.status, caught.value.code) == (422, "invalid_request")
    with pytest.raises(RankloopError, match="finite"):
        client.rank(shop, ["a"], [[1e300, 0.0]])
    with pytest.raises(RankloopError, match="not one of this service's ids"):
        client.click("made-up", ["a"])
    assert client.kept == 0


@pytest.mark.parametrize("matrix", [[1.0, 2.0], [[1.0, 2.0]]])
def test_a_matrix_that_does_not_fit_is_refused_before_it_travels(matrix):
    with pytest.raises(SettingsError, match="one row for each of 2 ids"):
        Client(NOBODY).rank("shop", ["a", "b"], matrix)


@pytest.mark.parametrize(
    ("candidates", "matrix", "pinned", "sentence"),
    [
        ({"a": ["much"]}, None, None, "features of 'a' must be numbers"),
        ({"a": None}, None, None, "features of 'a' must be numbers"),
        (["a", "b"], [[1.0], [1.0, 2.0]], None, "rows of equal length"),
        ({"a": [1.0]}, None, {"a": "first"}, "ranks from 1"),
    ],
)
def test_what_cannot_travel_is_refused_with_a_sentence(candidates, matrix, pinned, sentence):
    with pytest.raises(SettingsError, match=sentence):
        Client(NOBODY).rank("shop", candidates, matrix, pinned=pinned)


@pytest.mark.parametrize("clicks", ["abc", None, {"a": "much"}])
def test_clicks_that_are_none_are_refused_and_not_kept(clicks):
    client = Client(NOBODY)
    with pytest.raises(SettingsError, match="a list of ids"):
        client.click("some impression", clicks)
    assert client.kept == 0


def test_ids_without_features_are_refused():
    with pytest.raises(SettingsError, match="with a matrix"):
        Client(NOBODY).rank("shop", ["a", "b"])


# Trouble of the service


@pytest.mark.parametrize("rest", [True, False])
def test_a_service_that_is_down_costs_the_learning_not_the_page(rest):
    page = Client(NOBODY).rank("shop", CANDIDATES, size=3, pinned={"d": 2}, rest=rest)
    assert page.ranking == ["a", "d", "b"]
    assert page.rest == (["c"] if rest else None)
    assert (page.group, page.impression, page.version) == ("fallback", None, -1)
    assert "cannot be reached" in page.reason


@pytest.mark.parametrize(
    "pinned",
    [{"z": 1}, {"a": 9}, {"a": 1, "b": 1}, {"c": 1, "d": 1, "b": 2}, {"a": 2, "b": 1, "c": 4, "d": 3}],
)
def test_a_fallback_shows_every_document_once_whatever_is_pinned(pinned):
    page = Client(NOBODY).rank("shop", CANDIDATES, pinned=pinned, rest=True)
    assert sorted(page.ranking + page.rest) == sorted(CANDIDATES)


def test_a_fallback_without_a_size_is_as_long_as_the_client_was_told():
    many = {f"d{i}": [0.0] for i in range(30)}
    assert Client(NOBODY).rank("shop", many).ranking == list(many)[:10]
    assert len(Client(NOBODY, page_size=20).rank("shop", many).ranking) == 20


def test_a_service_that_hangs_is_waited_for_no_longer_than_agreed(tmp_path):
    with Serving(tmp_path) as service, Client(service.url, timeout=PATIENCE) as patient:
        patient.create_model("shop", 2)
        service.pause()
        page = Client(service.url, timeout=0.3).rank("shop", CANDIDATES)  # ends, though the service never answers
        assert "in time" in page.reason
        service.go_on()


def test_clicks_on_a_fallback_go_nowhere_and_nobody_is_asked():
    client = Client(NOBODY)
    assert client.click(None, ["a"]) is None
    assert client.click_many([(None, ["a"]), (None, [])]) == [None, None]
    assert client.close(None, wait=True) is None
    assert client.kept == 0


def test_what_only_the_service_can_do_fails_with_a_sentence():
    with pytest.raises(ServiceError, match="cannot be reached"):
        Client(NOBODY).models()


@pytest.mark.slow
def test_clicks_made_while_the_service_is_down_are_learned_from_when_it_is_back(tmp_path):
    with Serving(tmp_path) as service, Client(service.url, timeout=PATIENCE) as client:
        client.create_model("shop", 2, page_size=4, scaling="none", guards={"control": 0})
        pages = [client.rank("shop", CANDIDATES) for _ in range(3)]
        assert [page.group for page in pages] == ["learned"] * 3
        service.kill()
        assert client.click(pages[0].impression, pages[0].ranking[:1]) is None
        assert client.click(pages[0].impression, pages[0].ranking[:1]) is None
        assert client.close(pages[1].impression, wait=True) is None
        assert client.rank("shop", CANDIDATES).group == "fallback"
        assert (client.kept, client.dropped) == (3, 0)
        service.start()
        assert client.click(pages[2].impression, pages[2].ranking[:2]).accepted == 2
        assert client.kept == 0
        again = client.click(pages[0].impression, pages[0].ranking[:1])
        assert (again.accepted, again.duplicate) == (0, 1)
        assert client.close(pages[1].impression).closed is False
        assert client.close(pages[0].impression, wait=True).closed
        assert client.rank("shop", CANDIDATES).group == "learned"


def test_the_oldest_of_too_many_kept_reports_give_way():
    client = Client(NOBODY, keep=5)
    for number in range(8):
        client.click(f"impression-{number}", ["a"])
    assert (client.kept, client.dropped) == (5, 3)
    assert [report.impression for report in client._conversation.kept.take(9)] == [
        f"impression-{n}" for n in range(3, 8)
    ]


def test_a_kept_report_that_became_worthless_does_not_hold_up_the_others(service, client, shop):
    pages = [client.rank(shop, CANDIDATES) for _ in range(4)]
    offline = Client(NOBODY)
    for impression in (pages[0].impression, "forged", pages[1].impression, "forged too", pages[2].impression):
        offline.click(impression, ["a", "b", "c"])
    client._conversation.kept.add(offline._conversation.kept.take(10))
    assert client.click(pages[3].impression, []).accepted == 0
    assert (client.kept, client.dropped) == (0, 2)
    for page in pages[:3]:
        assert client.click(page.impression, page.ranking[:1]).duplicate == 1 or page.ranking[0] == "d"


def test_kept_reports_survive_a_key_that_is_refused(service, client):
    refused = answer("401 Unauthorized", b'{"error":{"code":"key_unknown","message":"this API key is unknown"}}')
    tried = Client(scripted(refused), timeout=PATIENCE)
    tried._conversation.kept.add(_kept("one", "two"))
    with pytest.raises(RefusedError, match="API key"):
        tried.flush()
    assert tried.kept == 2


def _kept(*impressions):
    offline = Client(NOBODY)
    for impression in impressions:
        offline.click(impression, ["a"])
    return offline._conversation.kept.take(100)


def test_more_than_a_thousand_kept_reports_are_sent_in_several_requests(client, shop):
    page = client.rank(shop, CANDIDATES)
    client._conversation.kept.add(_kept(page.impression) * 2500)
    assert client.flush()
    assert client.kept == 0
    assert client.click(page.impression, ["a"]).accepted == 0


def test_actions_are_reported_and_evidence_is_read(client):
    worth = {"click": 0.2, "purchase": 1.0}
    client.create_model("valued", features=["engine", "price"], page_size=3, scaling="none", actions=worth)
    page = client.rank("valued", CANDIDATES, query="desk", segment="phone")
    answer = client.act(page.impression, {page.ranking[0]: ["click", "purchase"], "z": "click"}, close=True)
    assert (answer.accepted, answer.unknown, answer.closed) == (2, ["z"], True)
    assert [one["name"] for one in client.actions("valued")] == list(worth)
    assert client.queries("valued", limit=1)["clients"] == 5
    assert client.segments("valued")["segments"] == []
    assert client.act(None, {"oak": "purchase"}) is None
    with pytest.raises(RefusedError, match="its actions are click, purchase"):
        client.act(client.rank("valued", CANDIDATES).impression, {"a": "buy"})
    with pytest.raises(SettingsError, match="by the names of the model's actions"):
        client.act("…", {"a": [1]})
    with Client(NOBODY) as lost:
        assert lost.act("somewhere", {"a": "purchase"}) is None
        assert lost.kept == 1
