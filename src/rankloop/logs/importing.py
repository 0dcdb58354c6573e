"""A log into an empty store, of either kind: all of it or nothing. Backups are logs that were put aside."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rankloop.errors import DataError, SettingsError
from rankloop.files import written_whole
from rankloop.live.stores import Store, is_server, opened, opened_copy
from rankloop.live.stores.rows import Rows
from rankloop.logs.access import existing
from rankloop.logs.exported import ORDER, Exported, Progress, frames_of, require_schema, silent, write_export

NUMBERS_SKIPPED = 1_000_000_000
"""How far a restored store moves each model's impression numbers on: ids that were given out after the backup was
made, and lost with the log, must not come to name other pages."""
SQLITE = b"SQLite format 3\0"


def import_log(
    path: str | os.PathLike[str], address: str | Path, *, skip_numbers: int = 0, progress: Progress = silent
) -> dict[str, int]:
    """Put an exported log into an empty store, all or nothing; rows by table.

    Ids, offsets, impression numbers, keys and secrets are those of the exported store, so that a service goes on with
    this one where it stopped with the other.
    """
    exported = Exported(path, progress)
    with _empty(address) as store:
        store.add_rows(_moved_on(exported.frames(progress), skip_numbers))
    return exported.counts


def back_up(address: str | Path, path: str | os.PathLike[str], at: int, progress: Progress = silent) -> dict[str, int]:
    """Put a copy aside while the service runs: the database's own, or an export of a server's log; rows by table."""
    target = Path(path)
    if not is_server(address) and target.exists() and target.samefile(address):
        raise SettingsError(f"backup: {target} is the log itself; give another file")
    with existing(address) as store, written_whole(target, private=True) as partial:
        if not store.copy_to(partial):
            with store.at_one_moment() as moment:
                return write_export(moment, partial, at, progress)
        with opened_copy(partial) as copy:
            counts = copy.count_rows()
        progress(counts["events"], counts["events"])
        return counts


def restore(path: str | os.PathLike[str], address: str | Path, progress: Progress = silent) -> dict[str, int]:
    """Make a store from a backup of either kind, into an empty store of either kind, all or nothing; rows by table.

    Impression numbers skip far ahead: whoever still holds an id that was given out after the backup was made must not
    click on somebody else's page.
    """
    if not begins_with(Path(path), SQLITE):
        return import_log(path, address, skip_numbers=NUMBERS_SKIPPED, progress=progress)
    with opened_copy(path) as copy:
        require_schema(Path(path), copy.format)
        counts = copy.count_rows()
        with _empty(address) as store:
            store.add_rows(_moved_on(frames_of(copy, progress), NUMBERS_SKIPPED))
    return counts


def _moved_on(frames: Iterable[tuple[str, Rows]], numbers: int) -> Iterator[tuple[str, Rows]]:
    """The same rows, with each model's next impression number (its last column) further on."""
    for table, rows in frames:
        yield table, [(*row[:-1], row[-1] + numbers) for row in rows] if table == "models" else rows


@contextmanager
def _empty(address: str | Path) -> Iterator[Store]:
    """An empty store to fill. A file that was made for it is taken away again if it was not filled."""
    made = not is_server(address) and not Path(address).exists()
    try:
        with opened(address) as store:
            filled = [table for table in ORDER if any(True for _ in store.export_rows(table))]
            if filled:
                raise SettingsError(
                    f"{store!r} is not empty: there are {', '.join(filled)}; give a new file, or an empty database "
                    f"that no service was started on"
                )
            yield store
    except BaseException:
        if made:
            for ending in ("", "-wal", "-shm"):
                Path(f"{address}{ending}").unlink(missing_ok=True)
        raise


def begins_with(path: Path, mark: bytes) -> bool:
    """Whether a file is of the kind that begins with these bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
