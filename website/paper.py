"""What docs/paper.md says of the paper's claims, written from results folders.

    python -m website.paper synthetic=results/synthetic MQ2008=results/mq2008+results/mq2008-cpu …

writes the tables between the page's marks, `docs/results/NAME/` (the report and its figures) for each folder, all
verdicts to `docs/results/verdicts.json`, and every run into the public table, `docs/results/runs.parquet`. Folders that
are joined by "+" are parts of one study, that of the first; of a run that two of them hold, the first counts.

    python -m website.paper --from-table

judges all claims anew from the public table, to which runs may have been added since, but those about the first
impressions of a run, which take its learning curve; verdicts on these stay, and so do the reports.
"""

import json
import re
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rankloop.studies import report
from rankloop.studies.claims import SENTENCES, Verdict, check
from rankloop.studies.claims.sentences import EARLIEST, EARLY
from rankloop.studies.published_runs import add_runs, read_runs, rows_of
from rankloop.studies.records import Record, Results, read_results
from rankloop.studies.specification import Study

DOCS = Path(__file__).parents[1] / "docs"
HEAD = "| report | collections | different runs | impressions | computed on | command |"
DECISIONS = ("supported", "contradicted", "undecided")
_PLACE = ("grid", "collection", "fold", "user", "label")
_MADE = ("data", "impressions", "page_size", "metric", "people", "settings")


def main(arguments: Sequence[str]) -> None:
    """Read the folders, and write everything."""
    if list(arguments) == ["--from-table"]:
        judge_anew()
        return
    found = {name: joined(folders.split("+")) for name, _, folders in (word.partition("=") for word in arguments)}
    verdicts = {name: [one for one in check(results) if one.collection] for name, results in found.items()}
    write(verdicts, {"runs": what_was_run(found)})
    for name, results in found.items():
        keep_report(results, DOCS / "results" / name.lower())
        new, whole = add_runs(DOCS / "results" / "runs.parquet", rows_of(results))
        print(f"{name}: {len(results.records):,} runs, {new:,} of them new in a table of {whole:,}")
        print(f"{name}: {tally(verdicts[name])}")


def write(verdicts: Mapping[str, Sequence[Verdict]], others: Mapping[str, str]) -> None:
    """The tables of the page, and the verdicts that they are made from."""
    page = DOCS / "paper.md"
    made = tables(verdicts) | others
    page.write_text(with_tables(page.read_text(encoding="utf-8"), made), encoding="utf-8")
    document = msgspec.json.format(msgspec.json.encode(verdicts), indent=1)
    (DOCS / "results" / "verdicts.json").write_bytes(document + b"\n")


def judge_anew() -> None:
    """Put verdicts from the public table in the place of those that it is enough for."""
    before = msgspec.json.decode((DOCS / "results" / "verdicts.json").read_bytes(), type=dict[str, list[Verdict]])
    now = {
        (one.number, one.collection, one.user): one for one in check(table_results(DOCS / "results" / "runs.parquet"))
    }
    after = {}
    for name, some in before.items():
        after[name] = [
            now.get((one.number, one.collection, one.user), one) if needs_no_curve(one) else one for one in some
        ]
        changed = [
            f"{new.number} {new.collection} {new.user}"
            for new, old in zip(after[name], some, strict=True)
            if new != old
        ]
        print(f"{name}: {', '.join(changed) or 'nothing'} changed; {tally(after[name])}")
    write(after, {})


def needs_no_curve(verdict: Verdict) -> bool:
    """Whether no sentence of its claim, which are corrected together, is about how runs begin: a row has only their
    ends, sums and means."""
    claim = verdict.number.rstrip("abcdefghij")
    parts = [part for sentence in SENTENCES if sentence.claim == claim for part in sentence.parts]
    return all(part.measure not in (EARLY, EARLIEST) for part in parts)


class Summary(Record, frozen=True):
    """A run as its row has it: of its learning curve, the end and the mean."""

    speed: float

    @property
    def learning_speed(self) -> float:
        """As it was measured: the curve that it is the mean of is not here."""
        return self.speed


def table_results(path: Path) -> Results:
    """The paper's runs in a public table, without what a row does not say. The same run may stand there twice, from two
    machines, with results that differ by rounding: the first counts. Others may have added the paper's study in another
    size: of a label's runs, those count that were made as most of them were."""
    rows = [row for row in read_runs(path).to_pylist() if row["study"] == "paper"]
    made = Counter((_values(row, _PLACE), _values(row, _MADE)) for row in rows)
    usual = {place: how for (place, how), _ in reversed(made.most_common())}
    records: dict[tuple[object, ...], Record] = {}
    for row in rows:
        if usual[_values(row, _PLACE)] == _values(row, _MADE):
            records.setdefault((*_values(row, _PLACE), row["seed"]), _summary(row))
    return Results(Study(name="paper"), list(records.values()))


def _values(row: Mapping[str, Any], names: Sequence[str]) -> tuple[object, ...]:
    return tuple(row[name] for name in names)


def _summary(row: Mapping[str, Any]) -> Summary:
    said = ("key", "grid", "collection", "fold", "user", "learner", "label", "seed", "impressions", "metric")
    return Summary(
        **{name: row[name] for name in (*said, "gradient_variance", "clicks_per_page", "speed")},
        online_ndcg=row["online"], offline_ndcg=row["offline"], settings={"learner": json.loads(row["settings"])},
        stands_for=None, is_published=False, offline_at=[row["impressions"]], offline_curve=[row["offline"]],
        online_curve=[], weights=[],
        learning_seconds=0.0, evaluation_seconds=0.0, manifest={},
    )  # fmt: skip


def joined(folders: Sequence[str]) -> Results:
    """Parts of one study as a whole."""
    parts = [read_results(Path(folder)) for folder in folders]
    records = {}
    for record in (record for part in parts for record in part.records):
        records.setdefault((record.grid, record.collection, record.user, record.label, record.seed), record)
    whole = Results(parts[0].study, list(records.values()))
    whole.starts = tuple(dict.fromkeys(start for part in parts for start in part.starts))
    return whole


def tables(verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, str]:
    """The parts of the page by the name of their mark."""
    return {"sentences": by_sentence(verdicts), "totals": totals(verdicts), "contradicted": decided(verdicts, 1),
            "undecided": undecided(verdicts), "supported": decided(verdicts, 0)}  # fmt: skip


def what_was_run(found: Mapping[str, Results]) -> str:
    """Each folder: its collections, how many runs of each method, how long they were, and where they were computed."""
    lines = [HEAD, "|---|---|---|---|---|---|"]
    for name, results in found.items():
        runs = {record.key: record for record in results.records}.values()
        methods = Counter(record.learner for record in runs)
        engines = Counter("a GPU" if record.engine else "the CPU" for record in runs)
        commands = "; ".join(f"`{shlex.join(start.command)}`" for start in results.starts if start.command)
        cells = [
            f"[{name}](results/{name.lower()}/report.md)",
            ", ".join(results.axis("collection")),
            f"{len(runs):,}: " + ", ".join(f"{method} {number:,}" for method, number in methods.items()),
            f"{sum(record.impressions for record in runs) / 1e6:,.0f} million",
            ", ".join(f"{place} {number:,}" for place, number in engines.items()),
            commands,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_sentence(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """Each sentence, and how often it was supported, contradicted or undecided in each folder."""
    lines = [f"| | sentence | {' | '.join(verdicts)} |", "|---|---|" + "---|" * len(verdicts)]
    for sentence in SENTENCES:
        cells = [tally([one for one in some if one.number == sentence.number]) or "–" for some in verdicts.values()]
        lines.append(f"| {sentence.number} | {sentence.text} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tally(verdicts: Sequence[Verdict]) -> str:
    """`2 supported, 1 undecided`."""
    counts = Counter(one.verdict for one in verdicts)
    return ", ".join(f"{counts[word]} {word}" for word in DECISIONS if counts[word])


def totals(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """How many verdicts of each kind every folder has."""
    lines = [f"| in all | {' | '.join(DECISIONS)} |", "|---|" + "---|" * len(DECISIONS)]
    for name, some in verdicts.items():
        counts = Counter(one.verdict for one in some)
        lines.append(f"| {name} | {' | '.join(str(counts[word]) for word in DECISIONS)} |")
    return "\n".join(lines)


def decided(verdicts: Mapping[str, Sequence[Verdict]], which: int) -> str:
    """The verdicts of one kind with their effects."""
    lines = ["| | collection | clicks | effect | p |", "|---|---|---|---|---|"]
    chosen = (one for some in verdicts.values() for one in some if one.verdict == DECISIONS[which])
    for one in sorted(chosen, key=lambda one: one.number):
        lines.append(f"| {one.number} | {one.collection} | {one.user} | {one.effect} | {_p(one.p)} |")
    return "\n".join(lines)


def undecided(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """What is undecided, and how large the effect can be at most."""
    lines = ["| | collection | clicks | effect | what is left |", "|---|---|---|---|---|"]
    chosen = (one for some in verdicts.values() for one in some if one.verdict == "undecided")
    for one in sorted(chosen, key=lambda one: one.number):
        lines.append(f"| {one.number} | {one.collection} | {one.user} | {one.effect} | {one.bound or one.detail} |")
    return "\n".join(lines)


def _p(p: float | None) -> str:
    return "" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def with_tables(page: str, made: Mapping[str, str]) -> str:
    """The page with what stands between `<!-- NAME -->` and `<!-- end -->` replaced; a page may lack some marks."""
    for name, text in made.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = marked.sub(lambda match, text=text: f"{match[1]}\n{text}\n\n{match[2]}", page)  # type: ignore[misc]
    return page


def keep_report(results: Results, to: Path) -> None:
    """The report as Markdown, with its figures as pictures, and nothing else of it."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        report.write(results, made)
        shutil.rmtree(to, ignore_errors=True)
        (to / "figures").mkdir(parents=True)
        shutil.copy(made / "report.md", to)
        for picture in sorted((made / "figures").glob("*.png")):
            shutil.copy(picture, to / "figures")


if __name__ == "__main__":
    main(sys.argv[1:])
