"""`rankloop models` as people type it: from making one to rolling it back, and mistakes as sentences."""

import json

import pytest

from rankloop.client import Client

from ..patience import PATIENCE

pytestmark = [pytest.mark.xdist_group("experiment-command"), pytest.mark.process]


@pytest.fixture
def command(rankloop, service):
    """`rankloop models`: (exit code, standard output, standard error)."""
    return lambda *words: rankloop("models", *words, "--url", service.url)


def visit(service, model):
    with Client(service.url, timeout=PATIENCE) as client:
        page = client.rank(model, {"a": [1.0, 0.0], "b": [0.0, 1.0]}, client="somebody")
        client.click(page.impression, ["b"])
        client.close(page.impression, wait=True)


def test_a_model_from_its_making_to_its_end(service, command):
    code, told, trouble = command("create", "desks", "price", "stars", "--set", "guards.control=0")
    assert code == 0, trouble
    assert "desks is there: Posterior, 2 features to send; start: " in told
    assert "/v1/models/desks/rank" in told
    assert "desks" in command("list")[1]
    visit(service, "desks")
    assert "1 pages learned from" in command("show", "desks")[1]
    assert "desks: paused" in command("pause", "desks")[1]
    assert "desks: frozen" in command("freeze", "desks")[1]
    assert json.loads(command("resume", "desks", "--json")[1])["mode"] == "learning"
    assert "rankloop models roll-back desks VERSION" in command("states", "desks")[1]
    code, told, trouble = command("roll-back", "desks", "0")
    assert (code, trouble) == (0, "")
    assert "desks ranks as version 0 did" in told
    assert json.loads(command("show", "desks", "--json")[1])["weights"] == [0.0, 0.0, 1.0]
    assert "desks is gone" in command("delete", "desks", "--yes")[1]
    assert "there is no model 'desks'" in command("show", "desks")[2]


def test_what_import_writes_can_be_sent(rankloop, command, tmp_path):
    (tmp_path / "ranklib.txt").write_text("1:0.25 2:-0.5")
    words = ("--name", "imported", "--feature", "bm25", "--feature", "price", "--out", tmp_path / "made.json")
    assert rankloop("import", tmp_path / "ranklib.txt", *words)[0] == 0
    code, told, trouble = command("create", "--from", tmp_path / "made.json", "--json")
    assert code == 0, trouble
    assert (json.loads(told)["name"], json.loads(told)["weights"]) == ("imported", [0.25, -0.5])


def test_what_connect_writes_can_be_sent(rankloop, command, tmp_path):
    words = ("--model", "hits", "--feature", "_score", "--feature", "price", "--out", tmp_path)
    assert rankloop("connect", "opensearch", *words)[0] == 0
    code, told, trouble = command("create", "--from", tmp_path / "1-rankloop-model.json", "--json")
    assert code == 0, trouble
    assert json.loads(told)["features"] == ["_score", "price"]


def test_a_dry_run_makes_nothing(command):
    assert "never would start from: " in command("create", "never", "price", "--dry-run")[1]
    assert "never" not in command("list")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create",), "needs a name and its features, such as: rankloop models create shop bm25 price stars"),
        (("create", "alone"), "needs a name and its features"),
        (("create", "shop", "price"), "a model 'shop' already exists"),
        (("create", "odd", "price", "--set", "page_size"), "must look like SETTING=VALUE"),
        (("create", "odd", "price", "--set", "name.first=1"), "name is 'odd' already"),
        (("create", "odd", "price", "--set", "scaling=zscore"), "'none', 'query', 'robust', 'running'"),
        (("roll-back", "shop", "77"), "no snapshot of version 77"),
        (("show", "nothing"), "there is no model 'nothing'"),
        (("delete", "nothing"), "there is no model 'nothing'"),
    ],
)
def test_mistakes_are_sentences(command, words, sentence):
    code, told, trouble = command(*words)
    assert (code, told) == (2, "")
    assert sentence in trouble


def test_a_file_that_is_no_settings_is_refused(command, tmp_path):
    (tmp_path / "text.json").write_bytes(b'{"name": "\xff"}')
    assert "settings of a model are one JSON object" in command("create", "--from", tmp_path / "text.json")[2]
    (tmp_path / "list.json").write_text("[1, 2]")
    assert "settings of a model are one JSON object" in command("create", "--from", tmp_path / "list.json")[2]
