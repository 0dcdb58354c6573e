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
