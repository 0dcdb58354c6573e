"""The numbers of a report: means with intervals, tests, and what is missing."""

import pytest
from scipy import stats

from rankloop.display import MISSING
from rankloop.statistics import SIMILAR, THIS, interval
from rankloop.statistics.summaries import interquartile_mean_interval
from rankloop.studies import formats, tables
from rankloop.studies.records import Reading
from rankloop.studies.specification import Source

from .tabulated import cell_of, grid_table, level, online_table, study


def test_online_numbers_are_means_with_intervals_and_the_best_click_learner_stands_out(made_up):
    results = made_up(study(), online=level)
    table = online_table(results)
    mean, half = interval(results.values("online_ndcg", label="ROLTR"))
    assert cell_of(table, "ROLTR") == tables.Entry(f"{mean:.2f} ± {half:.2f}", best=True, mark="▲")
    assert not cell_of(table, "MDPRank").best
    assert [row[1].text for row in table.rows] == ["COLTR", "PDGD", "ROLTR", "MDPRank"]


@pytest.mark.parametrize(("gain", "mark"), [(100.0, "▲"), (-100.0, "▼"), (0.0, "≈")])
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
    assert "No finished run: PDGD." in table.notes


def test_a_single_run_has_no_interval_and_no_mark(made_up):
    results = made_up(study(repeats=1), online=level)
    for _, table in tables.tables_for(results):
        assert "±" not in formats.markdown(table)
        assert "nan" not in formats.markdown(table)
    assert cell_of(online_table(results), "ROLTR").mark == ""


def test_one_learner_alone_is_not_the_best(made_up):
    made = tables.tables_for(made_up(study({"learner": "ROLTR"})))
    assert [table.name for _, table in made] == ["g-summary", "g-quartiles"]
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
    """Seeds differ far more than methods do: the paired test is sure where Welch's would see little."""
    gains = {"perfect": 0.9, "noisy": 40.0}

    def online(cell):
        return 500.0 + 20.0 * cell.seed + (gains[cell.user.name] + cell.seed % 3) * (cell.label == "ROLTR")

    results = made_up(study({"learner": "PDGD"}, {"learner": "ROLTR"}, users=("perfect", "noisy")), online=online)
    table = table_named(results, "g-against-online")
    shown = {row[1].text: [cell.text for cell in row[4:6]] for row in table.rows}
    paired = {
        user: stats.ttest_rel(
            results.values("online_ndcg", label="ROLTR", user=user),
            results.values("online_ndcg", label="PDGD", user=user),
        ).pvalue
        for user in gains
    }
    assert paired["noisy"] < paired["perfect"] / 2
    # Of two tests the smaller p is doubled, the larger one stays.
    assert shown["noisy"] == [tables.p_value(paired["noisy"]), tables.p_value(2 * paired["noisy"])]
    assert shown["perfect"] == [tables.p_value(paired["perfect"])] * 2


def table_named(results, name):
    return next(table for _, table in tables.tables_for(results) if table.name == name)


def test_means_that_cannot_be_told_apart_are_shown_as_tied(made_up):
    """COLTR is behind for sure; ROLTR's lead over PDGD changes sign from seed to seed."""
    wobble = {1: 3.0, 2: -2.0, 3: 4.0, 4: -3.0}

    def online(cell):
        return (
            level(cell) if cell.label in ("COLTR", "MDPRank") else 500.0 + wobble[cell.seed] * (cell.label == "ROLTR")
        )

    table = online_table(made_up(study(), online=online))
    assert {row[1].text: (row[2].best, row[2].mark) for row in table.rows} == {
        "COLTR": (False, "▼"),
        "PDGD": (False, "≈"),
        "ROLTR": (False, "≈"),
        "MDPRank": (False, "▲"),
    }
    assert tables.TIES in table.all_notes
    assert not any(note.startswith("Bold") for note in table.all_notes)


@pytest.mark.parametrize(("to", "words"), [(THIS, "folds fixed, seeds random"), (SIMILAR, "folds random")])
def test_captions_say_what_is_generalised_to(made_up, to, words):
    results = made_up(study(collection={"data": "tiny", "folds": [1, 2]}), online=level)
    results.reading = Reading(to)
    for name in ("g-online", "g-summary", "g-against-online", "g-against-offline"):
        assert words in " ".join(table_named(results, name).all_notes)
    folds = [record.fold for record in results.select(label="ROLTR")]
    mean, half = interval(results.values("online_ndcg", label="ROLTR"), folds, generalise_to=to)
    assert cell_of(online_table(results), "ROLTR").text == f"{mean:.2f} ± {half:.2f}"


def test_any_method_or_label_can_be_the_baseline(made_up):
    results = made_up(study(), online=level)
    results.reading = Reading(against="COLTR")
    table = table_named(results, "g-against-offline")
    assert [row[2].text for row in table.rows] == ["PDGD − COLTR", "ROLTR − COLTR", "MDPRank − COLTR"]
    rewards = study({"learner": "ROLTR", "label": "a"}, {"learner": "ROLTR", "reward": "ips+", "label": "b"})
    alone = made_up(rewards)
    assert not any("against" in table.name for _, table in tables.tables_for(alone))
    alone.reading = Reading(against="b")
    assert [row[2].text for row in table_named(alone, "g-against-online").rows] == ["a − b"]


def test_interquartile_means_stand_beside_the_means(made_up):
    results = made_up(study(repeats=6), online=level)
    row = next(row for row in table_named(results, "g-quartiles").rows if row[2].text == "ROLTR")
    middle = interquartile_mean_interval(results.values("online_ndcg", label="ROLTR"))
    assert row[3].text == f"{middle.value:.1f} ({middle.low:.1f} to {middle.high:.1f})"
    results.reading = Reading(SIMILAR)
    row = next(row for row in table_named(results, "g-quartiles").rows if row[2].text == "ROLTR")
    assert row[3].text == f"{middle.value:.1f}"
    assert not any(table.name == "g-quartiles" for _, table in tables.tables_for(made_up(study(repeats=3))))
