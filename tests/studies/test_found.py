"""The runs of a study are found in its folder, with or without the collections."""

import pytest

from rankloop import load
from rankloop.studies.found import Met, find_records, group_of
from rankloop.studies.specification import cells, parse

from .small_studies import SMALL
from .test_runner import run


@pytest.mark.thorough
def test_records_are_found_without_the_collections(tmp_path):
    run(SMALL, tmp_path)
    study = parse(SMALL, "small")
    found = find_records(tmp_path, study)
    assert [(cell.label, cell.seed, cell.fold) for cell, _ in found] == [
        (cell.label, cell.seed, cell.fold) for cell in cells(study)
    ]
    at_hand = {group_of(cell): Met(load("tiny", fold=cell.fold).content_hash, 5) for cell in cells(study)}
    assert [key for _, key in find_records(tmp_path, study, at_hand)] == [key for _, key in found]


@pytest.mark.thorough
def test_records_of_other_settings_are_not_found(tmp_path):
    run(SMALL, tmp_path)
    assert find_records(tmp_path, parse(SMALL.replace("= 200", "= 300"), "small")) == []
    elsewhere = {group_of(cell): Met("another hash", 5) for cell in cells(parse(SMALL, "small"))}
    assert find_records(tmp_path, parse(SMALL, "small"), elsewhere) == []


OTHER = '{ data = "mslr-like", scale = 0.002, folds = [1, 2], label = "other" }'
TWO = SMALL.replace("folds = [1, 2] }]", f"folds = [1, 2] }}, {OTHER}]")


@pytest.mark.thorough
def test_a_collection_that_was_not_run_does_not_get_another_s_records(tmp_path):
    """With --only, say: the runs of both are alike in all but the collection."""
    assert TWO != SMALL
    run(SMALL, tmp_path)
    study = parse(TWO, "small")
    tiny = [cell for cell in cells(study) if cell.source.data == "tiny"]
    at_hand = {group_of(cell): Met(load("tiny", fold=cell.fold).content_hash, 5) for cell in tiny}
    for opened in (None, at_hand):
        assert {cell.source.name for cell, _ in find_records(tmp_path, study, opened)} == {"tiny"}
