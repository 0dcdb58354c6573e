"""A packed results folder is small, and says the same."""

import tarfile

import pytest

from rankloop.errors import DataError
from rankloop.studies.claims import check
from rankloop.studies.packed import pack
from rankloop.studies.records import read_results, write_summary
from rankloop.studies.specification import load_study, to_toml


@pytest.fixture(scope="module")
def folder(made_up, tmp_path_factory):
    """A folder of a study as if it had been run."""
    made = tmp_path_factory.mktemp("results")
    study = load_study("rq5")
    (made / "study.toml").write_text(to_toml(study), encoding="utf-8")
    write_summary(made, made_up(study, keep=lambda cell: cell.seed < 4))
    return made


def test_unpacked_it_is_a_results_folder_with_the_same_verdicts(folder, tmp_path):
    assert pack(folder, tmp_path / "small.tar") == 30
    with tarfile.open(tmp_path / "small.tar") as archive:
        archive.extractall(tmp_path / "there", filter="data")
    before, after = read_results(folder), read_results(tmp_path / "there")
    assert [one.key for one in after.records] == [one.key for one in before.records]
    assert [one.online_ndcg for one in after.records] == [one.online_ndcg for one in before.records]
    assert after.records[0].offline_curve == pytest.approx(before.records[0].offline_curve, abs=1e-7)
    assert all(one.weights == [] for one in after.records)
    assert [one.verdict for one in check(after)] == [one.verdict for one in check(before)]


def test_a_folder_without_a_finished_run_is_refused(folder, tmp_path):
    (tmp_path / "study.toml").write_bytes((folder / "study.toml").read_bytes())
    with pytest.raises(DataError, match="is finished"):
        pack(tmp_path, tmp_path / "small.tar")
    assert not (tmp_path / "small.tar").exists()


def test_a_place_that_cannot_be_written_to_is_told(folder, tmp_path):
    with pytest.raises(DataError, match="cannot write"):
        pack(folder, tmp_path / "nowhere" / "small.tar")
