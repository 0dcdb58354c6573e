"""What is finished of a study is known while it runs, without its collections."""

import os

import pytest
from study_viewing import half_way

from rankloop.errors import DataError
from rankloop.studies.records import read_results
from rankloop.web.studies.finished import count_finished, is_summarised, read_finished, read_study

pytestmark = pytest.mark.xdist_group("studies")


@pytest.fixture
def folder(results):
    return results / "small"


def keys(results):
    return sorted(record.key for record in results.records)


def test_a_study_that_has_ended_is_read_from_its_summary(folder):
    study = read_study(folder)
    assert is_summarised(folder)
    assert count_finished(folder, study) == 12
    assert keys(read_finished(folder, study)) == keys(read_results(folder))


def test_a_study_that_runs_is_read_record_by_record(folder):
    taken = half_way(folder)
    study = read_study(folder)
    assert not is_summarised(folder)
    assert count_finished(folder, study) == 6
    gone = {path.stem for path, _ in taken}
    found = read_finished(folder, study)
    assert len(found.records) == 6
    assert not gone & set(keys(found))


def test_a_damaged_record_is_not_counted_as_finished_before_it_is_needed(folder):
    half_way(folder)
    for path in (folder / "runs").glob("*.parquet"):
        path.write_bytes(b"cut off")
    assert count_finished(folder, read_study(folder)) == 0


def test_a_summary_older_than_the_last_record_counts_until_the_records_outnumber_it(folder):
    summary = folder / "results.parquet"
    os.utime(summary, ns=(1, 1))
    assert not is_summarised(folder)
    assert count_finished(folder, read_study(folder)) == 12
    for path in list((folder / "runs").iterdir())[:5]:
        path.unlink()
    assert count_finished(folder, read_study(folder)) == 12
    assert len(read_finished(folder, read_study(folder)).records) == 12


def test_a_study_file_that_cannot_be_read_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match=r"study\.toml cannot be read"):
        read_study(tmp_path)
    (tmp_path / "study.toml").write_text("name = [")
    with pytest.raises(DataError, match=r"study\.toml cannot be read"):
        read_study(tmp_path)
