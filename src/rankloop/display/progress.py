"""How far a long computation is, for whoever looks: a bar in a terminal or a notebook, plain lines when piped.

The computation calls `update` now and then, from one thread. Nothing is shown for what takes less than a second.
"""

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any, Protocol

from rankloop.display import duration

_PATIENCE = 1.0  # seconds before anything is shown
_BETWEEN = 0.2  # seconds between two pictures of a bar

Update = Callable[[float, str], None]
"""Takes the share that is done, from 0 to 1, and a word on what was done last."""


class _Face(Protocol):
    def show(self, text: str, share: float) -> None: ...

    def close(self) -> None: ...


@contextmanager
def progress_bar(what: str, shown: bool | None = None) -> Iterator[Update]:
    """Call the result with the share done and a word; the bar is gone when the block ends.

    `shown`: None shows a bar where somebody looks (a terminal, a notebook), True prints lines elsewhere too, and False
    shows nothing.
    """
    face = _face(what, shown)
    began = next_at = time.monotonic()
    next_at += _PATIENCE

    def update(share: float, word: str) -> None:
        nonlocal next_at
        now = time.monotonic()
        if face is None or now < next_at:
            return
        next_at = now + _BETWEEN
        left = f", {duration((now - began) * (1 / share - 1))} to go" if 0 < share < 1 else ""
        face.show(f"{word}{left}", share)

    try:
        yield update
    finally:
        if face is not None:
            face.close()


def _face(what: str, shown: bool | None) -> _Face | None:
    if shown is False:
        return None
    if display := notebook_display():
        return _InNotebook(what, display)
    if sys.stderr.isatty():
        return _InTerminal(what)
    return _Lines(what) if shown else None


def notebook_display() -> Callable[..., Any] | None:
    """IPython's `display`, in a notebook; None in a terminal, in a script, and where there is no IPython."""
    loaded = sys.modules.get("IPython")
    shell = loaded.get_ipython() if loaded is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Callable[..., Any] = import_module("IPython.display").display
    return display


def say_why_it_waits(why: str) -> None:
    """Tell a person at a terminal; a worker's work is announced by whoever started it."""
    if sys.stderr.isatty() and multiprocessing.parent_process() is None:
        print(f"rankloop: {why}", file=sys.stderr)


class _InTerminal:
    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("[dim]{task.fields[word]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True, highlight=False), transient=True)
        self._task = self._bar.add_task(what, total=1.0, word="")

    def show(self, text: str, share: float) -> None:
        self._bar.start()
        self._bar.update(self._task, completed=share, word=text)

    def close(self) -> None:
        if self._bar.live.is_started:
            self._bar.stop()


class _InNotebook:
    """One line of HTML that is replaced in place: no widgets, no scripts."""

    def __init__(self, what: str, display: Callable[..., Any]) -> None:
        self._what, self._display = what, display
        self._handle: Any = None

    def show(self, text: str, share: float) -> None:
        self._put(
            f'<div style="font:0.85em sans-serif">{escape(self._what)} <progress value="{share:.4f}" max="1" '
            f'style="width:16em;vertical-align:middle"></progress> {100 * share:.0f} % · {escape(text)}</div>'
        )

    def close(self) -> None:
        if self._handle is not None:
            self._put("")

    def _put(self, html: str) -> None:
        content = {"text/html": html, "text/plain": ""}
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


class _Lines:
    """A line for every tenth."""

    def __init__(self, what: str) -> None:
        self._what, self._tenth = what, 0

    def show(self, text: str, share: float) -> None:
        if (tenth := int(10 * share)) > self._tenth:
            self._tenth = tenth
            print(f"{self._what}: {100 * share:.0f} %, {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass
