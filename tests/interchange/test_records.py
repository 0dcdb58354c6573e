"""A ranker is taken out of a study's results only where the question leaves one run."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.errors import DataError
from rankloop.interchange.records import ranker_of_record, ranker_of_study


def row(label, seed=1, weight=0.5):
    return {
        "grid": "g", "collection": "tiny", "user": "noisy", "label": label, "seed": seed, "weights": [weight],
        "settings": f'{{"learner": "{label}"}}', "manifest": "{}",
    }  # fmt: skip


def study(folder, *rows):
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "results.parquet")
    return folder


def test_the_place_of_a_run_finds_its_weights_and_settings(tmp_path):
    folder = study(tmp_path, row("ROLTR", weight=1.0), row("PDGD", weight=2.0))
    ranker = ranker_of_study(folder, label="PDGD", seed=None)
    assert (ranker.weights, ranker.settings) == ((2.0,), {"learner": "PDGD"})


def test_several_runs_are_refused_with_what_tells_them_apart(tmp_path):
    folder = study(tmp_path, row("ROLTR", seed=1, weight=1.0), row("ROLTR", seed=2, weight=2.0))
    with pytest.raises(DataError, match=r"2 such runs; choose one of seed 1, 2$"):
        ranker_of_study(folder, label="ROLTR")
    assert ranker_of_study(folder, seed=2).weights == (2.0,)


def test_equal_runs_need_no_choice(tmp_path):
    assert ranker_of_study(study(tmp_path, row("ROLTR", seed=1), row("ROLTR", seed=2))).weights == (0.5,)


def test_a_run_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(DataError, match=r"no run with label 'DBGD', seed 7; choose from label ROLTR, PDGD$"):
        ranker_of_study(study(tmp_path, row("ROLTR"), row("PDGD")), label="DBGD", seed=7)


def test_a_record_holds_one_run(tmp_path):
    path = study(tmp_path, row("ROLTR"), row("PDGD")) / "results.parquet"
    with pytest.raises(DataError, match="holds 2 runs, not one"):
        ranker_of_record(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "is the study finished"), (b"no parquet", "does not contain rankloop results")],
)
def test_a_file_that_is_no_record_is_named(tmp_path, content, words):
    path = tmp_path / "results.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        ranker_of_record(path)
