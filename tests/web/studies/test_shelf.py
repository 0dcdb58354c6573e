"""A study is read when it is asked for, and again when its files have changed."""

import shutil

import pytest
from study_viewing import half_way

from rankloop.web.studies import shelf as shelves
from rankloop.web.studies.shelf import Shelf

pytestmark = pytest.mark.xdist_group("studies")


def test_a_finished_study_stands_as_its_files_tell(results):
    [standing] = Shelf(results).standings()
    assert (standing.address, standing.place, standing.title) == ("small", "small", "A small study")
    assert (standing.state, standing.finished, standing.wanted, standing.trouble) == ("complete", 12, 12, "")


def test_a_study_half_way_is_in_progress_until_nothing_has_come_for_long(results, monkeypatch):
    half_way(results / "small")
    shelf = Shelf(results)
    assert (shelf.standing("small").state, shelf.standing("small").runs) == ("in progress", "6 of 12 runs")
    monkeypatch.setattr(shelves, "FRESH_SECONDS", -1)
    assert shelf.standing("small").state == "partial"


def test_an_unchanged_study_is_opened_once_and_a_changed_one_again(results):
    shelf = Shelf(results)
    before = shelf.open("small")
    assert shelf.open("small") is before
    taken = half_way(results / "small")
    after = shelf.open("small")
    assert after is not before
    assert len(after.results.records) == 12 - len(taken)
    assert after.standing.mark != before.standing.mark


def test_a_report_without_results_is_shown_as_what_it_is(results):
    folder = results / "small"
    for name in ("study.toml", "results.parquet"):
        (folder / name).unlink()
    shutil.rmtree(folder / "runs")
    opened = Shelf(results).open("small")
    assert (opened.standing.state, opened.standing.title) == ("report only", "A small study")
    assert opened.standing.runs == "12 runs"
    assert opened.results is None
    assert opened.pictures


def test_a_study_that_cannot_be_read_says_why_and_there_is_none_elsewhere(results):
    (results / "small" / "study.toml").write_text("name = [")
    opened = Shelf(results).open("small")
    assert (opened.standing.state, opened.blocks) == ("unreadable", [])
    assert "study.toml cannot be read" in opened.standing.trouble
    assert Shelf(results).open("other") is None
    assert Shelf(results).standing("other") is None


def test_only_the_last_reports_are_kept_in_memory(results, monkeypatch):
    monkeypatch.setattr(shelves, "KEPT", 1)
    shutil.copytree(results / "small", results / "again")
    shelf = Shelf(results)
    first = shelf.open("small")
    shelf.open("again")
    assert shelf.open("small") is not first
