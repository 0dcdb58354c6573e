"""Running a study: plan, do what is missing, keep every finished run.

A run's record is keyed by what determines its result. So a second start does only what is missing, changing one learner
runs that learner alone, and two grids that need the same run share it. Whatever kills the process costs only the runs
in flight: on a device, those of a batch.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from rankloop.data import Collection
from rankloop.engines import Engine
from rankloop.errors import DataError, RankloopError, SettingsError
from rankloop.files import locked, write_text
from rankloop.rankers import weight_count
from rankloop.runs.batches import Device, Load, reasons_in_words
from rankloop.runs.costs import RECORDING
from rankloop.runs.run import Run
from rankloop.sources import fingerprint_of
from rankloop.studies.found import Group, Met, find_records, group_of
from rankloop.studies.held import STARTED, Start, note_start
from rankloop.studies.mistakes import in_one_sentence
from rankloop.studies.places import Chosen, OnDevice, OnEngine, Place, Progress, WorkDone, collection_of
from rankloop.studies.records import (
    Results,
    key_of,
    read_records,
    record_path,
    with_folder,
    write_record,
    write_summary,
)
from rankloop.studies.specification import Cell, Study, to_toml

_MSLR = 125 * 136  # features of its mean query, the unit of learners' costs
_WHOLE = Start()
_EVALUATED_PER_SECOND = 4e9  # products of one feature and one weight
_WEIGHT_COST, _WEIGHT_SHARE = 1.0, 0.2  # of a network's weight, per feature: microseconds, and beside a linear one's


class Plan(NamedTuple):
    """The cells to be run with the keys of their records, what there is to do, and the command that asked for it."""

    study: Study
    folder: Path
    cells: list[tuple[Cell, str]]
    costs: dict[str, float]
    missing: list[tuple[Cell, str]]
    opened: dict[Group, Met]
    start: Start
    device: Mapping[str, Load] = MappingProxyType({})
    """The runs that a device is to compute, by key, and what they ask of it; the rest runs on the CPU."""

    @property
    def seconds(self) -> float:
        """How long one process would take, by experience; not counting what a device does."""
        return sum(self.costs[key] for _, key in self.on_cpu)

    @property
    def device_seconds(self) -> float:
        """How long a device would take."""
        return sum(self.costs[key] for _, key in self.on_device)

    @property
    def on_cpu(self) -> list[tuple[Cell, str]]:
        """What is missing and runs on the CPU."""
        return [(cell, key) for cell, key in self.missing if key not in self.device]

    @property
    def on_device(self) -> list[tuple[Cell, str]]:
        """What is missing and runs on the device: runs of one collection and seed stand beside each other."""
        mine = [(cell, key) for cell, key in self.missing if key in self.device]
        return sorted(mine, key=lambda one: (-one[0].impressions, one[0].source.name, one[0].fold or 0, one[0].seed))

    @property
    def impressions(self) -> int:
        """Impressions still to be shown."""
        return sum(cell.impressions for cell, _ in self.missing)

    @property
    def runs(self) -> int:
        """How many different runs the study has."""
        return len({key for _, key in self.cells})


class Outcome(NamedTuple):
    """What came of a study."""

    results: Results
    failures: list[tuple[str, str]]
    seconds: float


def make_plan(study: Study, cells: list[Cell], folder: Path, start: Start = _WHOLE) -> Plan:
    """Open (or import, or make) the collections, and find out which runs are missing.

    If the study is started on a device, the runs that have device code are meant for it.
    """
    _require_own(folder, study)
    opened: dict[Group, Collection] = {}
    made: set[tuple[Any, ...]] = set()
    places = Chosen(start.on == "gpu")
    keyed, costs = [], {}
    for cell in cells:
        place = group_of(cell)
        with in_one_sentence():
            if place not in opened:
                opened[place] = collection_of(cell)
            cell = cell.on(opened[place])
            _require_possible(cell, opened[place], place, made)
            engine = places.engine(cell, opened[place], place)
            key = key_of(cell, opened[place].content_hash, engine)
            keyed.append((cell, key))
            places.note(engine, key, cell, opened[place])
            costs[key] = places.device[key].seconds + RECORDING if engine else _seconds(cell, opened[place])
    met = {place: Met(data.content_hash, data.grades) for place, data in opened.items()}
    start = msgspec.structs.replace(start, beside=reasons_in_words(places.reasons()))
    return Plan(study, folder, keyed, costs, _missing(folder, keyed, costs), met, start, places.device)


def _require_possible(cell: Cell, data: Collection, place: Group, made: set[tuple[Any, ...]]) -> None:
    """Make the cell's user and learner as a run does, once for all seeds: what they refuse is told before any run."""
    for what, name, one in (("user", cell.user.name, cell.user), ("learner", cell.label, cell.learner)):
        if (this := (what, name, msgspec.json.encode(one), place, cell.page_size)) in made:
            continue
        made.add(this)
        with in_one_sentence(f"grid {cell.grid}, {what} {name}, {cell.source.name}"):
            if what == "user":
                one.compiled(cell.page_size, data.train)
            else:
                one.model(data.features, cell.page_size, cell.seed)


@contextmanager
def claimed(plan: Plan) -> Iterator[Plan]:
    """Work in the plan's folder alone inside the `with` block; the plan, with what is missing by now.

    A folder that was made for nothing is gone afterwards.
    """
    made = [folder for folder in (plan.folder, *plan.folder.parents) if not folder.exists()]
    try:
        with _locked(plan):
            text = to_toml(plan.study)
            note_start(plan.folder, text, plan.start)
            write_text(plan.folder / "study.toml", [text])
            yield plan._replace(missing=_missing(plan.folder, plan.cells, plan.costs))
    except BaseException:
        if made and not any((plan.folder / "runs").glob("*.parquet")):
            _remove(plan.folder, made)
        raise


@contextmanager
def _locked(plan: Plan) -> Iterator[None]:
    lock = plan.folder / ".lock"
    with ExitStack() as held:
        try:
            (plan.folder / "runs").mkdir(parents=True, exist_ok=True)
            mine = held.enter_context(locked(lock, wait=False))
            holder = "" if mine else lock.read_text(encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write results to {plan.folder}: {error.strerror}") from None
        if not mine:
            raise SettingsError(
                f"{holder or 'another process'} is working in {plan.folder}; wait for it, or choose another folder "
                f"with --out"
            )
        yield


def _remove(folder: Path, made: list[Path]) -> None:
    """Take away what was written before anything was finished, and the folders that were made for it."""
    for path in (folder / "study.toml", folder / STARTED):
        path.unlink(missing_ok=True)
    for empty in (folder / "runs", *made):
        with suppress(OSError):  # somebody else has put something there
            empty.rmdir()


def run_plan(plan: Plan, engine: Engine, show: Callable[[Progress], None], *, keep_only: bool = False) -> Outcome:
    """Run what is missing; a run that fails is reported with its cause and does not stop the others.

    The device of the plan, if it has one, works beside the engine. With `keep_only` the records are written, and
    nothing is made of them.
    """
    standing = WorkDone(plan.missing, plan.costs, plan.device)
    with ExitStack() as held:
        places: list[Place] = [OnEngine(engine, plan.on_cpu)]
        if plan.on_device:
            places.append(OnDevice(held.enter_context(Device()), plan.on_device, plan.device))
        while any(place.is_busy for place in places):
            for place in places:
                place.fill()
            running = {future: place for place in places for future in place.running}
            finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in finished:
                for cell, key, result in running[future].taken(future):
                    standing.note(cell, key, _keep(plan.folder, cell, key, result))
            names = [name for place in places for name in place.names()]
            show(standing.progress(names, sum(place.under_way() for place in places)))
    results = Results(plan.study, []) if keep_only else collect(plan)
    return Outcome(results, standing.failures, standing.seconds)


def collect(plan: Plan) -> Results:
    """The finished runs of a plan's study, those of earlier starts included; also written as two tables."""
    found = find_records(plan.folder, plan.study, plan.opened)
    results = with_folder(Results(plan.study, read_records(plan.folder, found)), plan.folder)
    write_summary(plan.folder, results)
    return results


def _keep(folder: Path, cell: Cell, key: str, result: Callable[[], Run]) -> str | None:
    """Write the record of a finished run; the cause if there is none."""
    try:
        run = result()
        if run.manifest["sources"] != fingerprint_of(cell.learner, cell.user):
            return "other sources computed it than the plan was made with (were they edited meanwhile?); start it again"
        write_record(folder, key, run)
    except RankloopError as error:
        return str(error)
    except BrokenProcessPool:
        return "its process was killed (out of memory?)"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _missing(folder: Path, cells: list[tuple[Cell, str]], costs: dict[str, float]) -> list[tuple[Cell, str]]:
    """What has no record yet; the longest first, so that all cores end together."""
    missing = {key: cell for cell, key in cells if not record_path(folder, key).exists()}
    return [(missing[key], key) for key in sorted(missing, key=lambda key: -costs[key])]


def _require_own(folder: Path, study: Study) -> None:
    """Refuse a folder that holds another study, or cannot hold one."""
    path = folder / "study.toml"
    try:
        holder = tomllib.loads(path.read_text(encoding="utf-8")).get("name")
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot write results to {folder}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise SettingsError(f"{path} is not a study; choose another folder with --out") from None
    if holder != study.name:
        raise SettingsError(
            f"{folder} holds the results of study {holder!r}, not of {study.name!r}; choose another folder with --out"
        )


def _seconds(cell: Cell, data: Collection) -> float:
    fixed, variable = map(float, cell.learner.cost)
    query_size = data.train.features.size / data.train.queries / _MSLR
    points = cell.impressions / cell.evaluate_every if cell.evaluate_every else 0
    # A linear ranker has one weight per feature; what a network has more is multiplied at the speed of tiles.
    more = weight_count(cell.learner.scoring_ranker, data.features) / data.features - 1.0
    learning = cell.impressions * (fixed + (variable + _WEIGHT_COST * more) * query_size) * 1e-6
    evaluated = data.test.features.size * (1.0 + _WEIGHT_SHARE * more)
    return learning + points * evaluated / _EVALUATED_PER_SECOND
