"""`rankloop simulate-traffic` as people type it: curves as a table, a picture and JSON; mistakes as sentences."""

import json
import re

import pytest

import rankloop as rl
from rankloop.cli import main, simulate_traffic
from rankloop.live.keys import create_key
from rankloop.live.stores import open_store

from ..live.serving import Serving

pytestmark = [pytest.mark.xdist_group("traffic-command"), pytest.mark.process]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("traffic")) as running:
        yield running


@pytest.fixture(scope="module")
def data():
    return rl.load("tiny", scale=0.1)


@pytest.fixture
def command(capsys):
    """`rankloop simulate-traffic` on a small world: (exit code, standard output, standard error)."""

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(["simulate-traffic", "--scale", "0.1", *words])
        told = capsys.readouterr()
        return left.value.code, told.out, told.err

    return run


def test_the_command_shows_curves_as_table_picture_and_json(service, data, tmp_path, command):
    words = ["--url", service.url, "--model", "by-command", "--learner", "PDGD", "--set", "learning_rate=0.05"]
    words += ["--impressions", "60", "--evaluate-every", "20", "--seed", "11"]
    code, told, trouble = command(*words, "--json", "--picture", str(tmp_path / "curve.png"))
    assert code == 0, trouble
    found = json.loads(told)
    here = rl.simulate(rl.PDGD(learning_rate=0.05), rl.users.noisy(), data, 60, seed=11, evaluate_every=20)
    assert found["weights"] == here.weights.tolist()
    assert [point["offline"] for point in found["curve"]] == here.offline_curve[:, 1].tolist()
    assert found["curve"][1]["online"] == here.online_curve[:20].mean()
    assert found["online_ndcg"] == here.online_ndcg
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    code, shown, progress = command(*words)
    assert code == 0
    assert "continues from version 60" in progress
    assert f"{here.offline_curve[-1, 1]:.4f}" in shown.splitlines()[1]
    assert re.search(r"Mean nDCG@\d+ of the pages 0\.\d{4}; their sum, discounted by 0\.9995 a page, \d", shown)


def test_a_picture_of_a_single_point_shows_it(data, tmp_path):
    run = rl.simulate(rl.PDGD(), rl.users.noisy(), data, 20, seed=1, evaluate_every=0)
    simulate_traffic._draw(run, tmp_path / "point.svg")
    assert "<use " in (tmp_path / "point.svg").read_text().partition('id="line2d')[2].partition("legend")[0]


def test_the_command_without_a_service_says_one_sentence(command):
    code, told, trouble = command("--url", "http://127.0.0.1:1")
    assert (code, told) == (2, "")
    assert len(trouble.strip().splitlines()) == 1
    assert "no service at" in trouble
    assert "rankloop serve" in trouble


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--user", "drunk"], "users must be among perfect, noisy"),
        (["--set", "learning_rate"], "--set takes SETTING=VALUE"),
        (["--learner", "ROLTR", "--set", "reward=ips"], "reward must be one of"),
        (["--picture", "curve.xyz"], "--picture takes a .png"),
        (["--url", "127.0.0.1:8080"], "http://"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence(words, sentence, command):
    code, told, trouble = command(*words)
    assert (code, told) == (2, "")
    assert sentence in trouble
    assert len(trouble.strip().splitlines()) == 1


def test_the_key_comes_from_the_environment(tmp_path, command, monkeypatch):
    store = open_store(tmp_path / "rankloop.db")
    key = create_key(store, "tester", ["rank", "click", "admin"], 0)
    store.close()
    with Serving(tmp_path) as running:
        words = ["--url", running.url, "--impressions", "5", "--json"]
        monkeypatch.setenv("RANKLOOP_API_KEY", "rl_wrong")
        code, told, trouble = command(*words)
        assert (code, told) == (2, "")
        assert "API key" in trouble
        monkeypatch.setenv("RANKLOOP_API_KEY", key)
        code, told, trouble = command(*words)
        assert code == 0, trouble
        assert key not in told + trouble
