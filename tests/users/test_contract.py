"""The verbs of the loop: what has no compiled implementation is refused by name, not run as something else."""

from typing import Annotated, NamedTuple

import pytest

from rankloop.data.collection import Collection, Split
from rankloop.errors import SettingsError
from rankloop.learners.contract import learn, show
from rankloop.rankers.contract import ascend, score, score_several
from rankloop.settings import whole_number
from rankloop.users import User, drift
from rankloop.users.contract import click


class Nobody(NamedTuple):
    value: float = 0.0


@pytest.mark.parametrize("verb", [click, show, learn, score, score_several, ascend], ids=lambda verb: verb.__name__)
def test_a_verb_without_an_implementation_says_for_what(verb):
    arguments = [Nobody()] + [None] * (verb.__code__.co_argcount - 1)
    with pytest.raises(TypeError, match=f"no compiled {verb.__name__} is registered for Nobody"):
        verb(*arguments)


class Patient(User, frozen=True):
    """Somebody's own kind of people."""

    depth: Annotated[int, whole_number(at_least=1)] = 3
    calm: bool = True


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"depth": 0}, "Patient: depth must be a whole number, at least 1; got 0"),
        ({"depth": 2.5}, "Patient: depth must be a whole number, at least 1; got 2.5"),
        ({"calm": "yes"}, "Patient: calm must be True or False; got 'yes'"),
        ({"name": 7}, "Patient: name must be text; got 7"),
    ],
)
def test_people_of_ones_own_are_held_to_the_rules_of_their_settings(settings, sentence):
    with pytest.raises(SettingsError, match=sentence):
        Patient(**settings)
    assert Patient(depth=2).depth == 2


@pytest.mark.parametrize("over", [-1, 0.5, "long"])
def test_a_rule_is_checked_before_the_setting_is_used(over):
    with pytest.raises(SettingsError, match="Drift: over must be a whole number, at least 0"):
        drift(["perfect", "noisy", "perfect"], at=[5, 10], over=over)


class FiveGrades(User, frozen=True):
    """Somebody who says for how many grades there are tables."""

    grades = 5


class Empty(User, frozen=True):
    """Somebody who says nothing of what they do."""


def test_a_person_with_tables_for_other_grades_than_a_collection_has_is_refused():
    split = Split.of(features=[[0.0], [1.0]], grades=[2, 0], queries=[1, 1])
    with pytest.raises(SettingsError, match=r"'five grades' has a table for 5 grades, but three has 3 \(0 to 2\)"):
        FiveGrades().on(Collection("three", split, split))


def test_a_person_without_any_part_is_told_which():
    with pytest.raises(SettingsError, match=r"Empty needs a method behaviour\(page_size, split\) or compiled\("):
        Empty().compiled(10)
