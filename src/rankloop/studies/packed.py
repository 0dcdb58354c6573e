"""A results folder small enough to send: what reports and verdicts are made of, without weights and query results.

A pack is a tar file with the folder's study, its starts and one table of its runs. Unpacked, it is a results folder
that `rankloop report` and `rankloop results` read; its runs cannot be verified, and a study does not go on from it.
"""

import io
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.errors import DataError
from rankloop.files import written_whole
from rankloop.studies.held import STARTED
from rankloop.studies.records import read_results, require_finished

_CURVES = ("offline_curve", "online_curve")
_SMALL = pa.list_(pa.float32())


def pack(folder: Path, to: Path) -> int:
    """Write the pack of a results folder, whole or not at all; how many runs it holds."""
    results = require_finished(read_results(folder), folder)
    sheet = io.BytesIO()
    pq.write_table(_without_weights(results.to_arrow()), sheet, compression="zstd", compression_level=15)
    try:
        with written_whole(to) as partial, tarfile.open(partial, "w") as archive:
            _add(archive, "results.parquet", sheet.getvalue())
            for name in ("study.toml", STARTED):
                if (folder / name).exists():
                    _add(archive, name, (folder / name).read_bytes())
    except OSError as error:
        raise DataError(f"cannot write {to}: {error.strerror}") from None
    return len(results.records)


def _without_weights(runs: pa.Table) -> pa.Table:
    """Curves in single precision, which is more than they are drawn or compared with, and no weights."""
    for name in _CURVES:
        runs = runs.set_column(runs.schema.get_field_index(name), name, runs.column(name).cast(_SMALL))
    nothing = pa.array([[]] * runs.num_rows, pa.list_(pa.float64()))
    return runs.set_column(runs.schema.get_field_index("weights"), "weights", nothing)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))
