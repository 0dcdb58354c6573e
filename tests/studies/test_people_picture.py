"""The picture of who wins with which people."""

import pytest

from rankloop.studies import figures
from rankloop.studies.coverage import Coverage
from rankloop.studies.people_picture import draw_people
from rankloop.studies.specification import load_study

from .small_studies import small
from .test_people import METHODS, PEOPLE


def test_every_pair_has_a_field_and_every_row_a_winner(made_up):
    coverage = Coverage(made_up(small(*METHODS, users=PEOPLE, repeats=4)))
    [axis] = draw_people(coverage, "g").axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["noisy", "noisy (slow)", "noisy trust"]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["ROLTR", "PDGD", "MDPRank"]
    assert len(axis.texts) == 9
    framed = [patch for patch in axis.patches if not patch.get_fill()]
    assert {round(patch.get_y()) for patch in framed} == {0, 1, 2}
    assert sum("†" in text.get_text() for text in axis.texts) == 1


@pytest.mark.thorough
def test_the_study_of_people_gets_the_picture_and_no_panels_too_small_to_read(made_up):
    results = made_up(load_study("users"), keep=lambda cell: cell.seed <= 2)
    [figure] = figures.figures_for(results)
    assert figure.name == "people-people"
    assert "† The method assumes" in figure.caption
    assert figure.svg().startswith("<?xml")


def test_few_kinds_of_people_get_curves_as_well(made_up):
    names = [figure.name for figure in figures.figures_for(made_up(small(*METHODS, users=PEOPLE)))]
    assert names == ["g-people", "g-curves", "g-online"]


def test_what_is_missing_stays_empty(made_up):
    coverage = Coverage(made_up(small(*METHODS, users=PEOPLE), keep=lambda cell: cell.label != "PDGD" or cell.seed > 9))
    [axis] = draw_people(coverage, "g").axes
    assert len(axis.texts) == 6
