"""A run goes to disk and comes back without loss; a damaged file is named as one."""

import json
import math
import zipfile
from dataclasses import fields

import numpy as np
import pytest

from rankloop.errors import DataError
from rankloop.learners import DBGD, ROLTR, FixedWeights, MDPRank, Oracle, from_settings
from rankloop.propensities import Known
from rankloop.runs.run import Run
from rankloop.simulation import simulate
from rankloop.users import PositionBased, noisy

from ..proofs import small

DATA = small.collection()


def a_run(**settings) -> Run:
    return simulate(ROLTR(), noisy(), DATA, 30, seed=1, **({"evaluate_every": 10} | settings))


@pytest.mark.parametrize(
    "make",
    [
        lambda: a_run(gradient_variance=True),
        lambda: a_run(evaluate_every=0),
        lambda: a_run(metrics=["map", "err"], by_query="all"),
        lambda: a_run(weights=[0.1, 0.2, 0.3, 0.4, 0.5], delay=2, late_scores="drawn"),
        lambda: simulate(MDPRank(), noisy(), DATA, 30, seed=2**64 - 1),
        lambda: simulate(Oracle(), noisy(), DATA, 30, seed=1),
        lambda: simulate(
            ROLTR(propensities=Known((1.0,) * 10)),
            PositionBased((0.1, 0.3, 0.5, 0.7, 0.9), [0.5] * 10),
            DATA,
            30,
            seed=1,
        ),
    ],
    ids=["variance", "no curve", "metrics", "delay", "large seed", "oracle", "tables"],
)
def test_what_is_loaded_is_what_was_saved(make, tmp_path):
    run = make()
    again = Run.load(run.save(tmp_path / "run.zip"))
    for entry in fields(Run):
        saved, loaded = getattr(run, entry.name), getattr(again, entry.name)
        if isinstance(saved, np.ndarray):
            assert (loaded.dtype, loaded.shape) == (saved.dtype, saved.shape)
            assert loaded.tobytes() == saved.tobytes()
        else:
            assert json.dumps(loaded, sort_keys=True) == json.dumps(saved, sort_keys=True)
    assert again.online_ndcg == run.online_ndcg
    assert repr(again) == repr(run)


def test_settings_name_everything_that_determines_the_run():
    run = a_run(delay=2)
    assert from_settings(run.settings["learner"]) == ROLTR()
    assert list(run.settings["user"]["attraction"]) == [0.4, 0.6, 0.7, 0.8, 0.9]
    wanted = {"impressions": 30, "seed": 1, "delay": 2, "page_size": 10, "evaluate_every": 10}
    assert wanted.items() <= run.settings.items()
    assert {"python", "numpy", "numba", "rankloop"} <= run.manifest["versions"].keys()
    assert run.manifest["processor"]


def test_numpy_numbers_in_settings_can_be_saved(tmp_path):
    """Seeds come from arange, rates from linspace."""
    learner = ROLTR(learning_rate=np.linspace(0.01, 0.1, 3)[1], discount=np.float32(0.5))
    run = simulate(learner, noisy(), DATA, np.int64(20), seed=np.arange(3)[1])
    assert Run.load(run.save(tmp_path / "run.zip")).settings["seed"] == 1


def test_saving_leaves_one_file_and_replaces_an_older_one(tmp_path):
    path = tmp_path / "run.zip"
    path.write_text("old")
    a_run().save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.zip"]
    assert Run.load(path).settings["seed"] == 1


def test_a_place_that_cannot_be_written_is_an_error_with_its_name(tmp_path):
    with pytest.raises(DataError, match=r"cannot write .*missing"):
        a_run().save(tmp_path / "missing" / "run.zip")


def test_a_failed_save_leaves_nothing_behind(tmp_path):
    (tmp_path / "run.zip").mkdir()
    with pytest.raises(DataError, match=r"cannot write .*run\.zip"):
        a_run().save(tmp_path / "run.zip")
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.zip"]


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*nowhere"):
        Run.load(tmp_path / "nowhere.zip")


def test_another_file_is_not_mistaken_for_a_run(tmp_path):
    path = tmp_path / "notes.txt"
    for content in (b"", b"hello", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a saved run"):
            Run.load(path)


def test_a_run_of_another_format_says_so(tmp_path):
    path = a_run().save(tmp_path / "run.zip")
    rewrite(path, lambda document: document | {"format": 99})
    with pytest.raises(DataError, match="format 99; this version reads 1"):
        Run.load(path)


@pytest.mark.parametrize("missing", ["settings", "manifest", "seconds"])
def test_a_run_without_one_of_its_documents_is_refused(tmp_path, missing):
    path = a_run().save(tmp_path / "run.zip")
    rewrite(path, lambda document: {k: v for k, v in document.items() if k != missing})
    with pytest.raises(DataError, match="not a saved run"):
        Run.load(path)


@pytest.mark.parametrize("document", [[], "text", 5, None])
def test_a_run_whose_document_is_no_table_is_refused(tmp_path, document):
    path = a_run().save(tmp_path / "run.zip")
    rewrite(path, lambda _: document)
    with pytest.raises(DataError):
        Run.load(path)


def rewrite(path, change) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["run.json"] = json.dumps(change(json.loads(parts["run.json"]))).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_file_cut_short_anywhere_is_refused(tmp_path):
    path = a_run().save(tmp_path / "run.zip")
    content = path.read_bytes()
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(DataError):
            Run.load(path)


@pytest.mark.thorough
def test_a_flipped_byte_is_refused_or_harmless(tmp_path):
    """Every 7th byte of the file in turn: checksums must catch it, or it must not matter."""
    run = simulate(DBGD(), noisy(), DATA, 30, seed=1)
    path = run.save(tmp_path / "run.zip")
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            again = Run.load(path)
        except DataError:
            continue
        assert again.weights.tobytes() == run.weights.tobytes()
        assert again.online_curve.tobytes() == run.online_curve.tobytes()
        assert again.settings == json.loads(json.dumps(run.settings))


def test_a_run_without_evaluation_or_variance_has_no_number_for_them():
    run = simulate(FixedWeights(), noisy(), DATA, 10, seed=1, evaluate_every=0)
    assert math.isnan(run.offline_ndcg)
    assert math.isnan(run.gradient_variance)
    assert "FixedWeights, noisy, small, 10 impressions" in repr(run)
