"""The numbers of a report: means with intervals, tests, and what is missing."""

import pytest
from scipy import stats

from rankloop.display import MISSING
from rankloop.statistics import interval
from rankloop.studies import formats, tables
from rankloop.studies.coverage import Coverage
from rankloop.studies.specification import Source

from .tabulated import cell_of, grid_table, level, online_table, study


def test_online_numbers_are_means_with_intervals_and_the_best_click_learner_stands_out(made_up):
    results = made_up(study(), online=level)
    table = online_table(results)
    mean, half = interval(results.values("online_ndcg", label="ROLTR"))
    assert cell_of(table, "ROLTR") == tables.Entry(f"{mean:.2f} ± {half:.2f}", best=True, mark="▲")
    assert not cell_of(table, "MDPRank").best
    assert [row[1].text for row in table.rows] == ["COLTR", "PDGD", "ROLTR", "MDPRank"]


def test_p_values_agree_with_scipy_and_pairs_share_seeds(made_up):
    results = made_up(study(), online=level, keep=lambda cell: (cell.label, cell.seed) != ("PDGD", 2))
    (found,) = tables.significance(Coverage(results), "g")
    ours, theirs = results.values("online_ndcg", label="ROLTR"), results.values("online_ndcg", label="PDGD")
    assert found.test.welch_p == pytest.approx(stats.ttest_ind(ours, theirs, equal_var=False).pvalue)
    assert found.pairs == 3
    assert found.test.paired_p == pytest.approx(stats.ttest_rel([ours[0], *ours[2:]], theirs).pvalue)


@pytest.mark.parametrize(("gain", "mark"), [(100.0, "▲"), (-100.0, "▼"), (0.0, "")])
def test_marks_tell_gains_from_losses(made_up, gain, mark):
    results = made_up(study(), online=lambda cell: 500.0 + cell.seed + gain * (cell.label == "ROLTR"))
    assert cell_of(online_table(results), "ROLTR").mark == mark


def test_published_numbers_stand_beside_the_real_collection_only(made_up):
    real = Source(data="mslr-web10k", label="MSLR10K", stands_for="mslr-web10k")
    synthetic = Source(data="mslr-like", label="MSLR10K", stands_for="mslr-web10k")
    for source, shown in ((real, True), (synthetic, False)):
        table = online_table(made_up(study(collection=_plain(source))))
        assert ("MSLR10K, published" in [column.heading for column in table.columns]) is shown
        assert ("543.28 ▲" in formats.markdown(table)) is shown
        assert any("Published" in note for note in table.notes) is shown


def test_a_variant_of_a_method_has_no_published_number(made_up):
    real = Source(data="mslr-web10k", label="MSLR10K", stands_for="mslr-web10k")
    learners = ({"learner": "PDGD"}, {"learner": "ROLTR", "reward": "ips+", "label": "ROLTR, ips+"})
    table = online_table(made_up(study(*learners, collection=_plain(real))))
    assert cell_of(table, "PDGD", 3).text == "516.77"
    assert cell_of(table, "ROLTR, ips+", 3).text == MISSING


def test_missing_runs_are_told(made_up):
    results = made_up(study(repeats=15), keep=lambda cell: cell.label != "PDGD" or cell.seed <= 3)
    assert cell_of(online_table(results), "PDGD").text.endswith("(3 of 15 runs)")
    table = grid_table(results)
    assert [row[-1].text for row in table.rows] == ["15 runs", "3 of 15 runs", "15 runs", "15 runs"]


def test_what_was_not_run_at_all_is_named(made_up):
    table = grid_table(made_up(study(), keep=lambda cell: cell.label != "PDGD"))
    assert "Not run: PDGD." in table.notes


def test_a_single_run_has_no_interval_and_no_mark(made_up):
    results = made_up(study(repeats=1), online=level)
    for _, table in tables.tables_for(results):
        assert "±" not in formats.markdown(table)
        assert "nan" not in formats.markdown(table)
    assert cell_of(online_table(results), "ROLTR").mark == ""


def test_one_learner_alone_is_not_the_best(made_up):
    made = tables.tables_for(made_up(study({"learner": "ROLTR"})))
    assert len(made) == 1
    assert not any(cell.best for row in made[0][1].rows for cell in row)


def test_without_evaluation_offline_numbers_are_missing(made_up):
    table = grid_table(made_up(study({"learner": "ROLTR"}, evaluate_every=0)))
    assert [cell.text for cell in table.rows[0][-2:]] == [MISSING, MISSING]


def test_names_stay_on_one_line(made_up):
    learners = ({"learner": "ROLTR", "label": "a\nb\x1b[31m\u202ec"}, {"learner": "PDGD"})
    assert grid_table(made_up(study(*learners))).rows[0][2].text == "a b[31mc"


def _plain(source):
    return {"data": source.data, "label": source.label, "stands_for": source.stands_for}


def test_holm_corrects_the_p_that_stands_beside_it(made_up):
    """Seeds differ far more than methods do: the paired test is sure where Welch's sees little."""
    gains = {"perfect": 4.0, "noisy": 40.0}

    def online(cell):
        return 500.0 + 20.0 * cell.seed + (gains[cell.user.name] + cell.seed % 2) * (cell.label == "ROLTR")

    results = made_up(study(users=("perfect", "noisy")), online=online)
    [table] = [table for _, table in tables.tables_for(results) if table.name == "g-significance"]
    shown = {row[1].text: [cell.text for cell in row[4:7]] for row in table.rows}
    welch = {
        user: stats.ttest_ind(
            results.values("online_ndcg", label="ROLTR", user=user),
            results.values("online_ndcg", label="PDGD", user=user),
            equal_var=False,
        ).pvalue
        for user in gains
    }
    assert welch["noisy"] < welch["perfect"]
    # Of two tests the smaller p is doubled, the larger one stays (and is not below the other).
    corrected = {"noisy": min(1, 2 * welch["noisy"]), "perfect": max(welch["perfect"], min(1, 2 * welch["noisy"]))}
    for user in gains:
        assert shown[user][0] == tables.p_value(welch[user])
        assert shown[user][1] == tables.p_value(corrected[user])
        assert shown[user][2] not in shown[user][:2]
