"""Regret by hand: S less what was seen, ratios on the same seeds, settings that no cell chose for itself."""

import pytest
from msgspec import structs

from rankloop.studies.records import Results
from rankloop.studies.regret.findings import Skyline, Tried
from rankloop.studies.regret.measuring import choose, measure, skyline_online
from rankloop.studies.specification import Grid, Regret, Study

COLLECTIONS = ({"data": "tiny", "label": "a"}, {"data": "tiny", "label": "b"}, {"data": "tiny", "label": "c"})
LEARNERS = (
    {"learner": "ROLTR"},
    {"learner": "Posterior"},
    {"family": "tuned", "label": "x", "learner": "PDGD"},
    {"family": "tuned", "label": "y", "learner": "PDGD", "learning_rate": 0.3},
)
LEVEL = 1000.0
# x wins on a alone, by so much that it would win on the mean of all; y wins on b and c.
REGRETS = {"ROLTR": (400, 200, 300), "Posterior": (100, 100, 90), "x": (4, 150, 240), "y": (200, 100, 150)}


def study(**settings):
    grid = Grid(name="regret", learners=LEARNERS)
    plain = {"impressions": 200, "repeats": 4, "evaluate_every": 100, "collections": COLLECTIONS, "users": ("noisy",)}
    return Study(name="mine", grids=(grid,), regret=Regret(against="ROLTR"), **plain | settings)


def skylines(*names):
    return [Skyline(name, None, name, 10, 0.5, LEVEL, 0.0) for name in names or ("a", "b", "c")]


def regret_of(cell):
    mean = REGRETS[cell.label]["abc".index(cell.source.name)]
    return mean * (1 + 0.01 * (-1) ** cell.seed)


@pytest.fixture
def results(made_up) -> Results:
    return made_up(study(), online=lambda cell: LEVEL - regret_of(cell))


def test_ratios_are_those_of_mean_regrets_on_the_same_seeds(results):
    found = measure(results, skylines())
    ratios = {(row.learner, row.collection): row.ratio for row in found.rows}
    assert ratios["Posterior", "a"] == pytest.approx(100 / 400)
    assert ratios["ROLTR", "b"] == pytest.approx(1.0)
    row = next(row for row in found.of("Posterior") if row.collection == "a")
    assert row.regret == pytest.approx(100.0)
    assert row.regrets == pytest.approx((99.0, 101.0, 99.0, 101.0))
    assert row.low == pytest.approx(row.ratio)  # both vary together, seed by seed: nothing is uncertain
    assert row.high == pytest.approx(row.ratio)


def test_no_collection_has_a_say_in_its_own_setting(results):
    found = measure(results, skylines())
    assert {one.collection: one.setting for one in found.choices} == {"a": "y", "b": "x", "c": "x"}
    ratios = {row.collection: row.ratio for row in found.of("tuned")}
    assert ratios == pytest.approx({"a": 200 / 400, "b": 150 / 200, "c": 240 / 300})
    assert {one.setting: one.ratios["a"] for one in found.tried} == pytest.approx({"x": 0.01, "y": 0.5})
    assert found.tried[1].described == "PDGD, learning_rate = 0.3"


def test_a_collection_alone_gets_the_first_setting():
    tried = [Tried("tuned", "x", "", {"a": 0.9}), Tried("tuned", "y", "", {"a": 0.1})]
    one = choose("tuned", "a", tried)
    assert (one.setting, one.by_others) == ("x", False)


def test_averages_are_over_cells_and_vary_with_the_seeds(results):
    means = {one.learner: one for one in measure(results, skylines()).averages}
    assert means["Posterior"].ratio == pytest.approx((100 / 400 + 100 / 200 + 90 / 300) / 3)
    assert means["Posterior"].high == pytest.approx(means["Posterior"].low, abs=1e-9)
    assert means["Posterior"].cells == 3


def test_where_the_reference_is_at_the_skyline_there_is_no_ratio(made_up):
    def online(cell):
        return LEVEL - (2.0 if cell.source.name == "a" and cell.label == "ROLTR" else regret_of(cell))

    found = measure(made_up(study(), online=online), skylines())
    assert [row.near_zero for row in found.of("Posterior")] == [True, False, False]
    assert next(one for one in found.averages if one.learner == "Posterior").cells == 2
    assert "a" not in {place for one in found.tried for place, ratio in one.ratios.items() if ratio is not None}


def test_where_the_reference_s_regret_may_be_none_nothing_bounds_the_ratio(made_up):
    wild = made_up(study(), online=lambda cell: LEVEL - 50.0 - 200.0 * (-1) ** cell.seed * (cell.label == "ROLTR"))
    row = measure(wild, skylines()).of("Posterior")[0]
    assert (row.ratio, row.low, row.high) == (pytest.approx(1.0), None, None)


def test_runs_without_a_skyline_or_a_reference_are_left_out(results, made_up):
    assert {row.collection for row in measure(results, skylines("b")).rows} == {"b"}
    some = made_up(study(), keep=lambda cell: cell.label != "ROLTR" or cell.source.name == "c")
    assert {row.collection for row in measure(some, skylines()).rows} == {"c"}


def test_longer_runs_are_read_for_their_ends(made_up):
    ends = Grid(name="ends", learners=LEARNERS[:2], impressions=2000)
    both = structs.replace(study(), grids=(*study().grids, ends))
    found = measure(made_up(both, online=lambda cell: LEVEL - regret_of(cell)), skylines())
    assert [end.impressions for end in found.of("Posterior")[0].ends] == [200, 2000]
    assert [end.impressions for end in found.of("tuned")[0].ends] == [200]
    assert found.of("ROLTR")[0].ends == ()


def test_s_counts_pages_as_online_performance_does():
    assert skyline_online(0.5, 3) == pytest.approx(0.5 * (1 + 0.9995 + 0.9995**2))
    assert skyline_online(1.0, 100_000) == pytest.approx(2000.0)
