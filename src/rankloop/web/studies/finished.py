"""The finished runs of a study, also of one that is still running.

The summary is written when a study ends; until then its records are read one by one.
"""

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.errors import DataError
from rankloop.studies.found import find_records
from rankloop.studies.records import Results, damaged_summary, read_records, read_results, with_folder
from rankloop.studies.specification import Study


def read_study(folder: Path) -> Study:
    """The study of a results folder."""
    try:
        return msgspec.toml.decode((folder / "study.toml").read_bytes(), type=Study)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"study.toml cannot be read: {error}") from None


def is_summarised(folder: Path) -> bool:
    """Whether results.parquet holds every run that there is: it is written when a study ends."""
    summary, runs = folder / "results.parquet", folder / "runs"
    if not summary.is_file() or not runs.is_dir():
        return summary.is_file()
    written = summary.stat().st_mtime_ns
    # The folder changes with every record that appears in it.
    return written >= max(runs.stat().st_mtime_ns, (folder / "study.toml").stat().st_mtime_ns)


def count_finished(folder: Path, study: Study) -> int:
    """How many runs of a study are finished; what two grids share counts twice, as it does in the report."""
    summarised = _summarised(folder)
    if is_summarised(folder):
        return summarised
    return max(summarised, len(find_records(folder, study)))


def read_finished(folder: Path, study: Study) -> Results:
    """The finished runs of a study: from its summary, or record by record while that is not up to date."""
    if is_summarised(folder):
        return read_results(folder)
    keyed = find_records(folder, study)
    if _summarised(folder) > len(keyed):  # a copy whose times say nothing, or records of another release
        return read_results(folder)
    return with_folder(Results(study, read_records(folder, keyed)), folder)


def _summarised(folder: Path) -> int:
    try:
        return int(pq.read_metadata(folder / "results.parquet").num_rows)
    except FileNotFoundError:
        return 0
    except (OSError, pa.ArrowException):
        raise damaged_summary(folder) from None
