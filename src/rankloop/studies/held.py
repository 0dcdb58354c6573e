"""What a results folder holds besides the study and its records: how it was started, and records of other settings.

A folder keeps every run that was ever finished in it. A report is about the study as it was started last, and says what
it leaves out; commands are kept with absolute paths, so that they work from anywhere.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.display import counted, listed
from rankloop.files import write_text

STARTED = "started.json"
Settings = dict[str, Any]
_SETTINGS = ("learner", "user", "seed", "impressions", "evaluate_every", "page_size", "metrics", "gradient_variance")


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """One start of a study: the command, and the words of `--only` that chose a part of it.

    `on` is `gpu` where a device was to run it, and `beside` says what ran on the CPU all the same, and why.
    """

    command: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    on: str = ""
    beside: str = ""


def note_start(folder: Path, study: str, start: Start) -> None:
    """Write down a start, before the folder's study.toml becomes `study`; earlier ones of the same study stay."""
    earlier = read_starts(folder) if _same_study(folder, study) else ()
    starts = list(dict.fromkeys((*earlier, start)))
    if starts[-1].on != start.on:  # which engine's records count is said by the last one
        starts = [one for one in starts if one != start] + [start]
    write_text(folder / STARTED, [msgspec.json.format(msgspec.json.encode(starts), indent=1).decode() + "\n"])


def read_starts(folder: Path) -> tuple[Start, ...]:
    """How the study of a folder was started; nothing where that was not written down."""
    try:
        return msgspec.json.decode((folder / STARTED).read_bytes(), type=tuple[Start, ...])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ()


def _same_study(folder: Path, study: str) -> bool:
    try:
        return (folder / "study.toml").read_text(encoding="utf-8") == study
    except (OSError, UnicodeDecodeError):
        return False


def left_out(folder: Path, shown: Mapping[str, Settings], asked: Callable[[int], Iterable[Settings]]) -> str:
    """Which records of a folder a report does not show, and why: `2 runs of 500 impressions`.

    `shown` are the settings of the runs that it does show, by key. `asked(grades)` gives those that the study asks for
    on collections with so many grades, failed runs included.
    """
    known = _Known(shown.values(), asked)
    reasons = Counter(
        known.reason(path)
        for path in sorted((folder / "runs").glob("*.parquet"))
        if path.stem not in shown and not path.name.startswith(".")
    )
    return listed([f"{counted(number, 'run')} {reason}" for reason, number in reasons.items()]) if reasons else ""


class _Known:
    """The settings that are shown or asked for, to say how others differ."""

    def __init__(self, settings: Iterable[Settings], asked: Callable[[int], Iterable[Settings]]) -> None:
        shown = list(settings)
        self._whole = {_text(one) for one in shown}
        self._asked = cache(lambda grades: {_text(one) for one in asked(grades)})
        self._hashes = {one.get("data", {}).get("hash") for one in shown}
        self._impressions = {one.get("impressions") for one in shown}
        self._seeds = {one.get("seed") for one in shown}

    def reason(self, path: Path) -> str:
        try:
            settings = json.loads(pq.read_table(path, columns=["settings"]).column(0)[0].as_py())
            data, impressions = settings["data"], int(settings["impressions"])
        except (OSError, pa.ArrowException, ValueError, KeyError, IndexError, TypeError):
            return "that cannot be read"
        if data["hash"] not in self._hashes:
            return f"on {data['name']} (--data may name several collections)"
        if impressions not in self._impressions:
            return f"of {impressions:,} impressions"
        if (text := _text(settings)) in self._whole or text in self._asked(data["grades"]):
            return "of other sources (the code has changed since)"
        return "with other seeds" if settings["seed"] not in self._seeds else "with other settings"


def _text(settings: Settings) -> str:
    """What two runs on the same collection can differ by, as one text."""
    return json.dumps({name: settings.get(name) for name in _SETTINGS}, sort_keys=True)
