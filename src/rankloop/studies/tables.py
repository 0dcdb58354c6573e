"""Tables of results, built once and written as Markdown, LaTeX or HTML.

A table knows what its entries mean (best, mark, how many runs), not how that looks; the writers decide that. Numbers
are means over runs ± 95 % t-intervals, and the caption says what they generalise to; an entry with fewer runs than the
study asks for says so. Bold is only what is significantly better than every other method.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rankloop.display import MISSING, mean_text, p_value, signed
from rankloop.statistics import THIS
from rankloop.statistics.summaries import FEWEST_QUARTERS, Estimate, interquartile_mean, interquartile_mean_interval
from rankloop.studies.comparisons import (
    TIED,
    Compared,
    Standing,
    Values,
    against_baseline,
    baseline_of,
    mean_of,
    standing,
    values_of,
)
from rankloop.studies.coverage import Coverage, Place
from rankloop.studies.published import TABLE_2
from rankloop.studies.records import Results

TIES = f"{TIED}: not significantly different from the best (paired t-test, p ≥ 0.05)."
BEST = "significantly better than every other method that learns from clicks (paired t-tests, each p < 0.05)"
MARKS = "△ ▽ p < 0.05, ▲ ▼ p < 0.01, gain or loss"


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
        entries = [entry for row in self.rows for entry in row]
        noted = any(TIES in note for note in self.notes)  # a table that was read back
        tied = (TIES,) if any(TIED in entry.mark for entry in entries) and not noted else ()
        bold = (f"Bold: {self.best}.",) if any(entry.best for entry in entries) else ()
        return (*self.notes, *tied, *bold)

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


def tables_for(results: Results) -> list[tuple[str, Table]]:
    """Every table that these results deserve, each with its grid; grids with the same runs appear once."""
    coverage = Coverage(results)
    made: list[tuple[str, Table]] = []
    for grid in coverage.distinct_grids():
        if coverage.compares_methods(grid) and results.metric.is_seen_on_pages:
            made.append((grid, _online_table(coverage, grid)))
        made += [(grid, table) for table in _baseline_tables(coverage, grid)]
        made.append((grid, _grid_table(coverage, grid)))
        if summary := summary_table(coverage, grid):
            made.append((grid, summary))
    return made


def _fields(coverage: Coverage, online_digits: int = 1) -> list[tuple[str, str, int]]:
    """What is shown of each run, by the chosen metric: field, heading, digits. No page shows a whole ranking."""
    metric = coverage.results.metric
    online = [("online_ndcg", f"online {metric.title}", online_digits)] if metric.is_seen_on_pages else []
    return [*online, ("offline_ndcg", f"offline {metric.title}", 4)]


def _online_table(coverage: Coverage, grid: str) -> Table:
    collections, users, labels = coverage.collections(grid), coverage.users(grid), coverage.labels(grid)
    marks = {(one.collection, one.user, one.label): one.mark for one in against_baseline(coverage, grid, "online_ndcg")}
    published = {collection: _published(coverage, grid, collection) for collection in collections}
    columns = [Column("clicks", "name"), Column("method", "name")]
    for collection in collections:
        columns += [Column(collection)] + ([Column(f"{collection}, published")] if published[collection] else [])
    rows = []
    for user in users:
        first = {one: standing(coverage, grid, one, user, "online_ndcg") for one in collections}
        for label in labels:
            row = [_name(user), _name(label)]
            for collection in collections:
                text = _mean(coverage, (grid, collection, user, label), "online_ndcg", 2)
                mark = first[collection].mark(label) + marks.get((collection, user, label), "")
                row.append(Entry(text, first[collection].best == label, mark))
                if published[collection]:
                    number, mark = published[collection].get((user, label), (math.nan, ""))
                    row.append(Entry(f"{number:.2f}" if math.isfinite(number) else MISSING, mark=mark))
            rows.append(tuple(row))
    name = coverage.results.metric.title
    notes = [
        f"Online {name}: Σ 0.9995^i · {name} of the page shown at impression i, 2000 at most.",
        *_notes(coverage, grid),
    ]
    if any(marks.values()):
        notes.append(f"Against {plain(str(baseline_of(coverage, grid)))}, paired and Holm-corrected: {MARKS}.")
    if any(published.values()):
        notes.append("Published: Table 2 of the paper, on the same collection; 15 runs of 100,000 impressions.")
    return Table(
        f"{grid}-online", f"Online {name}: what users saw while the methods learned", tuple(columns), tuple(rows), 1,
        tuple(notes), BEST,
    )  # fmt: skip


def _baseline_tables(coverage: Coverage, grid: str) -> list[Table]:
    """Every learner against the baseline, online and offline."""
    return [
        _baseline_table(coverage, grid, compared, name, digits)
        for field, name, digits in _fields(coverage, 2)
        if (compared := against_baseline(coverage, grid, field))
    ]


def _baseline_table(coverage: Coverage, grid: str, compared: Sequence[Compared], name: str, digits: int) -> Table:
    headings = ("difference", "p (paired)", "p (Holm)", "P(better)", "pairs", "mark")
    columns = (Column("collection", "name"), Column("clicks", "name"), Column("", "name"), *map(Column, headings))
    rows = [
        (
            _name(one.collection), _name(one.user), _name(f"{one.label} − {one.baseline}"),
            Entry(_difference(one, digits)), *(Entry(p_value(value)) for value in (one.test.p, one.corrected_p)),
            Entry(estimate_text(one.better, 2)), Entry(str(one.test.pairs)), Entry(one.mark or MISSING),
        )
        for one in compared
    ]  # fmt: skip
    notes = [
        f"Two-tailed paired t-tests {coverage.speaks_of(grid)}; pairs share seed, fold and query sequence.",
        f"Holm corrects for the rows of this table, and its p decides the mark: {MARKS}.",
        "P(better): how often a run is better than one of the baseline on the same fold, ties counting half"
        + (
            ", with a stratified bootstrap interval." if any(math.isfinite(one.better.low) for one in compared) else "."
        ),
    ]
    place = name.split()[0]
    title = f"Against {compared[0].baseline}, {name}"
    return Table(f"{grid}-against-{place}", title, columns, tuple(rows), 2, tuple(notes))


def _difference(one: Compared, digits: int) -> str:
    half = one.test.difference.half_width()
    text = signed(one.test.difference.estimate, digits)
    return f"{text} ± {half:.{digits}f}" if math.isfinite(half) else text


def estimate_text(estimate: Estimate, digits: int) -> str:
    """A number with its bootstrap interval, where there is one.

    >>> estimate_text(Estimate(0.5, 0.25, 0.75), 2)
    '0.50 (0.25 to 0.75)'
    """
    if not math.isfinite(estimate.value):
        return MISSING
    text = f"{estimate.value:.{digits}f}"
    return f"{text} ({estimate.low:.{digits}f} to {estimate.high:.{digits}f})" if math.isfinite(estimate.low) else text


def summary_table(coverage: Coverage, grid: str) -> Table | None:
    """Interquartile means, where there are enough runs for them to be something else than means."""
    fields = _fields(coverage)
    places = [place for place in coverage.places(grid) if len(coverage.runs(*place)) >= FEWEST_QUARTERS]
    if not places:
        return None
    columns = [Column(heading, "name") for heading in ("collection", "clicks", "learner")]
    columns += [Column(f"IQM of {name}") for _, name, _ in fields]
    rows = []
    for _, collection, user, label in places:
        values = [values_of(coverage.runs(grid, collection, user, label), field) for field, _, _ in fields]
        texts = [_middle(coverage, some, digits) for some, (_, _, digits) in zip(values, fields, strict=True)]
        rows.append((_name(collection), _name(user), _name(label), *map(Entry, texts)))
    notes = ["IQM: the interquartile mean, that of the middle half of the runs; a few odd runs do not move it."]
    if coverage.results.reading.generalise_to == THIS:
        notes.append(
            "In brackets its 95 % interval for this collection, by a bootstrap of the runs within each fold (at least "
            "three each)."
        )
    else:
        notes.append("Without intervals: a bootstrap of so few folds would miss far more often than it says.")
    title = f"{coverage.grid(grid).title or grid}: interquartile means"
    return Table(f"{grid}-quartiles", title, tuple(columns), tuple(rows), 2, tuple(notes))


def _middle(coverage: Coverage, values: Values, digits: int) -> str:
    sample, folds = list(values.values()), [fold for fold, _ in values]
    if coverage.results.reading.generalise_to != THIS:
        return estimate_text(Estimate(interquartile_mean(sample), math.nan, math.nan), digits)
    return estimate_text(interquartile_mean_interval(sample, folds), digits)


def _grid_table(coverage: Coverage, grid: str) -> Table:
    fields = [*_fields(coverage), ("learning_speed", "learning speed", 4)]
    compared = [field for field, _, _ in fields]
    records = coverage.results.select(grid=grid)
    if any(math.isfinite(record.gradient_variance) for record in records):
        fields.append(("gradient_variance", "gradient variance", 3))
    columns = [Column("collection", "name"), Column("clicks", "name"), Column("learner", "name")]
    partial = coverage.is_partial(grid)
    columns += [Column(heading) for _, heading, _ in fields] + ([Column("runs")] if partial else [])
    rows = []
    for collection in coverage.collections(grid):
        for user in coverage.users(grid):
            first = {field: standing(coverage, grid, collection, user, field) for field in compared}
            for label in coverage.labels(grid):
                row = [_name(collection), _name(user), _name(label)]
                place = grid, collection, user, label
                for field, _, digits in fields:
                    shown = first.get(field, Standing())
                    text = _interval(coverage, place, field, digits)
                    row.append(Entry(text, shown.best == label, shown.mark(label)))
                if partial:
                    row.append(Entry(coverage.runs_at(place)))
                rows.append(tuple(row))
    impressions = max(record.impressions for record in records)
    notes = [
        f"Offline: {coverage.results.metric.title} on held-out queries after {impressions:,} impressions, excluding "
        "queries without a relevant candidate. Learning speed: the mean of the offline curve.",
        *_notes(coverage, grid),
    ]
    title = f"{coverage.grid(grid).title or grid}: all learners"
    return Table(f"{grid}-summary", title, tuple(columns), tuple(rows), 2, tuple(notes), BEST)


def _notes(coverage: Coverage, grid: str) -> list[str]:
    spread = f" ± 95 % t-interval {coverage.speaks_of(grid)}" if coverage.is_repeated(grid) else ""
    notes = [f"Mean over runs{spread}; {coverage.of_grid(grid)}."]
    if coverage.absent(grid):
        notes.append(f"No finished run: {', '.join(plain(name) for name in coverage.absent(grid))}.")
    return notes


def _mean(coverage: Coverage, place: Place, field: str, digits: int) -> str:
    """`587.46 ± 3.10`, with the number of runs where some are missing."""
    text = _interval(coverage, place, field, digits)
    full = len(coverage.runs(*place)) == coverage.wanted[place]
    return text if full else f"{text} ({coverage.runs_at(place)})"


def _interval(coverage: Coverage, place: Place, field: str, digits: int) -> str:
    """Mean ± interval; a single run has no interval, and no run no mean."""
    values = values_of(coverage.runs(*place), field)
    return mean_text(*mean_of(coverage.results, values), digits) if values else MISSING


def _published(coverage: Coverage, grid: str, collection: str) -> dict[tuple[str, str], tuple[float, str]]:
    """The paper's numbers by user and method, if this is the paper's own collection."""
    records = coverage.results.select(grid=grid, collection=collection)
    if not records or not records[0].is_published or records[0].metric != "ndcg@10":
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
