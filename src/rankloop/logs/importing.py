"""A log into an empty store, of either kind: all of it or nothing. Backups are logs that were put aside."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from rankloop.errors import DataError, SettingsError
from rankloop.files import written_whole
from rankloop.live.stores import SQLiteStore, opened
from rankloop.live.stores.contract import TABLES, Store, key_columns
from rankloop.logs.access import Rows, at_one_moment, existing, is_shared, load
from rankloop.logs.exported import ORDER, Exported, Progress, in_chunks, require_schema, write_export

NUMBERS_SKIPPED = 1_000_000_000
"""How far a restored store moves each model's impression numbers on: ids that were given out after the backup was
made, and lost with the log, must not come to name other pages."""
SQLITE = b"SQLite format 3\0"


def import_log(
    path: str | os.PathLike[str], address: str | Path, *, skip_numbers: int = 0, progress: Progress | None = None
) -> dict[str, int]:
    """Put an exported log into an empty store, all or nothing; rows by table.

    Ids, offsets, impression numbers, keys and secrets are those of the exported store, so that a service goes on with
    this one where it stopped with the other.
    """
    exported = Exported(path, progress)
    with _empty(address) as store:
        load(store, _moved_on(exported.frames(progress), skip_numbers))
    return exported.counts


def back_up(
    address: str | Path, path: str | os.PathLike[str], at: int, progress: Progress | None = None
) -> dict[str, int]:
    """Put a copy aside while the service runs: SQLite's own online backup, or an export of a server's log.

    Gives the number of rows by table.
    """
    if is_shared(address):
        with at_one_moment(address) as store:
            return write_export(store, path, at, progress)
    target = Path(path)
    with existing(address) as store:
        assert isinstance(store, SQLiteStore)
        if target.exists() and target.samefile(store.path):
            raise SettingsError(f"backup: {target} is the log itself; give another file")
        with written_whole(target, private=True) as partial:
            try:
                return _copy(store.path, partial, progress)
            except sqlite3.Error as error:
                raise DataError(f"cannot write {target}: {error}") from None


def restore(path: str | os.PathLike[str], address: str | Path, progress: Progress | None = None) -> dict[str, int]:
    """Make a store from a backup of either kind, into an empty store of either kind, all or nothing; rows by table.

    Impression numbers skip far ahead: whoever still holds an id that was given out after the backup was made must not
    click on somebody else's page.
    """
    if not _is_sqlite(path):
        return import_log(path, address, skip_numbers=NUMBERS_SKIPPED, progress=progress)
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as source:
        try:
            require_schema(Path(path), source.execute("PRAGMA user_version").fetchone()[0])
            counts = _counts(source)
            with _empty(address) as store:
                load(store, _moved_on(_frames(source, counts["events"], progress), NUMBERS_SKIPPED))
        except sqlite3.Error as error:
            raise DataError(f"cannot read {path}: {error}") from None
    return counts


def _copy(source: Path, target: Path, progress: Progress | None) -> dict[str, int]:
    """One consistent moment: in a single step, so that what is written meanwhile does not make it begin again."""
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        here.backup(there)
        there.execute("PRAGMA journal_mode = DELETE")  # one file, without a -wal beside it
        if (told := there.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise DataError(f"{source} is damaged, so a backup would be too: {told}")
        counts = _counts(there)
        if progress:
            progress(counts["events"], counts["events"])
    return counts


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    return {table: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in TABLES}


def _frames(source: sqlite3.Connection, events: int, progress: Progress | None) -> Iterator[tuple[str, Rows]]:
    done = 0
    for table in ORDER:
        for rows in in_chunks(source.execute(f"SELECT * FROM {table} ORDER BY {key_columns(table)}")):
            yield table, rows
            if table == "events" and progress:
                done += len(rows)
                progress(done, events)


def _moved_on(frames: Iterable[tuple[str, Rows]], numbers: int) -> Iterator[tuple[str, Rows]]:
    """The same rows, with each model's next impression number (its last column) further on."""
    for table, rows in frames:
        yield table, [(*row[:-1], row[-1] + numbers) for row in rows] if table == "models" else rows


@contextmanager
def _empty(address: str | Path) -> Iterator[Store]:
    """An empty store to fill. A file that was made for it is taken away again if it was not filled."""
    made = not is_shared(address) and not Path(address).exists()
    try:
        with opened(address) as store:
            found = [table for table in TABLES if any(True for _ in store.export_rows(table))]
            if found:
                raise SettingsError(
                    f"{store!r} is not empty: there are {', '.join(found)}; give a new file, or an empty database "
                    f"that no service was started on"
                )
            yield store
    except BaseException:
        if made:
            for ending in ("", "-wal", "-shm"):
                Path(f"{address}{ending}").unlink(missing_ok=True)
        raise


def _is_sqlite(path: str | os.PathLike[str]) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
