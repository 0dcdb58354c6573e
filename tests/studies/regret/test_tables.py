"""Tables and sentences say what was found: bars, worst cells, S beside every table, who chose which setting."""

import msgspec

from rankloop.studies.regret.findings import End, Row
from rankloop.studies.regret.picture import caption
from rankloop.studies.regret.tables import sentences, tables_for, with_intervals, worst

from .test_findings import findings


def by_name(found):
    return {table.name: table for table in tables_for(found)}


def texts(table):
    return [[entry.plain for entry in row] for row in table.rows]


def test_every_table_of_regret_has_s_beside_it():
    made = by_name(findings())
    for name in ("regret-averages", "regret-ratios", "regret-ends-200", "regret-ends-2000"):
        assert any("S, what the skyline would have shown: a 133.0, b 114.0." in note for note in made[name].notes)
    assert texts(made["regret-skylines"])[0] == ["a", "1", "0.7000", "133.0", "1.0e-07"]


def test_averages_have_the_bars_and_the_worst_cell():
    assert texts(by_name(findings())["regret-averages"]) == [
        ["New", ".40 (.37 to .43)", "2 of 2", "2 of 2", ".40 (.35 to .45) noisy on a"],
        ["tuned", "1.60", "0 of 2", "0 of 2", "1.60 noisy on a"],
    ]


def test_bold_is_what_ends_below_every_other():
    table = by_name(findings())["regret-ratios"]
    assert texts(table)[0] == ["a", "noisy", "50.0", ".40 (.35 to .45)", "1.60"]
    assert [entry.best for entry in table.rows[0]] == [False, False, False, True, False]


def test_ends_have_a_verdict_and_only_learners_that_have_one():
    made = by_name(findings())
    assert texts(made["regret-ends-200"])[0] == ["a", "noisy", "0.4000", "+0.010 (−0.001 to +0.021) holds"]
    assert texts(made["regret-ends-2000"])[0][3] == "−0.020 unresolved"


def test_a_verdict_over_few_seeds_says_so_wherever_it_stands():
    def with_seeds(seeds):
        ends = (End(2000, 0.40, 0.42, -0.03, -0.01, "fails", seeds),)
        rows = [msgspec.structs.replace(row, ends=ends if row.ends else ()) for row in findings().rows]
        found = findings(rows=tuple(rows))
        return texts(by_name(found)["regret-ends-2000"])[0][3], sentences(found)[0]

    entry, sentence = with_seeds(2)
    assert entry == "−0.020 (−0.030 to −0.010) fails (2 seeds)"
    assert "Ends after 2,000 impressions (2 seeds): 0 hold, 0 unresolved, 2 fail." in sentence
    for enough in (10, 0):  # 0: nobody wrote it down
        entry, sentence = with_seeds(enough)
        assert entry.endswith("fails")
        assert "Ends after 2,000 impressions: 0 hold" in sentence


def test_an_end_after_few_impressions_is_called_early_and_has_no_colour():
    made = by_name(findings())
    early, late = made["regret-ends-200"], made["regret-ends-2000"]
    assert any("nothing has ended" in note for note in early.notes)
    assert not any("nothing has ended" in note for note in late.notes)
    assert early.rows[0][3].tone == ""
    assert late.rows[0][3].tone == "undecided"


def test_intervals_are_promised_where_there_are_some():
    found = findings()
    bare = [msgspec.structs.replace(row, low=None, high=None) for row in found.rows]
    none = msgspec.structs.replace(found, rows=tuple(bare))
    assert with_intervals(found) == "with Fieller’s 95 % interval where it is bounded"
    assert with_intervals(none) == "without intervals, because Fieller’s are unbounded over so few seeds"
    assert with_intervals(none) in caption(none)
    assert any(with_intervals(none) in note for note in by_name(none)["regret-ratios"].notes)


def test_settings_say_where_they_were_used():
    table = by_name(findings())["regret-settings"]
    assert texts(table) == [["tuned", "PDGD", "1.70", "1.80"], ["tuned", "PDGD, learning_rate = 0.3", "1.60", "–"]]
    assert [[entry.best for entry in row[2:]] for row in table.rows] == [[False, False], [True, True]]
    assert any("best on average over all others" in note for note in table.notes)


def test_sentences_name_the_worst_cells_and_what_is_left_out():
    new, tuned, left = sentences(findings(left_out=("c is left out: why",)))
    assert new.startswith("New: .40 (.37 to .43) of ROLTR’s regret on average over 2 cells; at most .50 in 2")
    assert "worst: noisy on a .40 and noisy on b .40" in new
    assert "Ends after 200 impressions: 2 hold, 0 unresolved, 0 fail." in new
    assert "Ends after 2,000 impressions: 0 hold, 2 unresolved, 0 fail." in new
    assert "1.60" in tuned
    assert left == "c is left out: why"


def test_where_a_learner_was_not_run_is_said():
    some = tuple(row for row in findings().rows if (row.learner, row.collection) != ("tuned", "b"))
    assert sentences(findings(rows=some))[1].endswith("Not run on b.")


def test_a_cell_without_a_ratio_is_named():
    silent = Row("d", "perfect", "New", "New", 10, 1.0, 0.5, near_zero=True)
    found = findings(rows=(*findings().rows, silent))
    assert sentences(found)[-1].endswith("there is no ratio, with perfect on d.")
    assert texts(by_name(found)["regret-ratios"])[-1] == ["d", "perfect", "–", "–", "–"]
    assert [row.collection for row in worst(found.of("New"))] == ["a", "b"]
