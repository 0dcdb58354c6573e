"""The studies of a folder, read when they are asked for and again when their files have changed.

Nothing is written: the folder may be somebody else's, and a study may be running in it.
"""

import os
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from rankloop.errors import RankloopError
from rankloop.studies import figures, report
from rankloop.studies.blocks import Block, Definitions, Folded, Heading, Paragraph
from rankloop.studies.coverage import asked_of, runs_of
from rankloop.studies.held import read_starts
from rankloop.studies.records import Results
from rankloop.web.studies import pictures
from rankloop.web.studies.finished import count_finished, is_summarised, read_finished, read_study
from rankloop.web.studies.folders import find_studies
from rankloop.web.studies.reading import read_markdown

FRESH_SECONDS = 900
"""A study without a summary whose last run is older than this has been stopped, as far as anybody can tell."""
KEPT = 8
"""Reports kept in memory."""

State = Literal["complete", "in progress", "partial", "report only", "unreadable"]
Mark = tuple[int, ...]


class Standing(NamedTuple):
    """How a study stands: what the list shows.

    Attributes:
        address: its word in the address of its page.
        place: its folder, below the one that is shown.
        title, question: its own words.
        state: what its files tell.
        runs: how many, in words.
        finished, wanted: the same as numbers; None if only a report was kept.
        collections: what it runs on, in words.
        changed: when its last result appeared, in seconds since 1970.
        mark: changes whenever the results do.
        trouble: why it cannot be shown, if it cannot.
    """

    address: str
    place: str
    title: str
    question: str
    state: State
    runs: str
    finished: int | None
    wanted: int | None
    collections: str
    changed: float
    mark: str
    trouble: str = ""


class Opened(NamedTuple):
    """A study's report: its blocks and pictures; the results themselves if the folder has them."""

    standing: Standing
    folder: Path
    blocks: list[Block]
    pictures: dict[str, pictures.Drawn]
    results: Results | None


class Shelf:
    """What `rankloop report DIR --serve` shows."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Drawing and reading take one at a time: matplotlib's style is global, and the cores have other work.
        self._lock = threading.RLock()
        self._standings: dict[str, tuple[Mark, Standing]] = {}
        self._opened = lru_cache(maxsize=KEPT)(self._open)

    def standings(self) -> list[Standing]:
        """Every study that is there now, the one that changed last first."""
        with self._lock:
            standings = [self._standing(address, folder) for address, folder in find_studies(self.root).items()]
        return sorted(standings, key=lambda one: -one.changed)

    def standing(self, address: str) -> Standing | None:
        """How one study stands now; None if there is none at that address."""
        with self._lock:
            folder = find_studies(self.root).get(address)
            return None if folder is None else self._standing(address, folder)

    def open(self, address: str) -> Opened | None:
        """A study's report as of now; None if there is none at that address."""
        with self._lock:
            folder = find_studies(self.root).get(address)
            return None if folder is None else self._opened(address, folder, _mark(folder))

    def _open(self, address: str, folder: Path, mark: Mark) -> Opened:
        """A report as of its files' mark: with another one it is another report."""
        standing = self._standing(address, folder)
        if standing.trouble:
            return Opened(standing, folder, [], {}, None)
        if not (folder / "study.toml").is_file():
            blocks = read_markdown((folder / "report.md").read_text(encoding="utf-8"))
            return Opened(standing, folder, blocks, pictures.kept(folder, blocks), None)
        try:
            results = read_finished(folder, read_study(folder))
            drawn = figures.figures_for(results.by())
            written = folder / "results.parquet" if is_summarised(folder) else None
            # The study's own file takes the place of the same as JSON.
            settings = Folded("The study as TOML", (folder / "study.toml").read_text(encoding="utf-8"))
            blocks = [settings if isinstance(one, Folded) else one for one in report.blocks_for(results, drawn)]
            return Opened(standing, folder, blocks, pictures.drawn(folder, drawn, written), results)
        except (RankloopError, OSError, UnicodeDecodeError) as error:
            return Opened(standing._replace(trouble=str(error), state="unreadable"), folder, [], {}, None)

    def _standing(self, address: str, folder: Path) -> Standing:
        mark = _mark(folder)
        known = self._standings.get(address)
        if known is None or known[0] != mark or known[1].state == "in progress":
            place = folder.name if folder == self.root else folder.relative_to(self.root).as_posix()
            self._standings[address] = mark, _stand(folder, address, _printable(place))
        return self._standings[address][1]


def _mark(folder: Path) -> Mark:
    """Changes whenever the results do."""
    mark: list[int] = []
    for name in ("study.toml", "results.parquet", "report.md", "runs"):
        try:
            status = (folder / name).stat()
            mark += [status.st_mtime_ns, status.st_size]
        except OSError:
            mark += [0, 0]
    return tuple(mark)


def _stand(folder: Path, address: str, place: str) -> Standing:
    mark = _mark(folder)
    changed = max(mark[::2]) / 1e9
    word = f"{hash(mark) & 0xFFFF_FFFF:08x}"
    empty = Standing(address, place, place, "", "partial", "–", None, None, "", changed, word)
    read = _stand_of_results if (folder / "study.toml").is_file() else _stand_of_report
    try:
        return read(folder, empty)
    except (RankloopError, OSError, UnicodeDecodeError) as error:
        return empty._replace(state="unreadable", trouble=str(error))


def _stand_of_results(folder: Path, empty: Standing) -> Standing:
    study = read_study(folder)
    asked = asked_of(study, read_starts(folder))
    wanted, changed = len(asked), empty.changed
    empty = empty._replace(title=_printable(study.title or study.name), question=_printable(study.question))
    try:
        finished = count_finished(folder, study)
    except RankloopError as error:
        return empty._replace(state="unreadable", trouble=str(error))
    if finished and is_summarised(folder):
        changed = (folder / "results.parquet").stat().st_mtime
    state: State = "partial"
    if finished >= wanted:
        state = "complete"
    elif not is_summarised(folder) and time.time() - changed < FRESH_SECONDS:
        state = "in progress"
    return empty._replace(
        state=state, runs=runs_of(finished, wanted), finished=finished, wanted=wanted, changed=changed,
        collections=_printable(", ".join(dict.fromkeys(cell.source.name for cell in asked))),
    )  # fmt: skip


def _stand_of_report(folder: Path, empty: Standing) -> Standing:
    blocks = read_markdown((folder / "report.md").read_text(encoding="utf-8"))
    title = next((one.text for one in blocks if isinstance(one, Heading)), empty.place)
    question = next((one.text for one in blocks if isinstance(one, Paragraph) and one.kind == "question"), "")
    facts = [pair for one in blocks if isinstance(one, Definitions) for pair in one.pairs]
    runs = next((value.removesuffix(" finished") for name, value in facts if name == "runs"), "–")
    collections = ", ".join(value.split(":")[0].split(" (")[0] for name, value in facts if name == "collection")
    return empty._replace(title=title, question=question, state="report only", runs=runs, collections=collections)


def _printable(text: str) -> str:
    """A name of a file may hold bytes that are no text; a page cannot."""
    return os.fsencode(text).decode("utf-8", "replace")
