"""Pairs share seed and fold; the best is told from every rival, or is tied."""

import math

import pytest
from scipy import stats

from rankloop.errors import SettingsError
from rankloop.statistics import SIMILAR
from rankloop.statistics.summaries import probability_of_improvement
from rankloop.studies import comparisons
from rankloop.studies.comparisons import Standing, against_baseline, baseline_of, require_baseline, standing
from rankloop.studies.coverage import Coverage
from rankloop.studies.records import Reading

from .tabulated import level, study

TWO = ({"learner": "PDGD"}, {"learner": "ROLTR"})
PLACE = ("g", "tiny", "noisy", "online_ndcg")


def test_p_values_agree_with_scipy_and_pairs_share_seeds(made_up):
    results = made_up(study(*TWO), online=level, keep=lambda cell: (cell.label, cell.seed) != ("PDGD", 2))
    (found,) = against_baseline(Coverage(results), "g", "online_ndcg")
    ours, theirs = results.values("online_ndcg", label="ROLTR"), results.values("online_ndcg", label="PDGD")
    assert (found.test.pairs, found.baseline) == (3, "PDGD")
    assert found.test.p == pytest.approx(stats.ttest_rel([ours[0], *ours[2:]], theirs).pvalue)
    assert found.better.value == probability_of_improvement(ours, theirs)


def test_marks_count_how_many_comparisons_there_are(made_up):
    """The same four runs of two methods: marked alone, and no longer beside two methods that differ by chance."""

    def online(cell):
        gain = {"PDGD": 0.0, "ROLTR": 0.6 + cell.seed % 3}.get(cell.label, cell.seed % 3 - 1)
        return 500.0 + 20.0 * cell.seed + gain

    others = ({"learner": "COLTR"}, {"learner": "DBGD"})
    found = {}
    for learners in (TWO, TWO + others):
        compared = against_baseline(Coverage(made_up(study(*learners), online=online)), "g", "online_ndcg")
        found[len(learners)] = next(one for one in compared if one.label == "ROLTR")
    assert found[2].test.p == found[4].test.p < 0.05 < found[4].corrected_p
    assert (found[2].mark, found[4].mark) == ("△", "")


def test_runs_of_other_folds_are_no_pairs(made_up):
    folds = {"data": "tiny", "folds": [1, 2]}
    results = made_up(study(*TWO, collection=folds), online=level)
    whole = against_baseline(Coverage(results), "g", "online_ndcg")[0]
    assert (whole.test.pairs, whole.test.folds) == (4, 2)
    results.records = [record for record in results.records if (record.label == "PDGD") == (record.fold == 1)]
    apart = against_baseline(Coverage(results), "g", "online_ndcg")[0]
    assert apart.test.pairs == 0
    assert math.isnan(apart.test.p)
    assert apart.mark == ""


def test_the_baseline_is_a_label_a_method_or_the_papers(made_up):
    learners = ({"learner": "PDGD", "label": "slow"}, {"learner": "ROLTR"}, {"learner": "COLTR"})
    results = made_up(study(*learners))
    coverage = Coverage(results)
    found = {}
    for wanted in (None, "COLTR", "PDGD", "slow", "DBGD"):
        results.reading = Reading(against=wanted)
        found[wanted] = baseline_of(coverage, "g")
    assert found == {None: "slow", "COLTR": "COLTR", "PDGD": "slow", "slow": "slow", "DBGD": None}


def test_an_unknown_baseline_is_refused_with_what_there_is():
    require_baseline(None, [])
    require_baseline("slow", [("slow", "PDGD")])
    with pytest.raises(SettingsError, match="--against 'DBGD': there are no such runs; choose from 'slow', 'PDGD'"):
        require_baseline("DBGD", [("slow", "PDGD")])


def test_the_best_is_told_from_every_rival_or_tied(made_up):
    sure = Coverage(made_up(study(), online=level))
    assert standing(sure, *PLACE) == Standing(best="ROLTR")
    # PDGD as good as ROLTR on average, seed by seed now better, now worse.
    tied = made_up(study(), online=lambda cell: level(cell) + (cell.label == "PDGD") * (19 + 9 * (cell.seed % 2)))
    unsure = standing(Coverage(tied), *PLACE)
    assert (unsure.best, set(unsure.tied)) == ("", {"ROLTR", "PDGD"})
    assert (unsure.mark("PDGD"), unsure.mark("COLTR")) == (comparisons.TIED, "")


def test_one_run_each_tells_nothing(made_up):
    assert standing(Coverage(made_up(study(repeats=1), online=level)), *PLACE) == Standing()
    assert standing(Coverage(made_up(study({"learner": "ROLTR"}))), *PLACE) == Standing()


def test_a_method_with_a_single_run_is_tied_with_nobody(made_up):
    single = made_up(study(), keep=lambda cell: cell.label != "PDGD" or cell.seed == 1, online=level)
    assert standing(Coverage(single), *PLACE).mark("PDGD") == ""
    assert standing(Coverage(single), *PLACE).best == ""


def test_what_holds_here_need_not_hold_elsewhere(made_up):
    """ROLTR leads on both folds, by far more on one: on these folds for sure, on similar ones perhaps."""

    def online(cell):
        return 500.0 + cell.seed + (cell.label == "ROLTR") * (10.0 + 80.0 * (cell.fold == 2) + cell.seed % 3)

    results = made_up(study(*TWO, collection={"data": "tiny", "folds": [1, 2]}, repeats=6), online=online)
    assert standing(Coverage(results), *PLACE).best == "ROLTR"
    results.reading = Reading(SIMILAR)
    assert set(standing(Coverage(results), *PLACE).tied) == {"ROLTR", "PDGD"}
    (found,) = against_baseline(Coverage(results), "g", "online_ndcg")
    assert found.better.value == 1.0
    assert math.isnan(found.better.low)
