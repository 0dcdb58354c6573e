"""A small study of regret, run: skylines are fitted once, what was found stays with the results and is shown."""

import pytest

from rankloop.engines import engine
from rankloop.studies import figures, report
from rankloop.studies.records import read_results
from rankloop.studies.regret import running, skyline
from rankloop.studies.regret.running import find_regret, places_of
from rankloop.studies.runner import claimed, make_plan, run_plan
from rankloop.studies.specification import cells, load_study, parse

SMALL = """
name = "small"
impressions = 200
repeats = 4
evaluate_every = 200
collections = [{ data = "tiny", folds = [1, 2], label = "a" }, { data = "tiny", scale = 0.5, label = "b" }]
users = ["perfect", "noisy"]
regret = { against = "ROLTR" }

[[grids]]
name = "regret"
learners = [
  { learner = "ROLTR" },
  { family = "tuned", label = "x", learner = "PDGD" },
  { family = "tuned", label = "y", learner = "PDGD", learning_rate = 0.3 },
]

[[grids]]
name = "ends"
impressions = 400
evaluate_every = 400
learners = [{ learner = "ROLTR" }]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = parse(SMALL, "small")
    plan = make_plan(study, cells(study), tmp_path_factory.mktemp("results"))
    with claimed(plan) as plan, engine("threads", 2) as place:
        outcome = run_plan(plan, place, lambda progress: None)
    return plan, outcome.results, find_regret(plan, outcome.results, ["c is left out"])


def test_there_is_a_skyline_for_each_collection_and_fold(finished):
    plan, _, found = finished
    assert [(one.collection, one.fold) for one in found.skylines] == [("a", 1), ("a", 2), ("b", None)]
    assert len(places_of(plan)) == 3
    assert all(0.6 < one.ndcg < 1.0 and one.gradient <= skyline.TOLERANCE for one in found.skylines)


def test_regret_is_what_the_records_say(finished):
    _, results, found = finished
    level = {(one.collection, one.fold): one.online for one in found.skylines}
    runs = results.select(grid="regret", collection="a", user="noisy", label="ROLTR")
    expected = sum(level["a", run.fold] - run.online_ndcg for run in runs) / 4
    row = next(row for row in found.of("ROLTR") if (row.collection, row.user) == ("a", "noisy"))
    assert row.regret == pytest.approx(expected)
    assert row.ratio == pytest.approx(1.0)


@pytest.mark.thorough
def test_the_folder_keeps_it_and_the_report_shows_it(finished):
    plan, _, found = finished
    results = read_results(plan.folder)
    assert results.regret == found
    [figure] = figures.figures_for(results)
    page = report.write(results, plan.folder)
    text = page.with_suffix(".md").read_text()
    assert figure.name == "regret"
    assert "Regret, cell by cell" in text
    assert "c is left out" in text
    assert (plan.folder / "figures" / "regret.png").is_file()


def test_skylines_are_fitted_once(finished, monkeypatch):
    plan, results, found = finished
    monkeypatch.setattr(running.skyline, "fit", lambda split: pytest.fail("it is there already"))
    assert find_regret(plan, results, ["c is left out"]) == found


def test_a_folder_where_nothing_was_measured_says_so(finished):
    plan, results, _ = finished
    unmeasured = type(results)(plan.study, results.records)
    assert figures.figures_for(unmeasured) == []
    blocks = report.blocks_for(unmeasured, [])
    assert any("Nothing has been measured yet" in getattr(block, "text", "") for block in blocks)


LABELS = ("ROLTR", "Posterior", "PairRank 0.1")


def test_the_study_that_comes_along_has_all_the_cells():
    study = load_study("regret")
    asked = cells(study)
    assert len({cell.source.name for cell in asked}) == 6
    assert len({cell.user.name for cell in asked}) == 7
    seeds = {name: {cell.seed for cell in asked if (cell.grid, cell.label) == ("regret", name)} for name in LABELS}
    assert {name: len(some) for name, some in seeds.items()} == dict.fromkeys(LABELS, 10)
    assert {cell.impressions for cell in asked} == {10_000, 100_000}
    assert {"tuned ROLTR", "tuned PDGD"} <= {one.get("family") for one in study.grids[0].learners}
