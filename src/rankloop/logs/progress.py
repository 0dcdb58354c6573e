"""How far a long command is, on standard error, for those who have waited for two seconds."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rankloop.cli.terminal import err

QUIET = 2.0
EVERY = 10.0


@contextmanager
def progress_after_a_while(what: str, *, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Call the result with (done, total): a bar on a terminal, a line every ten seconds elsewhere."""
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True)
    task = bar.add_task(what, total=None)
    next_at = time.monotonic() + QUIET

    def tell(done: int, total: int) -> None:
        nonlocal next_at
        if not shown or time.monotonic() < next_at:
            return
        if err.is_terminal:
            bar.start()
            bar.update(task, completed=done, total=total)
            next_at = time.monotonic() + 0.1
        else:
            err.print(f"{what}: {done:,} of {total:,}")
            next_at = time.monotonic() + EVERY

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
