"""The tables of docs/paper.md are written from verdicts; nothing else on the page is touched."""

import json
import re
import shutil

import msgspec
import pyarrow as pa
import pytest
from website import paper

from rankloop.studies.claims import check
from rankloop.studies.claims.verdicts import Verdict
from rankloop.studies.held import Start
from rankloop.studies.published_runs import read_runs
from rankloop.studies.records import write_summary
from rankloop.studies.specification import load_study, to_toml


def verdict(number, decision, **more):
    given = {"sentence": "So it is.", "effect": "a − b = +0.01 ± 0.02", "p": 0.03, "detail": "Because.", "bound": ""}
    given |= {"collection": "MSLR10K", "user": "noisy", **more}
    return Verdict(number=number, verdict=decision, **given)


FOUND = {
    "synthetic": [verdict("1a", "supported"), verdict("1a", "undecided", user="perfect", bound="at most 0.004")],
    "MQ2008": [verdict("2a", "contradicted", collection="MQ2008", p=1e-9)],
}


def test_sentences_are_counted_by_folder():
    lines = paper.by_sentence(FOUND).splitlines()
    assert lines[0] == "| | sentence | synthetic | MQ2008 |"
    (first,) = (line for line in lines if line.startswith("| 1a |"))
    assert first.endswith("| 1 supported, 1 undecided | – |")
    assert len(lines) == 2 + len(paper.SENTENCES)


def test_totals_add_up():
    assert paper.totals(FOUND).splitlines()[2:] == ["| synthetic | 1 | 0 | 1 |", "| MQ2008 | 0 | 1 | 0 |"]


def test_what_is_undecided_says_how_small_it_must_be_and_what_lacks_runs_says_so():
    assert "| at most 0.004 |" in paper.undecided(FOUND)
    assert "| Because. |" in paper.undecided({"x": [verdict("3a", "undecided")]})
    assert "| < 0.0001 |" in paper.decided(FOUND, 1)


def test_only_what_stands_between_the_marks_changes():
    page = "before\n\n<!-- totals -->\n\nold\n\n<!-- end -->\n\nbetween\n\n<!-- sentences -->\n<!-- end -->\nafter\n"
    made = paper.with_tables(page, {"totals": "T \\1", "sentences": "S", "absent": "?"})
    first, second = "<!-- totals -->\n\nT \\1\n\n<!-- end -->", "<!-- sentences -->\n\nS\n\n<!-- end -->"
    assert made == f"before\n\n{first}\n\nbetween\n\n{second}\nafter\n"


def test_the_page_has_the_marks():
    page = (paper.DOCS / "paper.md").read_text(encoding="utf-8")
    assert "<!-- sentences -->" in page
    assert "<!-- totals -->" in page


def test_what_was_run_counts_runs_that_grids_share_once(made_up):
    study = load_study("quick")
    results = made_up(study)
    results.starts = (Start(("rankloop", "run", "quick")),)
    twice = [*results.records, *(msgspec.structs.replace(one, grid="again") for one in results.records)]
    results.records = twice
    (line,) = paper.what_was_run({"Quick": results}).splitlines()[2:]
    assert "[Quick](results/quick/report.md)" in line
    assert "| 60: DBGD 10, PMGD 10, COLTR 10, PDGD 10, ROLTR 10, MDPRank 10 |" in line
    assert "| 1 million | the CPU 60 | `rankloop run quick` |" in line


def test_a_page_from_the_template_has_every_table():
    template = (paper.DOCS.parent / "website" / "paper_template.md").read_text(encoding="utf-8")
    made = paper.tables(FOUND) | {"runs": "RUNS"}
    page = paper.with_tables(template, made)
    assert all(text in page for text in made.values())
    assert page.count("<!-- end -->") == len(made)


def test_parts_of_a_study_are_one_and_the_first_counts(made_up, tmp_path):
    study = load_study("quick")
    for name, keep in (("a", lambda cell: cell.seed < 3), ("b", lambda cell: cell.seed > 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.toml").write_text(to_toml(study), encoding="utf-8")
        write_summary(tmp_path / name, made_up(study, keep=keep))
    whole = paper.joined([str(tmp_path / "a"), str(tmp_path / "b")])
    assert len(whole.records) == 60


@pytest.mark.slow
def test_from_folders_come_the_page_the_reports_the_verdicts_and_the_table(made_up, tmp_path, monkeypatch):
    study, docs = load_study("rq5"), tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "study.toml").write_text(to_toml(study), encoding="utf-8")
    write_summary(tmp_path / "there", made_up(study, keep=lambda cell: cell.seed < 6))
    shutil.copy(paper.DOCS.parent / "website" / "paper_template.md", docs / "paper.md")
    monkeypatch.setattr(paper, "DOCS", docs)
    paper.main([f"Mine={tmp_path / 'there'}"])
    page = (docs / "paper.md").read_text(encoding="utf-8")
    assert "| [Mine](results/mine/report.md) | MSLR10K | 50: ROLTR 50 |" in page
    assert {one["number"] for one in json.loads((docs / "results" / "verdicts.json").read_bytes())["Mine"]} >= {
        "8a",
        "8g",
    }
    assert read_runs(docs / "results" / "runs.parquet").num_rows == 50
    assert (docs / "results" / "mine" / "report.md").exists()
    assert list((docs / "results" / "mine" / "figures").glob("*.png"))


def test_claims_but_those_about_first_impressions_are_judged_from_the_public_table(made_up, tmp_path, monkeypatch):
    docs = page_from_template(tmp_path, monkeypatch)
    few = made_up(load_study("paper"), keep=lambda cell: cell.source.name == "MSLR10K" and cell.seed <= 5)
    many = made_up(load_study("paper"), keep=lambda cell: cell.source.name == "MSLR10K")
    before = [one for one in check(few) if one.collection]
    paper.write({"Mine": before}, {})
    paper.add_runs(docs / "results" / "runs.parquet", paper.rows_of(many))
    paper.main(["--from-table"])
    after = judged(docs)
    whole = {(one.number, one.collection, one.user): one for one in check(many)}
    changed = [new.number for new, old in zip(after, before, strict=True) if new != old]
    assert {number[0] for number in changed} == {"1", "2", "3", "4", "6", "7", "8"}
    for new, old in zip(after, before, strict=True):
        assert new == (old if new.number[0] == "5" else whole[new.number, new.collection, new.user])
    assert paper.totals({"Mine": after}) in (docs / "paper.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("other", [{"data": "a tenth"}, {"impressions": 1000}, {"page_size": 5}])
def test_what_others_ran_in_another_size_is_no_part_of_the_verdicts(other, made_up, tmp_path, monkeypatch):
    docs = page_from_template(tmp_path, monkeypatch)
    some = made_up(msgspec.structs.replace(load_study("rq5"), name="paper"))
    paper.write({"Mine": [one for one in check(some) if one.collection]}, {})
    before, mine = judged(docs), paper.rows_of(some)
    small = [row | {"offline": 1 - row["offline"]} | other for row in mine.to_pylist() if row["seed"] <= 5]
    for rows in (pa.Table.from_pylist(small, schema=mine.schema), mine):
        paper.add_runs(docs / "results" / "runs.parquet", rows)
    paper.main(["--from-table"])
    assert judged(docs) == before


def page_from_template(tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    shutil.copy(paper.DOCS.parent / "website" / "paper_template.md", docs / "paper.md")
    monkeypatch.setattr(paper, "DOCS", docs)
    return docs


def judged(docs):
    return msgspec.convert(json.loads((docs / "results" / "verdicts.json").read_bytes())["Mine"], list[Verdict])


@pytest.fixture(scope="module")
def committed():
    found = json.loads((paper.DOCS / "results" / "verdicts.json").read_bytes())
    return (paper.DOCS / "paper.md").read_text(encoding="utf-8"), msgspec.convert(found, dict[str, list[Verdict]])


def test_the_page_shows_all_verdicts_with_their_effects(committed):
    page, verdicts = committed
    assert paper.with_tables(page, paper.tables(verdicts)) == page
    for one in (one for some in verdicts.values() for one in some):
        assert f"| {one.number} | {one.collection} | {one.user} | {one.effect} | " in page


def test_the_page_says_why_each_sentence_fails_that_does(committed):
    page, verdicts = committed
    why = page.partition("## Where a claim fails, and why")[2].partition("\n## ")[0]
    named = set(re.findall(r"\b[1-8][a-h]\b", " ".join(re.findall(r"^- \*\*(.*?)\*\*", why, re.MULTILINE))))
    failing = {one.number for some in verdicts.values() for one in some if one.verdict == "contradicted"}
    assert failing <= named


def test_the_page_counts_what_is_too_small_to_matter(committed):
    page, verdicts = committed
    bounds = [one.bound for some in verdicts.values() for one in some if one.verdict == "undecided"]
    small = sum("less than the margin" in bound for bound in bounds)
    assert f"Of these {len(bounds)}, {small} are smaller than the margin" in page
