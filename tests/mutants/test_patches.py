"""The list of wrong changes fits the sources as they are, so that `make mutate` can begin at any time."""

import pytest

from .patches import complaints, load


@pytest.mark.slow
def test_every_original_stands_in_its_file_exactly_once_and_every_change_is_one():
    assert complaints(load()) == []


def test_every_mutant_says_what_is_wrong_in_a_sentence():
    for mutant in load():
        assert mutant.wrong.endswith("."), mutant.name
        assert mutant.tests, mutant.name


def test_a_verdict_rests_on_every_test_of_a_folder_that_is_tried_first(tmp_path):
    mutant = next(mutant for mutant in load() if mutant.tests == ("tests/metrics",))
    source, test = mutant.source(tmp_path), tmp_path / "tests" / "metrics" / "test_ndcg.py"
    for file in (source, test):
        file.parent.mkdir(parents=True)
        file.write_text("")
    before = mutant.key(tmp_path)
    test.write_text("assert True")
    assert mutant.key(tmp_path) != before
