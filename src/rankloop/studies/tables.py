"""Tables of results, built once and written as Markdown, LaTeX or HTML.

A table knows what its entries mean (best, mark, how many runs), not how that looks; the writers decide that. Numbers
are means over runs ± 95 % t-intervals; an entry with fewer runs than the study asks for says so.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rankloop.display import MISSING, mean_text, p_value, signed
from rankloop.statistics import BothTests, compare, holm, interval
from rankloop.studies.coverage import Coverage, learns_from_clicks
from rankloop.studies.published import TABLE_2
from rankloop.studies.records import Record, Results


class Entry(NamedTuple):
    """One entry: its text, whether it is the best of its kind, a significance mark, and a tone (a claim's verdict)."""

    text: str
    best: bool = False
    mark: str = ""
    tone: str = ""

    @property
    def plain(self) -> str:
        """Text and mark."""
        return f"{self.text} {self.mark}".strip()


class Column(NamedTuple):
    """A heading, and whether `name`s, `number`s or running `words` stand below it."""

    heading: str
    kind: str = "number"


class Table(NamedTuple):
    """Rows under columns; the first `groups` columns group the rows, and are written once for each group."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    groups: int = 0
    notes: tuple[str, ...] = ()
    best: str = ""

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and what bold type means where there is any."""
        bold = any(entry.best for row in self.rows for entry in row)
        return (*self.notes, f"Bold: {self.best}.") if bold else self.notes

    def lines(self) -> Iterator[tuple[tuple[Entry, ...], int]]:
        """Each row, with how many of its grouping columns repeat the row above."""
        above: tuple[Entry, ...] = ()
        for row in self.rows:
            same = 0
            while above and same < self.groups and row[same].text == above[same].text:
                same += 1
            yield row, same
            above = row

    def grouped(self) -> list[list[tuple[Entry, ...]]]:
        """Rows by group, with what repeats the row above left empty."""
        made: list[list[tuple[Entry, ...]]] = []
        for row, same in self.lines():
            if same < self.groups or not made:
                made.append([])
            made[-1].append((*(Entry("") for _ in range(same)), *row[same:]))
        return made


class Significance(NamedTuple):
    """One learner against another on one collection with one user; pairs share a seed and a fold."""

    collection: str
    user: str
    label: str
    reference: str
    test: BothTests
    pairs: int


def tables_for(results: Results) -> list[tuple[str, Table]]:
    """Every table that these results deserve, each with its grid; grids with the same runs appear once."""
    coverage = Coverage(results)
    made: list[tuple[str, Table]] = []
    for grid in coverage.distinct_grids():
        if coverage.compares_methods(grid):
            made.append((grid, _online_table(coverage, grid)))
            tests = significance(coverage, grid)
            if tests:
                made.append((grid, _significance_table(coverage, grid, tests)))
        made.append((grid, _grid_table(coverage, grid)))
    return made


def _online_table(coverage: Coverage, grid: str) -> Table:
    collections, users, labels = coverage.collections(grid), coverage.users(grid), coverage.labels(grid)
    marks = {(one.collection, one.user, one.label): one.test.mark for one in significance(coverage, grid)}
    published = {collection: _published(coverage, grid, collection) for collection in collections}
    columns = [Column("clicks", "name"), Column("method", "name")]
    for collection in collections:
        columns += [Column(collection)] + ([Column(f"{collection}, published")] if published[collection] else [])
    rows = []
    for user in users:
        best = {one: _best(coverage, grid, one, user, "online_ndcg") for one in collections}
        for label in labels:
            row = [_name(user), _name(label)]
            for collection in collections:
                text = _mean(coverage, (grid, collection, user, label), "online_ndcg", 2)
                row.append(Entry(text, best[collection] == label, marks.get((collection, user, label), "")))
                if published[collection]:
                    number, mark = published[collection].get((user, label), (math.nan, ""))
                    row.append(Entry(f"{number:.2f}" if math.isfinite(number) else MISSING, mark=mark))
            rows.append(tuple(row))
    notes = [
        "Online nDCG@10: Σ 0.9995^i · nDCG@10 of the page shown at impression i, 2000 at most.",
        *_notes(coverage, grid),
    ]
    if marks:
        notes.append("ROLTR against PDGD by Welch's t-test: △ ▽ p < 0.05, ▲ ▼ p < 0.01, gain or loss.")
    if any(published.values()):
        notes.append("Published: Table 2 of the paper, on the same collection; 15 runs of 100,000 impressions.")
    return Table(
        f"{grid}-online", "Online nDCG@10: what users saw while the methods learned", tuple(columns), tuple(rows), 1,
        tuple(notes), "the highest mean among methods that learn from clicks",
    )  # fmt: skip


def significance(coverage: Coverage, grid: str, field: str = "online_ndcg") -> list[Significance]:
    """ROLTR against PDGD wherever both were run."""
    by_learner = {label: coverage.learner(grid, label) for label in coverage.labels(grid)}
    reference = next((label for label, learner in by_learner.items() if learner == "PDGD"), None)
    if reference is None:
        return []
    tests = []
    for collection in coverage.collections(grid):
        for user in coverage.users(grid):
            others = coverage.runs(grid, collection, user, reference)
            for label in (label for label, learner in by_learner.items() if learner == "ROLTR"):
                runs = coverage.runs(grid, collection, user, label)
                if runs and others:
                    test, pairs = _test(runs, others, field)
                    tests.append(Significance(collection, user, label, reference, test, pairs))
    return tests


def _test(runs: Sequence[Record], others: Sequence[Record], field: str) -> tuple[BothTests, int]:
    """Welch over all runs; the paired test over those that share seed and fold, which an unfinished study may lack."""
    theirs = {(record.seed, record.fold): getattr(record, field) for record in others}
    shared = [record for record in runs if (record.seed, record.fold) in theirs]
    test = compare([getattr(record, field) for record in runs], list(theirs.values()))
    paired = math.nan
    if shared:
        ours = [getattr(record, field) for record in shared]
        paired = compare(ours, [theirs[record.seed, record.fold] for record in shared]).paired_p
    return test._replace(paired_p=paired), len(shared)


def _significance_table(coverage: Coverage, grid: str, tests: Sequence[Significance]) -> Table:
    corrected = holm([one.test.welch_p for one in tests])
    headings = ("difference", "p (Welch)", "p (Welch, Holm)", "p (paired)", "pairs", "mark")
    columns = (Column("collection", "name"), Column("clicks", "name"), Column("", "name"), *map(Column, headings))
    rows = [
        (
            _name(one.collection), _name(one.user), _name(f"{one.label} − {one.reference}"),
            Entry(signed(one.test.difference, 2)),
            *(Entry(p_value(value)) for value in (one.test.welch_p, p, one.test.paired_p)),
            Entry(str(one.pairs)), Entry(one.test.mark or MISSING),
        )
        for one, p in zip(tests, corrected, strict=True)
    ]  # fmt: skip
    notes = (
        "Two-tailed t-tests on online nDCG@10; pairs are runs that share seed, fold and query sequence. "
        "The mark is by the uncorrected Welch test, as in the paper; Holm corrects for the rows of this table.",
    )
    return Table(f"{grid}-significance", "ROLTR against PDGD, online", columns, tuple(rows), 1, notes)


def _grid_table(coverage: Coverage, grid: str) -> Table:
    fields = [("online_ndcg", "online nDCG@10", 1), ("offline_ndcg", "offline nDCG@10", 4)]
    fields += [("learning_speed", "learning speed", 4)]
    records = coverage.results.select(grid=grid)
    if any(math.isfinite(record.gradient_variance) for record in records):
        fields.append(("gradient_variance", "gradient variance", 3))
    columns = [Column("collection", "name"), Column("clicks", "name"), Column("learner", "name")]
    partial = coverage.is_partial(grid)
    columns += [Column(heading) for _, heading, _ in fields] + ([Column("runs")] if partial else [])
    rows = []
    for collection in coverage.collections(grid):
        for user in coverage.users(grid):
            best = {field: _best(coverage, grid, collection, user, field) for field, _, _ in fields[:3]}
            for label in coverage.labels(grid):
                row = [_name(collection), _name(user), _name(label)]
                place = grid, collection, user, label
                for field, _, digits in fields:
                    row.append(Entry(_interval(coverage.runs(*place), field, digits), best.get(field) == label))
                if partial:
                    row.append(Entry(coverage.runs_at(place)))
                rows.append(tuple(row))
    impressions = max(record.impressions for record in records)
    notes = [
        f"Offline: nDCG@10 on held-out queries after {impressions:,} impressions, excluding queries without a "
        "relevant candidate. Learning speed: the mean of the offline curve.",
        *_notes(coverage, grid),
    ]
    title = f"{coverage.grid(grid).title or grid}: all learners"
    best_of = "the highest mean among methods that learn from clicks" if len(coverage.labels(grid)) > 1 else ""
    return Table(f"{grid}-summary", title, tuple(columns), tuple(rows), 2, tuple(notes), best_of)


def _notes(coverage: Coverage, grid: str) -> list[str]:
    spread = " ± 95 % t-interval" if coverage.is_repeated(grid) else ""
    notes = [f"Mean over runs{spread}; {coverage.of_grid(grid)}."]
    if coverage.absent(grid):
        notes.append(f"Not run: {', '.join(plain(name) for name in coverage.absent(grid))}.")
    return notes


def _mean(coverage: Coverage, place: tuple[str, str, str, str], field: str, digits: int) -> str:
    """`587.46 ± 3.10`, with the number of runs where some are missing."""
    runs = coverage.runs(*place)
    text = _interval(runs, field, digits)
    return text if len(runs) == coverage.wanted[place] else f"{text} ({coverage.runs_at(place)})"


def _interval(runs: Sequence[Record], field: str, digits: int) -> str:
    """Mean ± interval; a single run has no interval, and no run no mean."""
    values = [value for value in (getattr(record, field) for record in runs) if math.isfinite(value)]
    return mean_text(*interval(values), digits) if values else MISSING


def _best(coverage: Coverage, grid: str, collection: str, user: str, field: str) -> str | None:
    """The label with the highest mean among those that learn from clicks, if there is a choice."""
    means = {}
    for label in coverage.labels(grid):
        values = [getattr(record, field) for record in coverage.runs(grid, collection, user, label)]
        if learns_from_clicks(coverage.learner(grid, label)) and values and all(map(math.isfinite, values)):
            means[label] = sum(values) / len(values)
    return max(means, key=lambda label: means[label]) if len(means) > 1 else None


def _published(coverage: Coverage, grid: str, collection: str) -> dict[tuple[str, str], tuple[float, str]]:
    """The paper's numbers by user and method, if this is the paper's own collection."""
    records = coverage.results.select(grid=grid, collection=collection)
    if not records or not records[0].is_published:
        return {}
    methods = {label for label in coverage.labels(grid) if label == coverage.learner(grid, label)}
    return {
        (user, method): text
        for (user, method, which), text in TABLE_2.items()
        if which == records[0].stands_for and method in methods
    }


def plain(text: str) -> str:
    """One line without control characters: names come from study files, and may hold anything."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _name(text: str) -> Entry:
    return Entry(plain(text))
