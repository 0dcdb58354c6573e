"""The page's results are replaced, and nothing else; raw figures say which commit and machine they come from."""

import json

import pytest
from msgspec.structs import replace
from tests.studies.regret.test_findings import findings

from benchmarks.regret import __main__ as regret
from rankloop.studies.regret.findings import write_findings


def test_only_what_stands_between_the_marks_is_written(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(regret.subprocess, "run", lambda words, **_: commands.append(words) or Done())
    (tmp_path / "data" / "MQ2008").mkdir(parents=True)
    write_findings(tmp_path, findings())
    page = tmp_path / "regret.md"
    page.write_text(f"before\n{regret.BEGIN}yesterday’s\n{regret.END}after\n")
    where = ["--data", str(tmp_path / "data"), "--results", str(tmp_path), "--out", str(page)]
    regret.main(
        [*where, "--json", str(tmp_path / "figures.json"), "--picture", str(tmp_path / "kept.png"), "--repeats", "2"]
    )
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "yesterday" not in text
    assert "- New: .40" in text
    assert "](images/kept.png)" in text
    assert (tmp_path / "kept.png").read_bytes().startswith(b"\x89PNG")
    assert "**Regret, cell by cell**" in text
    assert "At commit abc1234, " in text
    asked = commands[0]
    assert asked[asked.index("--repeats") + 1] == "2"
    assert f"mq2008={tmp_path / 'data' / 'MQ2008'}" in asked
    assert not any("clueweb09" in word for word in asked)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["commit"] == "abc1234"
    assert figures["found"]["against"] == "ROLTR"


def test_learners_that_were_not_run_are_taken_from_an_earlier_study_with_the_same_reference():
    kept = findings()
    first, *_ = kept.rows
    other = replace(
        kept, rows=tuple(replace(row, learner="Another") if row.learner != kept.against else row for row in kept.rows)
    )
    together = regret.joined(kept, other)
    assert together.learners == [*kept.learners, "Another"]
    assert together.of(kept.learners[-1]) == kept.of(kept.learners[-1])
    changed = replace(first, regrets=(*first.regrets, 1.0))
    with pytest.raises(AssertionError, match="other runs"):
        regret.joined(kept, replace(other, rows=(changed, *other.rows[1:])))


class Done:
    stdout = "abc1234\n"
