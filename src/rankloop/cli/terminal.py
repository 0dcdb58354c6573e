"""What people see in a terminal: tables that align, progress on what takes long, plain lines when piped."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from rankloop.display import duration, size

if TYPE_CHECKING:
    from rankloop.data.store.reports import Listed, Report

# Piped output has no width of its own; a table must not be cut to somebody's idea of a terminal.
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True, highlight=False, soft_wrap=True, width=None if sys.stderr.isatty() else 200)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say what is going on while something of unknown length runs; nothing stays behind."""
    with Progress(SpinnerColumn(), TextColumn(what), TimeElapsedColumn(), console=err, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def progress_in_bytes(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar over bytes; call the result with (done, total)."""
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def progress_in_steps(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar over steps; call the result with a word on each finished step. Plain lines when piped."""
    if not err.is_terminal:
        done = 0
        err.print(f"{what}: {total} to do")

        def tell(word: str) -> None:
            nonlocal done
            done += 1
            if done == total or done * 10 // total > (done - 1) * 10 // total:
                err.print(f"{what}: {done} of {total} done ({word})")

        yield tell
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("[dim]{task.fields[word]}"),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what, total=total, word="")
        yield lambda word: progress.update(task, advance=1, word=word)


@contextmanager
def study_progress(total: int) -> Iterator[Callable[[Any], None]]:
    """What is running, done, failed and left, impressions a second and the time to go; plain lines when piped."""
    if not err.is_terminal:
        yield _plain_study_progress(total)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("starting", total=total)

        def show(now: Any) -> None:
            running = "; ".join(now.running)
            told = f"{_standing(now)}   [dim]{running}[/dim]" if running else _standing(now)
            progress.update(task, completed=now.done + now.failed, description=told)

        yield show


def _plain_study_progress(total: int) -> Callable[[Any], None]:
    told = 0

    def show(now: Any) -> None:
        nonlocal told
        tenth = (now.done + now.failed) * 10 // max(1, total)
        if tenth > told:
            told = tenth
            err.print(f"{now.done + now.failed} of {total} runs, {_standing(now)}")

    return show


def _standing(now: Any) -> str:
    left = now.total - now.done - now.failed
    rate = now.impressions / now.seconds if now.seconds > 0 else 0.0
    to_go = f", {duration(now.seconds * (1 / now.share - 1))} to go" if now.share > 0 and left else ""
    failed = f", {now.failed} failed" if now.failed else ""
    return f"{left} left{failed}, {rate:,.0f} impressions/s{to_go}"


def table(*columns: str, title: str | None = None) -> Table:
    """An empty table: the first column left, the others right, no box."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    return made


def print_table(made: Table) -> None:
    """A table as wide as it needs to be: a terminal that is too narrow wraps it, but no number is cut short."""
    made.width = out.measure(made, options=out.options.update(width=10_000)).maximum
    out.print(made, crop=False, overflow="ignore", soft_wrap=True)


def show_collections(found: "Sequence[Listed]") -> None:
    """What is stored, then what could be."""
    from rankloop.data.catalogue import CATALOGUE
    from rankloop.data.worlds import WORLDS

    if found:
        stored = table("stored", "queries", "documents", "features", "folds", "scale", "disk", "from")
        for entry in found:
            stored.add_row(
                entry.name, f"{entry.queries:,}", f"{entry.documents:,}", str(entry.features),
                ",".join(map(str, entry.folds)) or "–", "–" if entry.scale is None else f"{entry.scale:g}",
                size(entry.disk_bytes), entry.source or "made here",
            )  # fmt: skip
        print_table(stored)
        out.print()
    worlds = table("synthetic worlds", "queries", "features", "")
    for world in WORLDS.values():
        worlds.add_row(world.name, f"{sum(world.queries.values()):,}", str(world.features), world.title)
    print_table(worlds)
    out.print()
    published = table("published sets", "features", "grades", "")
    for known in CATALOGUE.values():
        features = " or ".join(map(str, known.features))
        published.add_row(known.id, features, f"0–{known.highest_grade}", known.title)
    print_table(published)
    out.print("\nImport your copy of a published set with: rankloop data add ID PATH")


def show_report(report: "Report") -> None:
    """Everything about one collection."""
    out.print(f"[bold]{report.name}[/bold]  {report.features} features, {size(report.disk_bytes)}")
    out.print(f"  from        {report.source or 'made here'}")
    out.print(f"  normalised  {'yes' if report.normalised else 'no'} ({report.normalisation})")
    shapes = table("", "queries", "documents", "per query", "nothing relevant", "documents by grade")
    for fold, splits in report.folds.items():
        for split, shape in splits.items():
            shapes.add_row(
                f"  {fold} {split}", f"{shape.queries:,}", f"{shape.documents:,}",
                f"{shape.shortest} – {shape.mean:.1f} – {shape.longest}", f"{shape.nothing_relevant:,}",
                " ".join(f"{count:,}" for count in shape.grades),
            )  # fmt: skip
    if report.folds:
        print_table(shapes)
    for difference in report.differences:
        out.print(f"  [yellow]differs[/yellow]  {difference}")


def show_benchmark(results: Any) -> None:
    """The benchmark's table."""
    for section in results.sections:
        made = table(*section.columns, title=section.title)
        for row in section.rows:
            made.add_row(*row)
        print_table(made)
        out.print()
