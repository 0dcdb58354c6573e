"""A results folder says how it was started, and which of its records a report leaves out."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.studies.held import Start, left_out, note_start, read_starts

NOISY, PERFECT, WHOLE = Start(only=("noisy",)), Start(only=("perfect",)), Start(command=("rankloop", "run", "rq2"))


def test_starts_of_the_same_study_add_up_and_another_study_begins_anew(tmp_path):
    assert read_starts(tmp_path) == ()
    for start in (NOISY, PERFECT, NOISY):
        note_start(tmp_path, "study", start)
        (tmp_path / "study.toml").write_text("study")
    assert read_starts(tmp_path) == (NOISY, PERFECT)
    note_start(tmp_path, "another", WHOLE)
    assert read_starts(tmp_path) == (WHOLE,)


def test_a_folder_without_starts_or_with_damaged_ones_has_none(tmp_path):
    (tmp_path / "started.json").write_text("{")
    assert read_starts(tmp_path) == ()


def kept(folder, key, data="tiny", impressions=200, seed=1, rate=0.1):
    """A record, as far as it matters here; its settings."""
    settings = {
        "data": {"name": data, "hash": f"of {data}", "grades": 5},
        "impressions": impressions,
        "seed": seed,
        "learner": {"rate": rate},
    }
    (folder / "runs").mkdir(exist_ok=True)
    pq.write_table(pa.table({"settings": [json.dumps(settings)]}), folder / "runs" / f"{key}.parquet")
    return settings


def asked_of_none(grades):
    """A study that asks for nothing beside what is shown."""
    return []


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"data": "MQ2008"}, "on MQ2008 (--data may name several collections)"),
        ({"impressions": 5000}, "of 5,000 impressions"),
        ({"seed": 7}, "with other seeds"),
        ({"rate": 0.2}, "with other settings"),
        ({}, "of other sources (the code has changed since)"),
    ],
)
def test_what_is_left_out_is_told_with_the_reason(tmp_path, other, reason):
    shown = {"shown": kept(tmp_path, "shown")}
    assert left_out(tmp_path, shown, asked_of_none) == ""
    kept(tmp_path, "one", **other)
    assert left_out(tmp_path, shown, asked_of_none) == f"1 run {reason}"
    kept(tmp_path, "two", data="elsewhere")
    both = f"1 run {reason} and 1 run on elsewhere (--data may name several collections)"
    assert left_out(tmp_path, shown, asked_of_none) == both


def test_an_earlier_run_of_what_fails_now_has_the_settings_that_are_asked_for(tmp_path):
    shown = {"shown": kept(tmp_path, "shown")}
    failed = kept(tmp_path, "earlier", rate=0.2) | {"data": ""}
    kept(tmp_path, "another", rate=0.3)
    reasons = "1 run with other settings and 1 run of other sources (the code has changed since)"
    assert left_out(tmp_path, shown, {5: [failed]}.get) == reasons


def test_a_damaged_record_is_counted_too(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "broken.parquet").write_bytes(b"no")
    (tmp_path / "runs" / ".half.parquet").write_bytes(b"not finished")
    assert left_out(tmp_path, {}, asked_of_none) == "1 run that cannot be read"
