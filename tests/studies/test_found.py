"""The runs of a study are found in its folder, with or without the collections."""

from rankloop import load
from rankloop.studies.found import Met, find_records, group_of
from rankloop.studies.specification import cells, parse

from .small_studies import SMALL
from .test_runner import run


def test_records_are_found_without_the_collections(tmp_path):
    run(SMALL, tmp_path)
    study = parse(SMALL, "small")
    found = find_records(tmp_path, study)
    assert [(cell.label, cell.seed, cell.fold) for cell, _ in found] == [
        (cell.label, cell.seed, cell.fold) for cell in cells(study)
    ]
    at_hand = {group_of(cell): Met(load("tiny", fold=cell.fold).content_hash, 5) for cell in cells(study)}
    assert [key for _, key in find_records(tmp_path, study, at_hand)] == [key for _, key in found]


def test_records_of_other_settings_are_not_found(tmp_path):
    run(SMALL, tmp_path)
    assert find_records(tmp_path, parse(SMALL.replace("= 200", "= 300"), "small")) == []
    elsewhere = {group_of(cell): Met("another hash", 5) for cell in cells(parse(SMALL, "small"))}
    assert find_records(tmp_path, parse(SMALL, "small"), elsewhere) == []
