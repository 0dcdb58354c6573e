"""What was found out is read back as it was written; what is unbounded has no number."""

from rankloop.studies.regret.findings import (
    FILE,
    Average,
    Choice,
    End,
    Findings,
    Row,
    Skyline,
    Tried,
    read_findings,
    write_findings,
)


def findings(**changed):
    """ROLTR, a learner of one setting and one of two, in two cells."""
    ends = (End(200, 0.41, 0.40, -0.001, 0.021, "holds"), End(2000, 0.40, 0.42, None, None, "unresolved"))
    rows = []
    for collection, reference in (("a", 50.0), ("b", 80.0)):
        rows.append(Row(collection, "noisy", "ROLTR", "ROLTR", 10, reference, reference, 1.0, 1.0, 1.0))
        rows.append(Row(collection, "noisy", "New", "New", 10, 0.4 * reference, reference, 0.4, 0.35, 0.45, ends=ends))
        rows.append(Row(collection, "noisy", "tuned", "fast", 10, 1.6 * reference, reference, 1.6, 0.9, None))
    plain = {
        "against": "ROLTR", "margin": 0.005, "impressions": 200, "seeds": 10,
        "skylines": (Skyline("a", 1, "hash", 10, 0.7, 133.0, 1e-7), Skyline("b", None, "other", 10, 0.6, 114.0, 1e-7)),
        "rows": tuple(rows),
        "averages": (Average("ROLTR", 2, 1.0, 1.0, 1.0), Average("New", 2, 0.4, 0.37, 0.43),
                     Average("tuned", 2, 1.6, None, None)),
        "tried": (Tried("tuned", "slow", "PDGD", {"a": 1.7, "b": 1.8}),
                  Tried("tuned", "fast", "PDGD, learning_rate = 0.3", {"a": 1.6, "b": None})),
        "choices": (Choice("tuned", "a", "fast", True), Choice("tuned", "b", "fast", True)),
    }  # fmt: skip
    return Findings(**plain | changed)


def test_they_are_read_back_as_they_were(tmp_path):
    found = findings(left_out=("c is left out",))
    write_findings(tmp_path, found)
    assert read_findings(tmp_path) == found


def test_a_folder_without_them_has_none(tmp_path):
    assert read_findings(tmp_path) is None
    (tmp_path / FILE).write_text("{}")
    assert read_findings(tmp_path) is None
    (tmp_path / FILE).write_bytes(b'{"against": "\xff"}')
    assert read_findings(tmp_path) is None


def test_learners_and_cells_come_in_the_order_of_the_study():
    found = findings()
    assert found.learners == ["ROLTR", "New", "tuned"]
    assert found.cells == [("a", "noisy"), ("b", "noisy")]
    assert [row.collection for row in found.of("New")] == ["a", "b"]


def test_on_how_many_seeds_learners_were_compared_is_said():
    assert findings().shared_seeds == "10 seeds"
    assert findings(seeds=30).shared_seeds == "30 seeds, or the first 10 of them"
