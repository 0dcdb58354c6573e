"""What the viewer answers, request by request."""

import base64
import csv
import hashlib
import html
import io
import os
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from study_viewing import HOSTILE, half_way

from rankloop.studies.records import read_results
from rankloop.web.studies import create_viewer
from rankloop.web.studies.folders import find_studies

pytestmark = pytest.mark.xdist_group("studies")
KEPT = Path(__file__).parents[3] / "docs" / "results"
PAGE_BYTES = 250_000


def text_of(page):
    """What a reader sees of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.text)))


def looking_at(root):
    """Somebody who looks at the studies of a folder, under a name of this machine."""
    return TestClient(create_viewer(root), base_url="http://localhost")


@pytest.fixture
def client(results):
    return looking_at(results)


def test_the_list_says_what_each_study_is_how_many_runs_it_has_and_when_it_changed(client, results):
    shutil.copytree(KEPT / "mq2008", results / "kept" / "mq2008")
    shown = text_of(client.get("/"))
    assert "A small study" in shown
    assert "Does it learn?" in shown
    assert re.search(r"small on PDGD complete 12 runs \d{4}-\d\d-\d\d \d\d:\d\d UTC", shown)
    assert re.search(r"kept/mq2008 on MQ2008 report only 7,200 runs", shown)


def test_a_study_s_page_has_the_question_the_tables_the_verdicts_and_the_settings(client, results):
    page = client.get("/study/small")
    shown = text_of(page)
    for told in (
        "Does it learn?",
        "12 runs",
        "online nDCG@10",
        "Verdict on each claim",
        "undecided",
        "How to reproduce",
    ):
        assert told in shown, told
    assert html.escape((results / "small" / "study.toml").read_text(), quote=False).replace('"', "&#34;") in page.text
    tables = read_results(results / "small")
    assert len(tables.records) == 12
    for record in tables.records:
        assert record.label in shown


def test_the_claims_of_a_kept_report_have_verdicts_and_p_values():
    page = looking_at(KEPT).get("/study/synthetic")
    assert page.text.count("contradicted</span>") >= 9
    assert "&lt; 0.0001" in page.text
    assert len(re.findall(r'<img src="/study/synthetic/figures/[a-z-]+\.png', page.text)) == 9


def test_pictures_keep_their_place_and_are_the_files_of_the_report(client, results):
    page = client.get("/study/small").text
    address, width, height = re.search(
        r'<img src="(/study/small/figures/\S+)" width="(\d+)" height="(\d+)"', page
    ).groups()
    picture = client.get(address)
    assert picture.headers["content-type"] == "image/svg+xml"
    assert picture.content == (results / "small" / "figures" / Path(address.split("?")[0]).name).read_bytes()
    inches = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture.content).groups()
    assert int(width) / int(height) == pytest.approx(float(inches[0]) / float(inches[1]), rel=0.01)


def test_results_can_be_taken_away_as_csv_and_parquet(client, results):
    files = "/study/small/files"
    stored = pq.read_table(results / "small" / "results.parquet").to_pylist()
    rows = list(csv.DictReader(io.StringIO(client.get(f"{files}/results.csv").text)))
    assert [(row["key"], float(row["online_ndcg"])) for row in rows] == [
        (row["key"], row["online_ndcg"]) for row in stored
    ]
    curves = list(csv.DictReader(io.StringIO(client.get(f"{files}/curves.csv").text)))
    assert len(curves) == sum(len(row["offline_at"]) for row in stored)
    for name in ("results.parquet", "curves.parquet", "study.toml", "tables.tex", "report.md", "report.html"):
        answer = client.get(f"{files}/{name}")
        assert answer.content == (results / "small" / name).read_bytes()
        assert answer.headers["content-disposition"] == f'attachment; filename="small-{name}"'


def test_every_table_is_there_as_csv(client):
    page = client.get("/study/small").text
    addresses = re.findall(r'href="(/study/small/tables/\d+\.csv)"', page)
    assert len(addresses) == page.count("<table")
    for address in addresses:
        rows = list(csv.reader(io.StringIO(client.get(address).text)))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
    assert client.get("/study/small/tables/99.csv").status_code == 404


def test_a_running_study_shows_what_is_finished(client, results):
    taken = half_way(results / "small")
    assert re.search(r"in progress 6 of 12 runs", text_of(client.get("/")))
    shown = text_of(client.get("/study/small"))
    assert "6 of 12 runs finished" in shown
    path, content = taken[0]
    path.write_bytes(content)
    assert "7 of 12 runs" in text_of(client.get("/study/small/standing?seen=old"))
    page = client.get("/study/small").text
    assert "7 of 12 runs finished" in html.unescape(page)
    picture = re.search(r'<img src="(/study/\S+)"', page)[1]
    assert client.get(picture).content.startswith(b"<?xml")
    assert len(client.get("/study/small/files/results.csv").text.splitlines()) == 1 + 7


def test_a_study_that_has_just_begun_has_a_page(client, results):
    for path, _ in half_way(results / "small"):
        path.unlink(missing_ok=True)
    for path in (results / "small" / "runs").iterdir():
        path.unlink()
    assert "0 of 12 runs" in text_of(client.get("/"))
    assert "0 of 12 runs finished" in text_of(client.get("/study/small"))
    assert client.get("/study/small/files/results.csv").status_code == 404


def test_an_unchanged_study_says_nothing_new(client):
    mark = re.search(r"standing\?seen=(\w+)", client.get("/study/small").text)[1]
    assert client.get(f"/study/small/standing?seen={mark}").status_code == 204
    assert "Show new results" in client.get("/study/small/standing?seen=other").text


def test_new_studies_appear_and_removed_ones_go(client, results):
    shutil.copytree(results / "small", results / "later" / "again")
    assert client.get("/study/later-again-" + hashlib.sha256(b"later/again").hexdigest()[:6]).status_code == 200
    shutil.rmtree(results / "small")
    assert client.get("/study/small").status_code == 404
    assert "small</code>" not in client.get("/list").text


def test_looking_changes_nothing(client, results):
    def state():
        return {path: path.stat().st_mtime_ns for path in results.rglob("*")}

    half_way(results / "small")
    before = state()
    for address in ("/", "/study/small", "/study/small/files/results.csv"):
        assert client.get(address).status_code == 200
    assert state() == before


@pytest.mark.parametrize("name", ["study.toml", "results.parquet"])
def test_a_damaged_study_is_told_and_the_others_are_shown(client, results, name):
    shutil.copytree(results / "small", results / "damaged")
    (results / "damaged" / name).write_bytes(b"\x00 = [")
    os.utime(results / "damaged" / name)
    assert "A small study" in text_of(client.get("/"))
    page = client.get("/study/damaged")
    assert page.status_code == 200
    assert "A small study" in text_of(client.get("/study/small"))
    told = {"study.toml": "study.toml cannot be read", "results.parquet": "results.parquet is damaged; delete it"}
    for shown in (page, client.get("/")):  # the list knows it as well as the page
        assert told[name] in text_of(shown)
        assert "unreadable" in text_of(shown)
    assert "unreadable" in text_of(client.get("/study/damaged/standing"))


def test_an_empty_folder_says_how_to_fill_it(tmp_path):
    page = looking_at(tmp_path).get("/")
    assert "rankloop run quick --out" in text_of(page)


def test_a_results_folder_can_be_shown_itself(results):
    client = looking_at(results / "small")
    assert "A small study" in text_of(client.get("/study/small"))


def test_a_picture_that_leads_elsewhere_is_drawn_anew(results, tmp_path):
    secret = tmp_path / "secret.svg"
    secret.write_text("the secret")
    for figure in (results / "small" / "figures").glob("*.svg"):
        figure.unlink()
        figure.symlink_to(secret)
    client = looking_at(results)
    picture = re.search(r'<img src="(/study/\S+)"', client.get("/study/small").text)[1]
    assert "the secret" not in client.get(picture).text


def test_no_answer_allows_inline_script_or_style(client):
    page = client.get("/study/small").text
    addresses = ["/", "/list", "/study/small", "/study/small/standing", "/study/small/report.html", "/nowhere/at/all"]
    addresses += ["/study/nothing", "/static/studies.js", *re.findall(r'(?:href|src)="(/[^"]+)"', page)]
    for address in addresses:
        answer = client.get(address.replace("&amp;", "&"))
        policy = answer.headers.get("content-security-policy", "")
        if answer.status_code == 200:
            assert "default-src 'none'" in policy, address
        assert "unsafe" not in policy
        assert answer.headers.get("x-content-type-options") == "nosniff" or answer.status_code == 404
    assert not re.search(r"<style|<script(?! src=)| style=| on[a-z]+=", page)


def test_the_self_contained_report_is_allowed_its_own_style_by_hash(client, results):
    style = re.search("<style>(.*?)</style>", (results / "small" / "report.html").read_text(), re.DOTALL)[1]
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = client.get("/study/small/report.html").headers["content-security-policy"]
    assert f"style-src 'sha256-{hashed}';" in policy
    assert "script-src" not in policy


def test_hostile_names_are_text(hostile):
    client = looking_at(hostile.parent)
    for address in ("/", f"/study/{next(iter(find_studies(hostile.parent)))}"):
        page = client.get(address).text
        assert "<script>window" not in page
        assert "<img src=x" not in page
        assert "<b onclick" not in page
        assert html.escape(HOSTILE).replace("&quot;", "&#34;") in page


def test_a_page_is_light_whatever_it_shows(client):
    kept = looking_at(KEPT)
    for browser, address in ((client, "/"), (client, "/study/small"), (kept, "/study/synthetic")):
        page = browser.get(address)
        parts = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
        assert len(page.content) + sum(len(browser.get(part).content) for part in parts) < PAGE_BYTES


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "testserver", "["])
def test_other_names_of_this_machine_see_nothing(results, host):
    answer = looking_at(results).get("/study/small", headers={"host": host})
    assert answer.status_code == 403
    assert "small" not in answer.text


def test_blocks_look_the_same_in_the_viewer_and_in_the_report_for_there_is_one_style_of_them(client, results):
    shared = client.get("/static/blocks.css")
    assert shared.headers["content-type"].startswith("text/css")
    assert shared.text in (results / "small" / "report.html").read_text(encoding="utf-8")
    assert "/static/blocks.css" in client.get("/study/small").text
    rules = set(shared.text.splitlines()) - {"", "}"}
    own = client.get("/static/studies.css").text.splitlines()
    assert not rules & {line for line in own if not line.startswith("@media")}
