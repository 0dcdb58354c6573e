"""`rankloop log …`: call, and say what was done."""

from pathlib import Path
from typing import Any

from rankloop.cli.terminal import err, out, print_json, print_table, table
from rankloop.display import size
from rankloop.errors import SettingsError
from rankloop.live.service import now
from rankloop.logs import importing
from rankloop.logs.access import at_one_moment
from rankloop.logs.exported import write_export
from rankloop.logs.progress import progress_after_a_while
from rankloop.logs.refolding import refold
from rankloop.logs.trimming import compact, erase
from rankloop.logs.ubi_file import FORMS, write_ubi
from rankloop.logs.verifying import verify
from rankloop.settings import require_choice

MOST_TOLD = 10


def main_export(address: str, path: Path, *, form: str, model: str | None, json: bool) -> None:
    """`rankloop log export`."""
    require_choice("export", "format", form, ("rankloop", *FORMS))
    if form == "rankloop" and model is not None:
        raise SettingsError("export: --model chooses pages for UBI; in its own format a log is exported as a whole")
    with progress_after_a_while("exporting", shown=not json) as tell, at_one_moment(address) as store:
        if form == "rankloop":
            counts = write_export(store, path, now(), tell)
        else:
            counts = write_ubi(store, path, form, model, tell)
    _tell(json, _counted(path, counts), f"{path}: {_listed(counts)}, {size(path.stat().st_size)}")


def main_import(path: Path, address: str, *, json: bool) -> None:
    """`rankloop log import`."""
    with progress_after_a_while("importing", shown=not json) as tell:
        counts = importing.import_log(path, address, progress=tell)
    _tell(json, {"counts": counts}, f"imported {_listed(counts)}")


def main_backup(address: str, path: Path, *, json: bool) -> None:
    """`rankloop log backup`."""
    with progress_after_a_while("backing up", shown=not json) as tell:
        counts = importing.back_up(address, path, now(), tell)
    _tell(json, _counted(path, counts), f"{path}: {_listed(counts)}, {size(path.stat().st_size)}")


def main_restore(path: Path, address: str, *, json: bool) -> None:
    """`rankloop log restore`."""
    with progress_after_a_while("restoring", shown=not json) as tell:
        counts = importing.restore(path, address, tell)
    _tell(json, {"counts": counts}, f"restored {_listed(counts)}")


def main_verify(address: str, *, json: bool) -> int:
    """`rankloop log verify`; 1 if something is wrong."""
    with progress_after_a_while("verifying", shown=not json) as tell:
        found = verify(address, tell)
    if json:
        print_json(found)
        return int(bool(found.problems))
    if found.models:
        made = table("model", "events folded", "snapshots", "computed again", "different", "from")
        for model in found.models:
            counts = (model.folded, model.snapshots, model.checked, model.different)
            made.add_row(model.name, *(f"{count:,}" for count in counts), model.begins)
        print_table(made)
    for problem in found.problems[:MOST_TOLD]:
        err.print(f"wrong: {problem}", markup=False)
    if len(found.problems) > MOST_TOLD:
        err.print(f"… and {len(found.problems) - MOST_TOLD:,} more (--json has all)")
    if not found.problems:
        out.print(f"{found.events:,} events up to {found.last_offset:,}: nothing is wrong")
    return int(bool(found.problems))


def main_compact(address: str, keep_days: float, *, json: bool) -> None:
    """`rankloop log compact`."""
    with progress_after_a_while("compacting", shown=not json) as tell:
        done = compact(address, keep_days, now(), tell)
    told = f"deleted {done.events:,} events and {done.snapshots:,} snapshots before {done.first_offset:,}; "
    told += f"the disk got {size(done.freed_bytes)} back" if done.shrunk else "their room is used for new events"
    _tell(json, done, told)


def main_erase(address: str, client: str, *, json: bool) -> None:
    """`rankloop log erase`."""
    done = erase(address, client)
    told = f"erased {done.impressions:,} impressions with their clicks"
    for model in done.models:
        told += f"\nwhat {model} learned from them stays in its weights until: rankloop log refold … --model {model}"
    if done.impressions:
        told += "\nbackups and exports made before still hold them"
    _tell(json, done, told)


def main_refold(address: str, model: str, *, json: bool) -> None:
    """`rankloop log refold`."""
    with progress_after_a_while("folding", shown=not json) as tell:
        done = refold(address, model, now(), tell)
    told = (
        f"{model} was computed anew from {done.begins}, with {done.learned:,} learned impressions; "
        f"its weights moved by {done.distance:.4g}"
    )
    if done.forgotten:
        told += f"\n{done.forgotten:,} snapshots with the old weights were forgotten"
    if done.kept_states:
        told += f"\nthe log returns {done.kept_states:,} times to a state of unknown place; those stay as they were"
    if done.version is None:
        told += "\nthe service has not kept the new state yet; older snapshots are still there: run this again later"
    _tell(json, done, told)


def _tell(json: bool, document: Any, sentence: str) -> None:
    if json:
        print_json(document)
    else:
        out.print(sentence, markup=False)


def _counted(path: Path, counts: dict[str, int]) -> dict[str, Any]:
    return {"file": str(path), "bytes": path.stat().st_size, "counts": counts}


def _listed(counts: dict[str, int]) -> str:
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return ", ".join(told) or "nothing"
