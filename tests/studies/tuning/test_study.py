"""The study file of a search runs the best settings on the test split."""

import dataclasses

import pytest

import rankloop as rl
from rankloop.errors import RankloopError
from rankloop.studies.specification import Source, cells, parse
from rankloop.studies.tuning import as_study, tune

from .searched import SMALL, TINY, made


def test_structured_settings_can_be_searched():
    curves = [rl.propensities.power_law(0.5), rl.propensities.known([1.0] * 10)]
    result = tune(rl.ROLTR(), "noisy", TINY, search={"propensities": curves}, impressions=50, repeats=1, workers=1)
    assert [candidate.learner.propensities for candidate in result.candidates] == curves
    [cell] = cells(parse(as_study(result), "tuned"))
    assert cell.learner == result.best.learner


@pytest.mark.parametrize("user", [rl.users.noisy(), rl.users.noisy(eta=0.5), rl.users.PositionBased([0.1] * 5)])
def test_the_study_file_runs_the_best_settings_on_the_test_split(user):
    result = tune(rl.ROLTR(), user, TINY, **SMALL)
    study = parse(as_study(result, repeats=3), "tuned")
    found = cells(study)
    assert {cell.learner for cell in found} == {result.best.learner}
    assert {cell.user for cell in found} == {user}
    assert [cell.seed for cell in found] == [3, 4, 5]  # after those of the search
    assert (found[0].impressions, found[0].fold, found[0].source.data) == (300, 1, "tiny")


def test_the_paper_settings_of_a_collection_do_not_overrule_the_choice():
    result = dataclasses.replace(made(1.0, 3.0, 2.0), source=Source(data="x", settings={"ROLTR": {"reward": "ips+"}}))
    [cell] = cells(parse(as_study(result), "tuned"))
    assert cell.learner == result.best.learner


def test_a_collection_without_a_name_needs_one_for_a_study():
    result = tune(rl.ROLTR(), "noisy", dataclasses.replace(TINY, name="mine"), **SMALL)
    with pytest.raises(RankloopError, match="say what it is"):
        as_study(result)
    assert 'data = "a \\"b\\""' in as_study(result, source=Source(data='a "b"'))
