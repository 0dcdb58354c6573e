"""`rankloop export`: rankers, rankings and grades for other tools, in files or on standard output."""

import json

import pyarrow as pa
import pytest

from rankloop.cli import export
from rankloop.errors import DataError, SettingsError
from rankloop.interchange import Ranker, load_ranker, write_qrels
from rankloop.interchange import write_run as write_run_file
from rankloop.studies.records import write_record

from ..interchange.learned import DATA, RUN


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda at: export.run(at / "none.zip", data="tiny"), "none.zip"),
        (lambda at: export.qrels(data="tiny", split="tset"), "tset"),
        (lambda at: export.ranker(at), "is the study finished"),
    ],
)
def test_a_mistake_in_a_command_is_a_sentence_and_leaves_nothing_behind(tmp_path, call, words):
    with pytest.raises((DataError, SettingsError)) as refused:
        call(tmp_path)
    assert words in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_commands_write_files_or_standard_output(tmp_path, capsys):
    RUN.save(tmp_path / "run.zip")
    export.ranker(tmp_path / "run.zip", out=str(tmp_path / "ranker.json"))
    assert load_ranker(tmp_path / "ranker.json") == Ranker.of(RUN)
    capsys.readouterr()
    export.run(tmp_path / "ranker.json", data="tiny", split="vali")
    assert capsys.readouterr().out == write_run_file(RUN.weights, DATA.vali, tmp_path / "run.txt").read_text()
    export.qrels(data="tiny", exponential=True)
    assert capsys.readouterr().out == write_qrels(DATA.test, tmp_path / "q.txt", exponential=True).read_text()


def test_a_ranker_comes_out_of_a_record_and_out_of_a_results_folder(tmp_path):
    (tmp_path / "runs").mkdir()
    record = write_record(tmp_path, "k1", RUN)
    export.ranker(record, out=str(tmp_path / "one.json"))
    assert load_ranker(tmp_path / "one.json").weights == tuple(RUN.weights.tolist())
    rows = [
        {"grid": "g", "collection": "tiny", "user": "noisy", "label": label, "seed": 1, "weights": [float(i)],
         "settings": "{}", "manifest": "{}"}
        for i, label in enumerate(("ROLTR", "PDGD"))
    ]  # fmt: skip
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "results.parquet")
    export.ranker(tmp_path, label="PDGD", out=str(tmp_path / "two.json"))
    assert load_ranker(tmp_path / "two.json").weights == (1.0,)
    with pytest.raises(DataError, match="2 such runs; choose one of label ROLTR, PDGD"):
        export.ranker(tmp_path)
    with pytest.raises(DataError, match="no run with label 'DBGD'"):
        export.ranker(tmp_path, label="DBGD")


def test_a_live_model_leaves_with_a_word_on_how_far_it_ranks_as_it_does_here(made, rankloop, tmp_path):
    file = tmp_path / "shop.json"
    given = "--model", "shop", "--format", "opensearch"
    code, out, err = rankloop("export", "model", made / "log.db", *given, "--out", file)
    assert (code, out) == (0, "")
    assert json.loads(file.read_text())["model"]["model"]["type"] == "model/linear"
    assert "shop, version 20" in err
    assert "on 20 logged pages: the first result stays on 100.0%" in " ".join(err.split())
    code, out, _ = rankloop("export", "model", made / "log.db", *given)
    assert (code, out) == (0, file.read_text())
    code, _, err = rankloop("export", "model", made / "log.db", "--model", "shop", "--format", "sphinx")
    assert code == 2
    assert "format must be one of 'json', 'elasticsearch'" in err
