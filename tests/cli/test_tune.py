"""`rankloop tune`: a table, a JSON document, and the study that runs the choice."""

import itertools
import json

import pytest

from rankloop.cli.tune import tune as command
from rankloop.errors import RankloopError
from rankloop.studies.specification import cells, load_study
from rankloop.users import cascade, mixture

COMMAND = {"data": "tiny", "impressions": 200, "repeats": 2, "workers": 1}


def test_the_command_prints_a_table_and_writes_a_study(tmp_path, capsys):
    command("PDGD", set_=["learning_rate=0.000001,0.1"], out=tmp_path / "tuned.toml", **COMMAND)
    printed = capsys.readouterr().out
    assert "learning_rate=1e-06" in printed
    assert "best" in printed
    assert load_study(str(tmp_path / "tuned.toml")).grids[0].learners[0]["learning_rate"] == 0.1


def test_people_may_be_described_as_in_a_study_file(tmp_path):
    crowd = '{ kind = "mixture", people = ["noisy", { kind = "cascade", attraction = "perfect", stop = "anywhere" }] }'
    command("PDGD", set_=["learning_rate=0.1"], user=crowd, out=tmp_path / "tuned.toml", **COMMAND)
    [cell, *_] = cells(load_study(str(tmp_path / "tuned.toml")))
    assert cell.user == mixture(["noisy", cascade("perfect", stop="anywhere")])


def test_the_command_prints_one_json_document(tmp_path, capsys):
    command("ROLTR", set_=["reward=naive-,ips+-", "discount=0,1"], fold=2, json=True, **COMMAND)
    document = json.loads(capsys.readouterr().out)
    assert [one["settings"] for one in document["candidates"]] == [
        {"reward": reward, "discount": discount} for reward in ("naive-", "ips+-") for discount in (0, 1)
    ]
    assert all(len(one["runs"]) == 2 for one in document["candidates"])
    assert document["best"]["learner"] == "ROLTR"
    assert document["data"] == {"data": "tiny", "folds": [2]}


def test_repeats_are_spread_over_the_folds_of_a_path(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "home"))
    lines = [f"{d % 5} qid:{d // 10} 1:{d % 7} 2:{d % 3}\n" for d in range(60)]
    for fold, split in itertools.product((1, 2), ("train", "vali", "test")):
        (tmp_path / "real" / f"Fold{fold}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "real" / f"Fold{fold}" / f"{split}.txt").write_text("".join(lines))
    command("PDGD", set_=["learning_rate=0.1"], json=True, **COMMAND | {"data": str(tmp_path / "real")})
    assert json.loads(capsys.readouterr().out)["data"] == {"data": str(tmp_path / "real"), "folds": [1, 2]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"learner": "ROLTER"}, "ROLTER"),
        ({"set_": ["learning_rate"]}, "SETTING=VALUE"),
        ({"set_": ["learning_rate=0.1", "learning_rate=0.2"]}, "set twice"),
        ({"set_": ["reward=ips"]}, "ips"),
        ({"user": "angelic"}, "angelic"),
        ({"user": '{ kind = "cascade", attraction = "noisy" }'}, "stop"),
        ({"repeats": 0}, "repeats"),
        ({"out": "tuned.json"}, ".toml"),
        ({"out": "no/such/tuned.toml"}, "cannot write"),
    ],
)
def test_a_mistake_on_the_command_line_is_a_sentence(tmp_path, arguments, words):
    chosen = {"learner": "ROLTR", **COMMAND, **arguments}
    if "out" in chosen:
        chosen["out"] = tmp_path / chosen["out"]
    with pytest.raises(RankloopError) as refused:
        command(chosen.pop("learner"), **chosen)
    assert words in str(refused.value)
    assert list(tmp_path.iterdir()) == []
