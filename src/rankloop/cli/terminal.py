"""What people see in a terminal: tables that align, progress on what takes long, plain lines when piped."""

import os
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

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

        def advance(word: str) -> None:
            nonlocal done
            done += 1
            if done == total or done * 10 // total > (done - 1) * 10 // total:
                err.print(f"{what}: {done} of {total} done ({word})")

        yield advance
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("[dim]{task.fields[word]}"),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what, total=total, word="")
        yield lambda word: progress.update(task, advance=1, word=word)


@contextmanager
def progress_after_a_while(what: str, *, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """For those who have waited two seconds: call the result with (done, total). A bar on a terminal, a line every ten
    seconds elsewhere."""
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True)
    task = bar.add_task(what, total=None)
    next_at = time.monotonic() + 2.0

    def update(done: int, total: int) -> None:
        nonlocal next_at
        if not shown or time.monotonic() < next_at:
            return
        if err.is_terminal:
            bar.start()
            bar.update(task, completed=done, total=total)
            next_at = time.monotonic() + 0.1
        else:
            err.print(f"{what}: {done:,} of {total:,}")
            next_at = time.monotonic() + 10.0

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()


def open_browser(address: str) -> None:
    """Show a page, if there is a screen: without one, the system might open a text browser in this very terminal."""
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)


def table(*columns: str, title: str | None = None) -> Table:
    """An empty table: the first column left, the others right, no box."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    return made


def print_table(made: Table, to: Console = out) -> None:
    """A table as wide as it needs to be: a terminal that is too narrow wraps it, but no number is cut short."""
    made.width = to.measure(made, options=to.options.update(width=10_000)).maximum
    to.print(made, crop=False, overflow="ignore", soft_wrap=True)
