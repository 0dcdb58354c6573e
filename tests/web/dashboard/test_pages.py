"""The dashboard as answers: what it says, who may see it, who may act, and what a page may load."""

import csv
import io
import re
import shutil
import subprocess

import httpx
import numpy as np
import pytest
from tests.patience import PATIENCE

from rankloop import __version__
from rankloop.live.alerts import Period, alert_of
from rankloop.live.contrasts import queries_report
from rankloop.live.keys import create_key, revoke_key
from rankloop.live.looks import Looks
from rankloop.web.dashboard import panels
from rankloop.web.dashboard.charts import CHARTS
from rankloop.web.dashboard.examination import TRUST
from rankloop.web.dashboard.pages import SERVICE_CHARTS
from rankloop.web.dashboard.verdict import Verdict

from .running import make_past, rank, running, shop

pytestmark = pytest.mark.xdist_group("dashboard-pages")


@pytest.fixture
def client(service):
    with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
        yield client


def token_of(page):
    return re.search(r'name="token" value="([0-9a-f]+)"', page.text)[1]


def mode(client):
    return client.get("/v1/models/shop").json()["mode"]


ADDRESSES = [
    "/", "/models", "/new", "/service", "/service/charts/errors.csv", "/models/shop", "/models/shop?over=all",
    "/models/shop/live", "/models/shop/live?tab=learning", "/models/shop/queries", "/models/shop/queries?q=query+1",
    "/models/shop/experiments", "/models/shop/learning", "/models/shop/history", "/models/shop/settings",
    "/models/shop/connect?engine=opensearch", "/models/shop/connect?engine=elasticsearch&features=a+b",
    "/models/shop/export", "/models/shop/export?format=onnx", "/models/shop/export?format=x",
    "/models/shop/export/json",
    "/models/shop/replay",
    "/models/shop/act/pause", "/models/shop/act/roll-back?version=0", "/sign-in", "/models/nobody",
    "/models/shop/act/x", "/models/shop/charts/learning.json", "/models/shop/charts/learning.csv",
    "/static/dashboard.js",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_is_answered_without_a_strict_policy(client, address):
    answer = client.get(address)
    assert answer.status_code == (404 if "nobody" in address or address.endswith("/x") else 200)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_how_far_people_look_comes_with_the_command_that_tests_for_trust_once_there_are_swaps_enough(
    client, monkeypatch
):
    command = f"<code>{TRUST}</code>"
    monkeypatch.setattr(Looks, "known", np.zeros(10, bool))
    assert command not in client.get("/models/shop/learning").text
    monkeypatch.setattr(Looks, "known", np.arange(10) > 0)
    assert command in client.get("/models/shop/learning").text


def test_pages_hold_no_script_or_style_of_their_own_and_name_no_other_host(client):
    for address in ADDRESSES:
        if client.get(address).headers["content-type"].startswith("text/html"):
            text = client.get(address).text
            assert not re.search(r"<script(?! src=)|<style|<[^>]*\s(style|on[a-z]+)=", text), address
            addresses = re.findall(r'(?:href|src|action|hx-get|data-src)="([^"]*)"', text)
            assert all(found.startswith(("/", "#")) and not found.startswith("//") for found in addresses), address


def test_without_scripts_a_chart_says_why_there_is_none_and_where_its_numbers_are(client):
    page = client.get("/models/shop").text
    said = page.count("<noscript>The chart needs JavaScript; its numbers are here: </noscript>")
    assert said == page.count('<figure class="chart') > 0


def test_the_numbers_are_those_of_the_log(client, service):
    store = service.service.store
    model = service.service.registry.get("shop").id
    whole = [row for row in store.tallies(model, span=1440) if row.rank == 0]
    text = client.get("/models/shop?over=hours").text
    assert f'<span class="value">{sum(row.shown for row in whole):,}</span> <span class="label">pages closed' in text
    assert f'<span class="value">{sum(row.clicks for row in whole):,.0f}</span> <span class="label">clicks' in text
    for group, label in ((0, "Learned order"), (1, "Engine’s order (control)")):
        shown = sum(row.shown for row in whole if row.group == group)
        assert f'{label}</th><td class="number" data-label="Pages">{shown:,}</td>' in text
    assert "Better than the engine’s order: +" in text  # these visitors really do like what the model learns


def test_a_model_that_helps_leads_to_the_queries_it_helps_if_any_were_told_apart(client, service, monkeypatch):
    assert '<a href="/models/shop/queries#helps">See where it helps</a>' in client.get("/models/shop").text
    assert 'id="helps"' in client.get("/models/shop/queries").text

    async def nothing(*_):
        return queries_report(None, 5)

    monkeypatch.setattr("rankloop.live.evidencing.queries", nothing)
    assert '<a href="/models/shop/queries">See what it does to a query</a>' in client.get("/models/shop").text


def test_an_unclear_answer_leads_with_its_range_and_says_the_number_quietly(client, monkeypatch):
    unclear = Verdict("open", "No clear difference yet", "…", 0.03, -0.25, 0.49, 0.2, "about 79")
    monkeypatch.setattr(panels, "judged", lambda settings, guard: unclear)
    text = client.get("/models/shop").text
    assert "between <strong>−25 %</strong> and <strong>+49 %</strong>" in text
    assert 'class="huge"' not in text
    assert "95 % interval; so far +3.0 %" in text
    assert "Not sure: it could still be no difference at all." in text


@pytest.mark.parametrize("name", [name for name in CHARTS if name != "reward"])
def test_every_chart_comes_as_csv_with_the_numbers_it_draws(client, service, name):
    rank(service)
    own = name in SERVICE_CHARTS
    place, query, owner = ("/service", "", "service") if own else ("/models/shop", "?over=hours", "shop")
    pages = ("/service",) if own else ("/models/shop", "/models/shop/learning")
    assert any(f'href="{place}/charts/{name}.csv{query}"' in client.get(page).text for page in pages)
    drawn = client.get(f"{place}/charts/{name}.json{query}").json()
    answer = client.get(f"{place}/charts/{name}.csv{query}")
    assert answer.headers["content-disposition"] == f'attachment; filename="{owner}-{name}.csv"'
    header, *rows = csv.reader(io.StringIO(answer.text))
    columns = [
        column for one in drawn["series"] for column in (one["values"], one.get("low"), one.get("high")) if column
    ]
    assert drawn["x"]
    assert len(header) == 1 + len(columns)
    if name not in ("latency", "errors"):  # the tests' own requests are counted there between the two looks
        assert [[float(cell) if cell else None for cell in row[1:]] for row in rows] == [
            list(row) for row in zip(*columns, strict=True)
        ]


def test_a_model_that_learns_from_no_reward_is_not_told_by_one(client):
    text = client.get("/models/shop").text + client.get("/models/shop/learning").text
    assert "reward" not in text.lower()
    assert client.get("/models/shop/charts/reward.json").json()["x"] == []


def test_how_far_the_model_believes_people_look_stands_beside_the_newest_pages(client, service):
    rank(service)
    text = client.get("/models/shop/queries").text
    rows = re.findall(r'data-label="Rank">1</td>.*?</tr>', text)
    assert rows
    assert all('data-label="P(examined)">100 %</td>' in row for row in rows)


def test_what_is_not_there_is_a_page_that_says_so(client):
    for address in ("/models/nobody", "/models/shop/charts/x.csv", "/models/shop/charts/learning.exe"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "<h1>Not found</h1>" in answer.text
        assert "There is no model &#39;nobody&#39;.<" in answer.text or "No such chart" in answer.text
    assert client.get("/models/shop/act/roll-back?version=-1").status_code == 422
    assert client.get("/models/shop/act/roll-back?version=999999").status_code == 404


def test_every_answer_is_for_now_and_is_what_it_says(client):
    pages = ["/", "/sign-in", "/models/shop/charts/learning.json", "/models/nobody", "/static/nothing.css", "/nowhere"]
    answers = [client.get(address) for address in pages]
    answers += [client.get("/", headers={"host": "evil.example"}), client.post("/sign-out")]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff", answer.url
        assert answer.headers["cache-control"] == "no-store", answer.url


def test_looking_changes_nothing_and_forms_of_others_are_refused(client):
    assert client.get("/models/shop/act/pause").status_code == 200
    assert mode(client) == "learning"
    token = token_of(client.get("/models/shop/act/pause"))
    for headers, fields in [
        ({}, {}),
        ({}, {"token": "0" * 64}),
        ({"origin": "http://evil.example"}, {"token": token}),
        ({"origin": "http://["}, {"token": token}),
        ({"sec-fetch-site": "cross-site"}, {"token": token}),
    ]:
        answer = client.post("/models/shop/act/pause", data=fields, headers=headers)
        assert answer.status_code == 403
    stranger = httpx.post(f"{client.base_url}/models/shop/act/pause", data={"token": token})
    assert stranger.status_code == 403
    assert mode(client) == "learning"


def test_decisions_are_followed_once_they_are_confirmed(client):
    for action, then in (("pause", "paused"), ("resume", "learning"), ("freeze", "frozen"), ("resume", "learning")):
        confirm = client.get(f"/models/shop/act/{action}")
        answer = client.post(f"/models/shop/act/{action}", data={"token": token_of(confirm)})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/models/shop?done={action}")
        assert mode(client) == then
        assert 'role="status"' in client.get(answer.headers["location"]).text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "testserver", "["])
def test_a_service_of_another_name_is_not_shown(client, host):
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "shop" not in answer.text


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="curl and bash are not installed")
def test_an_empty_service_shows_requests_that_work_as_they_are(tmp_path):
    with running(str(tmp_path / "log.db")) as service:
        text = httpx.get(service.url).text
        lines = re.search(r'<pre id="walk".*?>(.*?)</pre>', text, re.DOTALL)[1]
        assert service.url in lines
        for code, character in (("&#34;", '"'), ("&#39;", "'"), ("&amp;", "&"), ("&gt;", ">"), ("&lt;", "<")):
            lines = lines.replace(code, character)
        done = subprocess.run(["bash", "-e", "-c", lines], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        assert '"accepted":1' in done.stdout
        assert '"learner":{"learner":"Posterior"' in done.stdout
        service.run(wait_until_learned(service))
        text = httpx.get(f"{service.url}/models/shop").text
        assert '<span class="value">1</span> <span class="label">page closed' in text


async def wait_until_learned(service):
    model = service.service.registry.get("shop")
    await model.applied(service.service.store.last_offset())


def test_with_keys_people_sign_in_and_a_revoked_key_ends_it(tmp_path):
    made = {}

    def prepare(store):
        make_past(store, shop(), minutes=2, per_minute=2)
        made["admin"] = create_key(store, "ops", ["admin"], 1)
        made["rank"] = create_key(store, "site", ["rank", "click"], 1)

    with running(str(tmp_path / "log.db"), prepare=prepare) as service, httpx.Client(base_url=service.url) as client:
        for address in ("/", "/models/shop", "/models/shop/charts/learning.csv", "/models/shop/act/pause"):
            answer = client.get(address)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/sign-in?next=%2F")
        part = client.get("/models/shop/live", headers={"hx-request": "true", "hx-current-url": "http://x/models/shop"})
        assert (part.status_code, part.headers["hx-redirect"]) == (204, "/sign-in?next=%2Fmodels%2Fshop")
        part = client.get("/models/shop/live", headers={"hx-request": "true", "hx-current-url": "http://["})
        assert (part.status_code, part.headers["hx-redirect"]) == (204, "/sign-in?next=%2F")
        page = client.get("/sign-in?next=/models/shop", headers={"host": "["})
        assert page.status_code == 200
        token = token_of(page)
        assert client.post("/models/shop/act/pause", data={"token": token}).status_code == 403
        for key in ("", "rl_wrong", made["rank"]):
            assert client.post("/sign-in", data={"token": token, "key": key}).status_code == 403
        answer = client.post("/sign-in", data={"token": token, "key": made["admin"], "next": "//evil.example"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "httponly" in answer.headers["set-cookie"].lower()
        assert "samesite=strict" in answer.headers["set-cookie"].lower()
        assert client.get("/models/shop").status_code == 200
        assert client.post("/models/shop/act/pause", data={"token": token}).status_code == 403  # of the session before
        token = token_of(client.get("/models/shop/act/pause"))
        assert client.post("/models/shop/act/pause", data={"token": token}).status_code == 303
        revoke_key(service.service.store, "ops", 2)
        service.app.keys.refresh()
        assert client.get("/models/shop").status_code == 303


def test_signing_out_ends_a_session(tmp_path):
    made = []
    prepare = lambda store: made.append(create_key(store, "ops", ["admin"], 1))  # noqa: E731
    with running(str(tmp_path / "log.db"), prepare=prepare) as service, httpx.Client(base_url=service.url) as client:
        client.post("/sign-in", data={"token": token_of(client.get("/sign-in")), "key": made[0]})
        page = client.get("/")
        assert "Sign out" in page.text
        assert "RANKLOOP_KEY" in page.text
        assert client.post("/sign-out", data={"token": token_of(page)}).status_code == 303
        assert client.get("/").status_code == 303


def test_the_footer_says_which_rankloop_it_is_on_every_page(client):
    for address in ADDRESSES:
        answer = client.get(address)
        if answer.headers["content-type"].startswith("text/html") and "<footer" in answer.text:
            assert f'<footer class="site">rankloop {__version__}</footer>' in answer.text, address


def test_all_that_a_page_can_load_is_small(client):
    """Every file that any page of the dashboard loads, unpacked, and its largest page."""
    pages = [client.get(address).text for address in ADDRESSES if "charts" not in address and "static" not in address]
    files = {file for page in pages for file in re.findall(r'(?:href|src)="(/static/[^"]+)"', page)}
    assert len(files) >= 8
    assert sum(len(client.get(file).content) for file in files) + max(map(len, pages)) < 250_000


def test_a_model_of_another_name_is_escaped_in_its_address(tmp_path):
    def prepare(store):
        make_past(store, shop("a.b-c_1"), minutes=2, per_minute=2)

    with running(str(tmp_path / "log.db"), prepare=prepare) as service:
        text = httpx.get(f"{service.url}/models/a.b-c_1").text
        assert 'href="/models/a.b-c_1/queries"' in text


def test_where_it_helps_and_hurts_is_what_the_api_says(client):
    text = client.get("/models/shop/queries").text
    report = client.get("/v1/models/shop/queries").json()
    assert report["verdict"].replace("'", "&#39;") in text
    assert len(report["queries"]) > 10
    shown = re.findall(r'<tr><th scope="row"><a class="cut" href="/models/shop/queries\?q=[^"]+">(.*?)</a>', text)
    assert shown == [one["query"] for one in report["queries"][: len(shown)]]
    assert len(shown) >= 10


def test_actions_are_compared_by_name_where_there_are_several(tmp_path):
    settings = shop(actions={"click": 0.2, "purchase": 1.0})
    with running(str(tmp_path / "log.db"), prepare=lambda store: make_past(store, settings, 2, 4)) as service:
        text = httpx.get(f"{service.url}/models/shop").text
        told = httpx.get(f"{service.url}/v1/models/shop/actions").json()["actions"]
        assert [one["name"] for one in told] == ["click", "purchase"]
        rows = re.findall(r'<th scope="row">(\w+)</th><td class="number" data-label="Worth">([\d.]+)</td>', text)
        assert rows == [(one["name"], f"{one['value']:g}") for one in told]


def test_an_alert_is_on_the_page_while_it_lasts_and_is_the_next_thing_to_do(client, service, monkeypatch):
    missing = alert_of("shop", Period("missing", "price", 5))
    over = alert_of("shop", Period("shifted", "rating", 5, 6))
    monkeypatch.setattr(service.service.alarms, "of", lambda model: [missing, over])
    text = client.get("/models/shop").text
    sentence = missing.sentence.replace("'", "&#39;")
    assert f'<div class="card todo bad-edge"><dt>What to do</dt><dd>{sentence} <span class="since">Since <time' in text
    assert text.count(sentence) == 1
    assert "rating&#39; lies far beyond" not in text


def test_what_cannot_wait_stands_above_the_answer_and_what_can_below_it(client, service, monkeypatch):
    first, second, mild = (
        alert_of("shop", Period(*of, 5)) for of in (("missing", "a"), ("missing", "b"), ("constant", "c"))
    )
    monkeypatch.setattr(service.service.alarms, "of", lambda model: [first, second, mild])
    text = client.get("/models/shop").text
    places = [
        text.index(part)
        for part in ("Feature &#39;b&#39; is 0", "Does it help?", "Feature &#39;a&#39; is 0", "Feature &#39;c&#39; has")
    ]
    assert places == sorted(places)


def test_of_a_young_model_exploration_is_told_once_and_not_again_as_of_all_time(client):
    for address in ("/models/shop/learning", "/models/shop/live?tab=learning"):
        text = client.get(address).text
        assert "Distance from the model’s best order, since the model was created" in text
        assert "The same, since the model was created" not in text
