"""The report of a study: one self-contained page, and the same as Markdown, with figures and LaTeX tables beside it.

A report is a list of blocks, built once from the results and written twice. The page needs nothing but itself: its
style is inline and named by hash in its Content-Security-Policy, its figures are data, and it has no script.
"""

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rankloop import __version__
from rankloop.data.worlds import WORLDS
from rankloop.display import counted, duration, in_a_row, listed, p_value
from rankloop.display.pictures import Size
from rankloop.errors import DataError, SettingsError
from rankloop.files import write_text
from rankloop.metrics import names
from rankloop.statistics import THIS
from rankloop.studies import figures, formats, page, tables
from rankloop.studies.blocks import Block, Code, Definitions, Folded, Heading, Paragraph, Picture, Tabulated
from rankloop.studies.claims import Verdict, check
from rankloop.studies.coverage import Coverage, runs_of
from rankloop.studies.people import has_people, people_table, verdicts
from rankloop.studies.records import CPU, Record, Results
from rankloop.studies.regret import tables as regret_tables
from rankloop.studies.specification import Source, is_about_the_paper, load_study
from rankloop.studies.tables import Column, Entry, Table


def write(results: Results, folder: Path, metric: str | None = None) -> Path:
    """Write `report.html`, `report.md`, `tables.tex`, `tables/` (CSV) and `figures/` into a folder; the page's path.

    Tables and figures show `metric`, by default the first that the study names; the claims are about nDCG.
    """
    with suppress(OSError):  # writing says what is wrong
        (folder / "tables").mkdir(parents=True, exist_ok=True)
    pictures = figures.figures_for(results.by(metric))
    for picture in pictures:
        picture.write(folder)
    blocks = blocks_for(results, pictures, metric)
    made = [block.table for block in blocks if isinstance(block, Tabulated)]
    # Whole or not at all: a reader may have the page open.
    write_text(folder / "report.md", [page.markdown(blocks)])
    write_text(folder / "tables.tex", [formats.LATEX_PREAMBLE, "\n".join(formats.latex(table) for table in made)])
    for name, table in _by_file_name(made).items():
        write_text(folder / "tables" / f"{name}.csv", [formats.csv(table)])
    return write_text(folder / "report.html", [page.html(results.study.title or results.study.name, blocks, folder)])


def write_for_print(results: Results, folder: Path, kinds: Sequence[str], size: Size) -> list[Path]:
    """Every figure in a size of one's own, once for each kind of file, with LaTeX to include and caption them."""
    pictures = figures.figures_for(results)
    if not pictures:
        raise DataError(f"{results.study.name} has nothing to draw: no run was evaluated on the way")
    written = [path for one in pictures for path in one.write_for_print(folder, kinds, size)]
    included = [formats.latex_figure(one.name, one.title, one.caption) for one in pictures]
    return [*written, write_text(folder / "figures.tex", ["% needs \\usepackage{graphicx}\n", "\n".join(included)])]


def _by_file_name(made: Sequence[Table]) -> dict[str, Table]:
    """Tables by what their files are called: grids' names may hold anything."""
    named: dict[str, Table] = {}
    for number, table in enumerate(made, 1):
        slug = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-") or "table"
        named[f"{slug}-{number}" if slug in named else slug] = table
    return named


def blocks_for(results: Results, pictures: Sequence[figures.Figure], metric: str | None = None) -> list[Block]:
    """What a report of these results consists of, whatever it is written as; tables show `metric`."""
    study, coverage = results.study, Coverage(results)
    blocks: list[Block] = [Heading(1, study.title or study.name)]
    if study.question:
        blocks.append(Paragraph(study.question, "question"))
    blocks += [Heading(2, "What was run"), Definitions(tuple(_facts(coverage)))]
    if study.regret is not None:
        blocks += _regret(results, pictures)
        return [
            *blocks,
            Heading(2, "How to reproduce"),
            *_reproduce(coverage),
            Heading(2, "Settings"),
            *_settings(coverage),
        ]
    shown, by_grid = Coverage(results.by(metric)), tables.tables_for(results.by(metric))
    for grid, twins in coverage.distinct_grids().items():
        blocks.append(Heading(2, coverage.grid(grid).title or grid))
        if twins:
            blocks.append(Paragraph(f"The grids {' and '.join([grid, *twins])} consist of the same runs, shown once."))
        if has_people(shown, grid):
            blocks += [Paragraph(sentence) for sentence in verdicts(shown, grid)]
            blocks.append(Tabulated(people_table(shown, grid)))
        blocks += [Picture(one.name, one.title, one.caption) for one in pictures if one.grid == grid]
        blocks += [Tabulated(table) for place, table in by_grid if place == grid]
    blocks += _claims(results)
    blocks += [Heading(2, "How to reproduce"), *_reproduce(coverage)]
    return [*blocks, Heading(2, "Settings"), *_settings(coverage)]


def _regret(results: Results, pictures: Sequence[figures.Figure]) -> list[Block]:
    """Regret, where it has been measured: thousands of runs in other tables would hide it."""
    blocks: list[Block] = [Heading(2, "Regret")]
    if results.regret is None:
        return [*blocks, Paragraph("Nothing has been measured yet: that is done when the runs are finished.")]
    blocks += [Paragraph(sentence) for sentence in regret_tables.sentences(results.regret)]
    blocks += [Picture(one.name, one.title, one.caption) for one in pictures]
    return [*blocks, *map(Tabulated, regret_tables.tables_for(results.regret))]


def _facts(coverage: Coverage) -> list[tuple[str, str]]:
    results, records = coverage.results, coverage.results.records
    finished = {record.key: record for record in records}
    wanted = sum(coverage.wanted.values())
    facts = [("runs", runs_of(len(records), wanted) + ("" if len(records) == wanted else " finished"))]
    facts += _choice(coverage)
    if not records:
        return facts
    for name in results.axis("collection"):
        facts.append(("collection", _collection(coverage.sources[name], results.select(collection=name))))
    learners = [label for grid in coverage.distinct_grids() for label in coverage.labels(grid)]
    shared = len(records) - len(finished)
    seconds = sum(record.learning_seconds + record.evaluation_seconds for record in finished.values())
    facts += [
        ("users", in_a_row(results.axis("user"))),
        *(("changes", sentence) for sentence in coverage.unseen_changes),
        ("learners", in_a_row(list(dict.fromkeys(learners)))),
        ("impressions", _counted(f"{record.impressions:,}" for record in records)),
        ("metrics", ", ".join(names.metric(name).title for name in _metrics(records[0]))),
        ("seeds", f"{min(record.seed for record in records)} to {max(record.seed for record in records)}"),
        ("computing time", f"{duration(seconds)}, summed over {counted(len(finished), 'run')}"),
    ]
    if shared:
        facts.append(("shared runs", f"{counted(shared, 'run')} shared by two grids, run once"))
    facts += _engines(results, list(finished.values()))
    machines = Counter(_machine(record) for record in finished.values())
    return facts + [
        ("machine", name if len(machines) == 1 else f"{name}: {counted(n, 'run')}") for name, n in machines.items()
    ]


def _engines(results: Results, records: Sequence[Record]) -> list[tuple[str, str]]:
    """Which runs a device computed, if any did, and why others ran on the CPU."""
    engines = Counter(record.engine for record in records)
    if set(engines) <= {CPU}:
        return []
    devices = {record.engine: record.manifest["engine"].get("device", "a GPU") for record in records if record.engine}
    facts = [
        ("engine", f"{device}, device code {name.removeprefix('gpu:')}: {counted(engines[name], 'run')}")
        for name, device in devices.items()
    ]
    if CPU in engines:
        facts.append(("engine", f"the CPU: {counted(engines[CPU], 'run')}"))
    reasons = dict.fromkeys(start.beside for start in results.starts if start.beside)
    return facts + [("beside the GPU", reason) for reason in reasons]


def _metrics(record: Record) -> list[str]:
    return [record.metric, *(one.metric for one in record.others)]


def _choice(coverage: Coverage) -> list[tuple[str, str]]:
    """What was chosen of the study, and what of the folder is not shown."""
    results, wanted = coverage.results, sum(coverage.wanted.values())
    facts = []
    if wanted < coverage.of_study:
        chosen = listed(list(dict.fromkeys(f"--only {' --only '.join(start.only)}" for start in results.starts)))
        facts.append(("chosen", f"{wanted:,} of the study's {counted(coverage.of_study, 'run')}, with {chosen}"))
    if results.left_out:
        why = "in the same folder, but not part of the study as it was started last"
        facts.append(("left out", f"{results.left_out}; {why}"))
    return facts


def _collection(source: Source, records: Sequence[Record]) -> str:
    """What a collection is: the published one, a synthetic world (in whose place), or one of the reader's own."""
    text = source.name
    if source.is_published:
        text += f": the published collection {source.stands_for}"
    elif source.data in WORLDS:
        text += f": the synthetic world {source.data}" + (f" at scale {source.scale:g}" if source.scale != 1 else "")
        if source.stands_for:
            text += f", which stands in for {source.stands_for}; published numbers do not apply"
    folds = sorted({record.fold for record in records if record.fold is not None})
    return text + (f" ({'folds' if len(folds) > 1 else 'fold'} {', '.join(map(str, folds))})" if folds else "")


def _counted(values: Any) -> str:
    tally = Counter(values)
    if len(tally) == 1:
        return f"{next(iter(tally))} in each run"
    return ", ".join(f"{value} in {counted(n, 'run')}" for value, n in tally.items())


def _machine(record: Record) -> str:
    manifest = record.manifest
    versions = ", ".join(f"{name} {version}" for name, version in manifest.get("versions", {}).items())
    cores = f"{manifest['cores']} cores" if manifest.get("cores") else ""
    return "; ".join(part for part in (manifest.get("processor", ""), cores, versions) if part) or "not recorded"


def _claims(results: Results) -> list[Block]:
    """The paper's claims that this study has runs for, with their verdicts; the others are named."""
    verdicts = check(results) if is_about_the_paper(results.study) else []
    decided = [verdict for verdict in verdicts if verdict.collection]
    if not decided:
        return []
    tally = Counter(verdict.verdict for verdict in decided)
    summary = ", ".join(f"{tally[word]} {word}" for word in ("supported", "contradicted", "undecided") if tally[word])
    silent = ", ".join(dict.fromkeys(verdict.number for verdict in verdicts if not verdict.collection))
    return [
        Heading(2, "The paper's claims"),
        Paragraph(
            f"On this data, by {results.metric.title}: {summary}."
            + (f" No runs bear on claims {silent}." if silent else "")
        ),
        Tabulated(_verdicts(decided, results.reading.generalise_to)),
        Tabulated(_decisions(decided), "How each verdict was reached"),
    ]


def _verdicts(verdicts: Sequence[Verdict], generalise_to: str) -> Table:
    kinds = {"claim": "words", "effect": "words", "p": "number"}
    headings = ("", "claim", "collection", "clicks", "verdict", "effect", "p")
    rows = [
        (
            *_cells(one.number, one.sentence, one.collection, one.user), Entry(one.verdict, tone=one.verdict),
            *_cells(f"{one.effect}; {one.bound}" if one.bound else one.effect, p_value(one.p)),
        )
        for one in verdicts
    ]  # fmt: skip
    notes = (
        "Learning speed is the mean of the offline curve. “No difference” is an equivalence test with a stated margin, "
        "never p > 0.05. With too few runs a claim is undecided. p-values are Holm-corrected. Beside what is undecided "
        "stands how large the effect can be, by its 95 % interval.",
        "Verdicts are for this collection: its folds are fixed, seeds random."
        if generalise_to == THIS
        else "Verdicts are for similar collections: folds are random.",
    )
    columns = tuple(Column(heading, kinds.get(heading, "name")) for heading in headings)
    return Table("claims", "Verdict on each claim", columns, tuple(rows), 2, notes)


def _decisions(verdicts: Sequence[Verdict]) -> Table:
    names = (Column(heading, "name") for heading in ("", "collection", "clicks", "verdict"))
    rows = [
        (*_cells(one.number, one.collection, one.user), Entry(one.verdict, tone=one.verdict), *_cells(one.detail))
        for one in verdicts
    ]
    return Table("decisions", "Which test on which runs", (*names, Column("how", "words")), tuple(rows), 1)


def _cells(*texts: str) -> tuple[Entry, ...]:
    return tuple(Entry(tables.plain(text)) for text in texts)


def _reproduce(coverage: Coverage) -> list[Block]:
    study = coverage.results.study
    try:
        shipped = load_study(study.name) == study
    except SettingsError:
        shipped = False
    name = study.name if shipped else "study.toml"
    commands = [shlex.join(start.command) for start in coverage.results.starts if start.command]
    blocks: list[Block] = []
    if commands:
        anew = f" --out {shlex.quote(f'{study.name}-again')}"
        blocks += [
            Paragraph(
                "As it was started, from anywhere on the same machine, into a new folder, so that all is run anew:"
            ),
            Code("\n".join(command + anew for command in commands)),
        ]
    if not shipped:
        blocks.append(Paragraph("With the study file next to this report:"))
    if not shipped or not commands:
        chosen = {start.only for start in coverage.results.starts} or {()}
        words = next(iter(chosen)) if len(chosen) == 1 else ()
        blocks.append(Code(shlex.join(["rankloop", "run", name, *(word for one in words for word in ("--only", one))])))
    blocks.append(Paragraph("The same settings and seeds give the same numbers on the same kind of machine."))
    records = coverage.results.records
    stand_ins = dict.fromkeys(one.stands_for for one in records if one.stands_for and not one.is_published)
    if stand_ins:
        given = " ".join(f"--data {published}=PATH" for published in stand_ins)
        blocks += [
            Paragraph("On the published collections, if you have a copy:"),
            Code(f"rankloop run {name} {given}"),
        ]
    return blocks


def _settings(coverage: Coverage) -> list[Block]:
    """Every learner and everybody who clicked, as they were run, and the study itself."""
    rows = [
        _cells(grid, collection, label, _settings_text(records[0].settings.get("learner", {})))
        for grid in coverage.distinct_grids()
        for collection in coverage.collections(grid)
        for label in coverage.labels(grid)
        if (records := coverage.results.select(grid=grid, collection=collection, label=label))
    ]
    columns = (*(Column(heading, "name") for heading in ("grid", "collection", "label")), Column("settings", "words"))
    blocks: list[Block] = []
    if rows:
        notes = (f"rankloop {__version__}; page size {coverage.results.study.page_size}.",)
        blocks.append(Tabulated(Table("settings", "Learner settings", columns, tuple(rows), 2, notes)))
        blocks.append(Tabulated(_people(coverage)))
    study = msgspec.json.format(msgspec.json.encode(coverage.results.study), indent=2).decode()
    return [*blocks, Folded("The study as JSON", study)]


def _people(coverage: Coverage) -> Table:
    """Everybody as they clicked: tables follow a collection's grades."""
    met: dict[tuple[str, str], dict[str, Any]] = {}
    for record in coverage.results.records:
        met.setdefault((record.collection, record.user), record.settings.get("user", {}))
    rows = [
        _cells(collection, user, _settings_text({name: value for name, value in settings.items() if name != "name"}))
        for (collection, user), settings in met.items()
    ]
    columns = (Column("collection", "name"), Column("clicks", "name"), Column("settings", "words"))
    return Table("people", "The people who clicked", columns, tuple(rows), 1)


def _settings_text(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_value_text(value)}" for name, value in settings.items() if value is not None)


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + _settings_text(value) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
