"""The demo's pages over HTTP, from a real `rankloop demo`: what they say, what they refuse, and what they never do."""

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import httpx
import numpy as np
import pytest
from tests.patience import PATIENCE

from rankloop.cli import main
from rankloop.web.demo.comparison import POSTERIOR, start_of
from rankloop.web.demo.engine import engine_order
from rankloop.web.demo.pages import EXAMPLES

pytestmark = pytest.mark.xdist_group("demo")


HOSTILE = """<script>alert(1)</script>"'><img src=x onerror=alert(2)> csv {{ 77777*7 }}"""


@pytest.fixture
def browser(demonstration):
    """Somebody who keeps cookies, on a demo that starts over."""
    with httpx.Client(base_url=demonstration.url, timeout=PATIENCE, follow_redirects=True) as client:
        assert demonstration.untouched() or act(client, "reset").status_code == 200
        yield client


def token(page):
    return re.search(r'name="token" value="(\w+)"', page.text)[1]


def act(client, name, **fields):
    return client.post(f"/demo/{name}", data={"token": token(client.get("/demo"))} | fields)


def search(client, query):
    return client.get("/demo", params={"q": query})


def results(page):
    return [unescape(id) for id in re.findall(r'name="document" value="([^"]+)"', page.text)]


def before(page):
    """The engine's own order, as it stands beside the results."""
    column = page.text.split('<ol class="before">')[1].split("</ol>")[0]
    return [unescape(id) for id in re.findall(r'<p class="name"><span>(\S+)</span> ', column.replace("<wbr>", ""))]


def impression(page):
    return re.search(r'name="impression" value="([^"]+)"', page.text)[1]


def click(client, page, document):
    fields = {"token": token(page), "impression": impression(page), "document": document}
    return client.post("/demo/click", data=fields)


def test_the_first_page_is_a_search_in_the_engines_own_order(browser, engine):
    first = browser.get("/demo")
    assert f'value="{EXAMPLES[0]}"' in first.text
    for query, page in [(EXAMPLES[0], first), *((query, search(browser, query)) for query in EXAMPLES)]:
        assert results(page) == before(page) == list(engine.search(query).ids[:10])
    assert "The engine’s order: nobody has clicked yet" in first.text


def test_a_click_teaches_the_model_and_the_page_says_what_moved(browser, demonstration):
    untaught = demonstration.weights()
    page = search(browser, EXAMPLES[0])
    found = results(page)
    taught = click(browser, page, found[9])
    assert taught.url.params["q"] == EXAMPLES[0]
    assert f"You clicked <code>{found[9]}</code>." in taught.text.replace("<wbr>", "")
    [moved] = re.findall(r"It rose from 10th to (\d)\w\w; (\d+) of 10 results moved\.", taught.text)
    assert results(taught).index(found[9]) == int(moved[0]) - 1
    assert sum(one != other for one, other in zip(found, results(taught), strict=True)) == int(moved[1])
    assert re.search(r"Results (with|that) [^.]+ now count more\.", taught.text)
    assert taught.text.count("your click</span>") == 1
    assert before(taught) == found
    assert "After 1 click by you" in taught.text
    assert np.flatnonzero(np.abs(untaught) > 1e-12).tolist() == np.flatnonzero(start_of(POSTERIOR)).tolist()
    assert demonstration.weights() != untaught


def test_a_page_teaches_once(browser, demonstration):
    page = search(browser, "split string")
    first, second = results(page)[:2]
    click(browser, page, first)
    taught = demonstration.weights()
    assert "This click changed nothing" in click(browser, page, second).text
    assert demonstration.weights() == taught


def live(client, page, **fields):
    """What a page that somebody looks at asks for while visitors come."""
    return client.get("/demo/crowd", params={"impression": impression(page)} | fields, headers={"hx-request": "true"})


def test_results_are_sent_again_only_where_the_order_has_changed_and_nobody_points_at_them(browser):
    page, other = search(browser, EXAMPLES[0]), search(browser, EXAMPLES[0])
    assert 'id="results"' not in live(browser, page).text
    assert 'id="status"' in live(browser, page).text
    click(browser, other, results(other)[9])
    assert 'id="results"' not in live(browser, page, hold="yes").text
    fresh = live(browser, page)
    assert 'id="results"' in fresh.text
    assert results(fresh) != results(page)
    assert impression(fresh) != impression(page)
    assert 'id="results"' not in live(browser, fresh).text
    assert 'id="results"' not in browser.get("/demo/crowd").text


def test_no_label_needs_a_paper(browser):
    act(browser, "reset", rival="naive")
    for page in (browser.get("/demo"), browser.get("/demo/documents/csv"), browser.get("/demo/crowd")):
        shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page.text)
        for word in ("ips", "naive+", "α", "posterior", "bm25", "weights", "candidates", "shadow"):
            assert word not in shown.lower()
        assert shown.count("nDCG") <= 1  # in a note for those who want to know what is measured


def test_a_rival_is_explained_and_none_is_there_unless_asked_for(browser, demonstration):
    assert "The rival is" not in browser.get("/demo").text
    assert [point["rival"] for point in demonstration.curve()] == [None]
    beside = act(browser, "reset", rival="careful")
    assert "The rival is ROLTR" in beside.text
    [point] = demonstration.curve()
    assert point["rival"] == point["model"] == point["engine"]
    assert demonstration.weights("rankloop-demo-rival") == engine_order().tolist()


def test_starting_over_stays_with_the_search(browser):
    page = act(browser, "reset", q="parse date")
    assert page.url.params["q"] == "parse date"
    assert act(browser, "reset").url.path == "/demo"


def test_hostile_words_are_shown_as_they_were_typed(browser):
    page = search(browser, HOSTILE)
    assert results(page)
    for alive in ("<script>alert", "<img src=x", "544439"):
        assert alive not in page.text.split('<div class="orders">')[0]
    assert "<script>alert(1)</script>" in unescape(page.text)
    opened = click(browser, page, results(page)[0])
    assert "<script>alert" not in opened.text
    assert "<img src=x" not in opened.text


@pytest.mark.parametrize("query", ["zzqqxx", "🐍", "???"])
def test_where_nothing_is_found_a_sentence_says_so(browser, query):
    page = search(browser, query)
    assert page.status_code == 200
    assert f"No results for “{query}”" in unescape(page.text)


def test_a_very_long_query_is_cut_and_told_so(browser):
    page = search(browser, "csv " * 2500)
    assert page.status_code == 200
    assert "This query has 10,000 characters; only the first 1,000 are used." in page.text
    assert results(page)


def test_every_page_has_a_strict_policy_and_names_no_other_host(browser):
    page = search(browser, "csv")
    addresses = ["/demo", "/demo?q=csv", "/demo?q=zzqqxx", "/demo/documents/csv", "/demo/documents/none", "/demo/crowd"]
    for answer in (*(browser.get(address) for address in addresses), click(browser, page, "nothing")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for attribute in re.findall(r'(?:src|href|action|hx-get|hx-post|data-src)="([^"]*)"', answer.text):
            assert re.match(r"/(?!/)|#", attribute), attribute
        assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=", answer.text)


def test_everything_that_a_page_loads_is_under_150_kilobytes(browser):
    page = search(browser, "read csv file")
    files = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text))
    assert len(files) >= 5
    sizes = [len(browser.get(file).content) for file in files]
    assert sum(sizes) + len(page.content) < 150_000


def test_a_click_for_a_page_that_was_never_shown_is_refused(browser, demonstration):
    page = search(browser, "csv")
    before = demonstration.weights()
    refused = browser.post(
        "/demo/click", data={"token": token(page), "impression": impression(page)[:-2] + "xx", "document": "csv"}
    )
    assert refused.status_code == 410
    assert "search again" in refused.text
    assert click(browser, page, "os.remove").status_code == 410
    assert demonstration.weights() == before


@pytest.mark.parametrize("name", ["click", "visitors", "stop", "taste", "reset"])
def test_forms_of_other_sites_are_refused(browser, demonstration, name):
    form = {"token": token(browser.get("/demo")), "taste": "readers"}
    elsewhere = browser.post(f"/demo/{name}", data=form, headers={"origin": "http://elsewhere.example"})
    forged = browser.post(f"/demo/{name}", data=form | {"token": "0" * 64})
    assert elsewhere.status_code == forged.status_code == 403
    assert [point["visits"] for point in demonstration.curve()] == [0]


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("taste", {"taste": "<b>gourmets</b>"}, "taste must be one of"),
        ("reset", {"rival": "<b>Oracle</b>"}, "rival must be one of"),
    ],
)
def test_a_choice_that_does_not_exist_is_a_sentence(browser, name, fields, sentence):
    refused = act(browser, name, **fields)
    assert refused.status_code == 422
    assert sentence in unescape(refused.text)
    assert "<b>" not in refused.text


def test_whoever_watches_while_it_starts_over_waits(browser):
    """Models are deleted and made anew: a page that looks every half second must not be told that they are gone."""
    page = search(browser, "read csv file")
    with ThreadPoolExecutor(1) as other:
        restarted = other.submit(act, browser, "reset")
        seen = {browser.get("/demo/crowd", params={"impression": impression(page)}).status_code}
        while not restarted.done():
            seen.add(browser.get("/demo/crowd", params={"impression": impression(page)}).status_code)
    assert restarted.result().is_success
    assert seen == {200}


def test_an_unknown_document_is_a_sentence(browser):
    missing = browser.get("/demo/documents/%3Cb%3Eos%3C%2Fb%3E")
    assert missing.status_code in (404, 410)
    assert "<b>os" not in missing.text
    assert "This Python's library has no" in unescape(browser.get("/demo/documents/os.nothing").text)


def test_without_scripts_the_forms_still_work(browser, demonstration):
    assert str(act(browser, "taste", taste="readers").url) == f"{demonstration.url}/demo"
    page = act(browser, "visitors")
    assert str(page.url) == f"{demonstration.url}/demo"
    assert "of 1,000</span>" in page.text
    assert 'data-taste="readers"' in page.text
    act(browser, "stop")
    assert 'data-running="no"' in browser.get("/demo/crowd").text
    act(browser, "taste", taste="explorers")


@pytest.mark.parametrize("case", ["a log with keys", "a port in use"])
def test_what_the_demo_cannot_use_is_refused(demonstration, tmp_path, capsys, case):
    store = str(tmp_path / "mine.db")
    words, sentence = ["--port", str(demonstration.port)], "choose another with --port"
    if case == "a log with keys":
        words, sentence = ["--port", "0", "--store", store], "has API keys"
        with pytest.raises(SystemExit) as made:
            main(["keys", "create", "shop", "--scope", "admin", "--store", store])
        assert made.value.code == 0
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--no-browser", *words])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
