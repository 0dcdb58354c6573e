"""Changing a study from the command line: other data, other settings, a smaller look. Each gives a new study."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rankloop.data import add, listing
from rankloop.data.layout import find_layout
from rankloop.data.worlds import WORLDS
from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS
from rankloop.settings import parse_value, require_whole_number
from rankloop.studies.specification import Cell, Grid, Source, Study, source_of


def with_plugins(study: Study, references: Iterable[str]) -> Study:
    """More plugins, as `rankloop.plugins.load` found them."""
    return replace(study, plugins=tuple(dict.fromkeys((*study.plugins, *references))))


def with_data(study: Study, choices: Iterable[str]) -> Study:
    """`ID=PATH`: the real collection in the place of its stand-in; `NAME_OR_PATH`, once or more: these for all."""
    instead = []
    for choice in choices:
        name, equals, path = choice.partition("=")
        if equals:
            study = _with_sources(study, partial(_real, name=name, path=path))
            if not any(_stands_for(source) == name for source in _sources(study)):
                known = sorted({one for source in _sources(study) if (one := _stands_for(source))})
                raise SettingsError(
                    f"study {study.name}: nothing stands in for {name!r}; it has {', '.join(known) or 'no stand-ins'}"
                )
        else:
            instead.append(Source(data=located(choice), folds=_folds_of(choice)))
    if not instead:
        return study
    names = [source.name for source in instead]
    if len(set(names)) != len(names):
        raise SettingsError(f"every --data needs a different name; got {', '.join(names)}")
    return _with_collections(study, lambda _values: tuple(instead))


def with_places(study: Study) -> Study:
    """Collections that are paths by their absolute ones, so that the study runs from anywhere; with all their folds,
    where it names none."""
    if all(placed(source) == source for source in _sources(study)):
        return study
    return _with_sources(study, placed)


def placed(source: Source) -> Source:
    """A path as one that holds from anywhere, and the folds of an own collection: repeats are spread over all of them
    unless some are named. Of a synthetic world it is the first one."""
    folds = _folds_of(source.data) if source.folds is None else None
    spread = folds if folds is not None and len(folds) > 1 else source.folds
    return replace(source, data=located(source.data), folds=spread)


def located(data: str) -> str:
    """A path as one that holds from anywhere; a name as it is."""
    if data in WORLDS or any(entry.name == data and entry.kind == "named" for entry in listing()):
        return data
    path = Path(data).expanduser()
    return str(path.absolute()) if path.exists() else data


def without_absent(study: Study) -> tuple[Study, list[str]]:
    """Without the optional collections that nobody has imported; and a sentence about each."""
    named = {entry.name for entry in listing() if entry.kind == "named"}
    where = f"study {study.name}"

    def is_absent(value: Any) -> bool:
        source = source_of(value, where)
        return source.optional and source.data not in named

    absent = {source.data: source for source in _sources(study) if is_absent(source)}
    if not absent:
        return study, []
    kept = _with_collections(study, lambda values: tuple(value for value in values if not is_absent(value)))
    said = [
        f"{one.name} is left out: nothing is imported as {one.data}; bring it with --data {one.data}=PATH"
        for one in absent.values()
    ]
    return kept, said


def with_scale(study: Study, scale: float | None) -> Study:
    """Synthetic worlds at another size."""
    if scale is None:
        return study
    if not any(source.data in WORLDS for source in _sources(study)):
        raise SettingsError(f"study {study.name}: only synthetic worlds have a scale, and it uses none")
    return _with_sources(study, lambda source: replace(source, scale=scale) if source.data in WORLDS else source)


def with_fold(study: Study, fold: int | None) -> Study:
    """One fold instead of all."""
    if fold is None:
        return study
    return _with_sources(study, lambda source: replace(source, folds=(fold,)))


def with_numbers(
    study: Study, *, impressions: int | None = None, repeats: int | None = None, seed: int | None = None
) -> Study:
    """Other numbers for the study and all its grids; a long grid keeps its proportion, a curve its number of points."""
    if impressions is not None:
        grids = tuple(_resized(grid, study, impressions) for grid in study.grids)
        every = _scaled(study.evaluate_every, study.impressions, impressions)
        study = replace(study, impressions=impressions, evaluate_every=every, grids=grids)
    if repeats is not None:
        grids = tuple(grid if grid.repeats is None else replace(grid, repeats=repeats) for grid in study.grids)
        study = replace(study, repeats=repeats, grids=grids)
    return study if seed is None else replace(study, seed=seed)


def with_repeats(study: Study, choices: Iterable[str]) -> Study:
    """`15`: so many repeats of everything; `COLTR=15`: of one method, whatever the others have."""
    for choice in choices:
        method, equals, text = choice.rpartition("=")
        repeats = require_whole_number(f"study {study.name}", "repeats", parse_value(text), at_least=1)
        if not equals:
            study = with_numbers(study, repeats=repeats)
            continue
        if not any(learner["learner"] == method for grid in study.grids for learner in grid.learners):
            raise SettingsError(f"--repeats takes N or METHOD=N; study {study.name} has no method {method!r}")
        grids = [
            replace(grid, learners=tuple(
                learner | {"repeats": repeats} if learner["learner"] == method else learner for learner in grid.learners
            ))
            for grid in study.grids
        ]  # fmt: skip
        study = replace(study, grids=tuple(grids))
    return study


def with_metrics(study: Study, names: Iterable[str]) -> Study:
    """Measured by these metrics instead; the first is what tables and figures show."""
    chosen = tuple(names)
    return replace(study, metrics=chosen) if chosen else study


def with_settings(study: Study, assignments: Iterable[str]) -> Study:
    """`learner.learning_rate=0.03` for every learner that has the setting, `ROLTR.discount=0.5` for one method."""
    for assignment in assignments:
        target, equals, text = assignment.partition("=")
        method, dot, setting = target.partition(".")
        if not equals or not dot or (method != "learner" and method not in LEARNERS):
            raise SettingsError(
                f"--set takes learner.SETTING=VALUE or METHOD.SETTING=VALUE, METHOD one of {', '.join(LEARNERS)}; "
                f"got {assignment!r}"
            )
        study = _with_setting(study, method, setting, parse_value(text))
    return study


def only(cells: list[Cell], words: Iterable[str]) -> list[Cell]:
    """The cells that match words: methods, labels, users, collections, grids; words of one kind add up."""
    kinds: dict[str, Callable[[Cell], Any]] = {
        "learner": lambda cell: cell.learner.name,
        "label": lambda cell: cell.label,
        "user": lambda cell: cell.user.name,
        "collection": lambda cell: cell.source.name,
        "grid": lambda cell: cell.grid,
    }
    wanted: dict[str, set[str]] = {}
    for word in words:
        kind = next((kind for kind, of in kinds.items() if any(of(cell) == word for cell in cells)), None)
        if kind is None:
            there = sorted({of(cell) for of in kinds.values() for cell in cells})
            raise SettingsError(f"--only {word!r} matches nothing; choose from {', '.join(map(repr, there))}")
        if kind == "learner":  # a method stands for its labels
            wanted.setdefault("label", set()).update(cell.label for cell in cells if cell.learner.name == word)
        else:
            wanted.setdefault(kind, set()).add(word)
    return [cell for cell in cells if all(kinds[kind](cell) in values for kind, values in wanted.items())]


def _with_setting(study: Study, method: str, setting: str, value: Any) -> Study:
    touched = False
    grids = []
    for grid in study.grids:
        learners = []
        for learner in grid.learners:
            applies = method in ("learner", learner["learner"])
            if applies and setting in LEARNERS[learner["learner"]].__struct_fields__:
                learner, touched = learner | {setting: value}, True
            learners.append(learner)
        grids.append(replace(grid, learners=tuple(learners)))
    if not touched:
        raise SettingsError(f"study {study.name}: no {method} in it has a setting {setting!r}")
    return replace(study, grids=tuple(grids))


def _scaled(every: int, before: int, after: int) -> int:
    return max(1, round(every * after / before)) if every else 0


def _resized(grid: Grid, study: Study, impressions: int) -> Grid:
    if grid.impressions is None:
        return grid
    own = round(impressions * (grid.impressions / study.impressions))
    every = grid.evaluate_every and _scaled(grid.evaluate_every, grid.impressions, own)
    return replace(grid, impressions=own, evaluate_every=every)


def _sources(study: Study) -> list[Source]:
    every = [*study.collections, *(value for grid in study.grids for value in grid.collections or ())]
    return [source_of(value, f"study {study.name}") for value in every]


def _with_sources(study: Study, change: Callable[[Source], Source]) -> Study:
    where = f"study {study.name}"
    return _with_collections(study, lambda values: tuple(change(source_of(value, where)) for value in values))


def _with_collections(study: Study, change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Study:
    grids = tuple(
        grid if grid.collections is None else replace(grid, collections=change(grid.collections))
        for grid in study.grids
    )
    return replace(study, collections=change(study.collections), grids=grids)


def _stands_for(source: Source) -> str | None:
    """The name under which `--data NAME=PATH` brings the real collection."""
    return source.stands_for or (source.data if source.optional else None)


def _real(source: Source, name: str, path: str) -> Source:
    if _stands_for(source) != name:
        return source
    stored = [entry for entry in listing() if entry.name == name and entry.kind == "named"]
    if not any(entry.source == str(Path(path).expanduser().absolute()) for entry in stored):
        add(name, path)
    return replace(source, data=name, scale=1.0, folds=_folds_of(name))


def _folds_of(data: str) -> tuple[int, ...] | None:
    if data in WORLDS:
        return None
    for entry in listing():
        if entry.name == data and entry.kind == "named":
            return tuple(entry.folds) or None
    path = Path(data).expanduser()
    if not path.is_dir():
        return None
    folds = [name.removeprefix("fold") for name in find_layout(path).folds if name.startswith("fold")]
    return tuple(sorted(map(int, folds))) or None
