"""`rankloop study`: those of the paper, and a new one that can be run as it is."""

import json

from rankloop.studies.specification import cells, load_study


def test_the_studies_of_the_paper_are_listed_with_their_questions(rankloop):
    code, out, _ = rankloop("study", "list", "--json")
    assert code == 0
    listed = {study["name"]: study["question"] for study in json.loads(out)}
    assert {"quick", "rq1", "paper"} <= set(listed)
    assert all(listed.values())


def test_what_is_shown_is_a_study_that_can_be_read_again(rankloop, tmp_path):
    code, text, _ = rankloop("study", "show", "quick")
    assert code == 0
    (tmp_path / "copy.toml").write_text(text)
    assert cells(load_study(str(tmp_path / "copy.toml"))) == cells(load_study("quick"))
    assert rankloop("study", "show", tmp_path / "copy.toml")[1] == text


def test_a_new_study_can_be_run_as_it_is_and_is_never_overwritten(rankloop, tmp_path):
    code, out, _ = rankloop("study", "new", tmp_path / "mine.toml")
    assert code == 0
    assert "rankloop run" in out
    written = (tmp_path / "mine.toml").read_text()
    assert (load_study(str(tmp_path / "mine.toml")).name, len(cells(load_study(str(tmp_path / "mine.toml"))))) == (
        "mine",
        30,
    )
    code, _, said = rankloop("study", "new", tmp_path / "mine.toml")
    assert code == 2
    assert "already exists" in said
    assert (tmp_path / "mine.toml").read_text() == written


def test_a_study_that_cannot_be_written_is_a_sentence(rankloop, tmp_path):
    code, _, said = rankloop("study", "new", tmp_path / "nowhere" / "mine.toml")
    assert code == 2
    assert "cannot write" in said
