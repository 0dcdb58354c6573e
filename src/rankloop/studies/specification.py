"""A study is data: a TOML file that says which learners meet which users on which collections, and how often.

A file has defaults at the top and one or more grids; a grid may change any default. A run is a cell of a grid: one
collection and fold, one user, one learner, one seed. Repeats are spread evenly over the folds, and the methods of a
study share seeds, and so the sequence of queries: paired tests are honest.
"""

import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from rankloop import plugins, users
from rankloop.data import Collection
from rankloop.data.worlds import WORLDS
from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS, Learner, from_settings, to_settings
from rankloop.metrics.names import Metric, named, with_ndcg
from rankloop.mistakes import explained
from rankloop.settings import require_whole_number
from rankloop.studies.mistakes import in_one_sentence


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A collection of a study, and what is particular to it.

    Attributes:
        data: a synthetic world, an imported name or a path.
        label: its name in tables and figures.
        scale: the size of a synthetic world.
        folds: the folds that repeats are spread over; None: the only or first one, unless a command spreads them.
        stands_for: the published collection whose numbers are printed beside ours, if this is the real one, or whose
            place a synthetic world takes until `--data ID=PATH` brings the real one.
        settings: learner settings on this collection, by method: `{ROLTR = {learning_rate = 0.005}}`.
        optional: left out, and said so, where nothing has been imported under its name; `--data NAME=PATH` brings it.
    """

    data: str
    label: str = ""
    scale: float = 1.0
    folds: tuple[int, ...] | None = None
    stands_for: str | None = None
    settings: dict[str, dict[str, Any]] = {}
    optional: bool = False

    @property
    def name(self) -> str:
        """The label, or what names the data."""
        return self.label or Path(self.data).name

    def fold_of(self, repeat: int) -> int | None:
        """The fold that a repeat runs on."""
        return self.folds[repeat % len(self.folds)] if self.folds else None

    @property
    def is_published(self) -> bool:
        """Whether this is the real collection whose numbers were published."""
        return self.stands_for is not None and self.data not in WORLDS


# The paper's three collections, each played by a synthetic world until the real one is given.
SOURCES = {
    "mslr": Source(data="mslr-like", label="MSLR10K", folds=(1, 2, 3, 4, 5), stands_for="mslr-web10k"),
    "yahoo": Source(
        data="yahoo-like",
        label="Yahoo!",
        stands_for="yahoo-set1",
        settings={"ROLTR": {"learning_rate": 0.005}, "MDPRank": {"learning_rate": 0.005}},
    ),
    "istella": Source(data="istella-like", label="Istella", stands_for="istella"),
}


class Grid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Learners × users × collections × repeats. What is None is the study's own."""

    name: str
    title: str = ""
    learners: tuple[dict[str, Any], ...]
    users: tuple[str | dict[str, Any], ...] | None = None
    collections: tuple[str | dict[str, Any], ...] | None = None
    impressions: int | None = None
    repeats: int | None = None
    evaluate_every: int | None = None
    gradient_variance: bool = False


class Regret(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a study of regret compares with: see `rankloop.studies.regret`.

    Attributes:
        against: the label of the learner whose regret the others are divided by.
        margin: an end may be lower than the reference's by so much, and counts as no worse.
    """

    against: str
    margin: float = 0.005


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A whole study: defaults, and the grids that it consists of; `include` takes in the grids of other studies.

    `metrics` are names such as `ndcg@10` and `map`; one without a cut-off ends where the page ends. `plugins` are the
    modules that bring learners, users and rankers of one's own: by name as the file has them, or, in a study that was
    read from a file, by their files where they have one. With `claims` its report has a verdict on the paper's claims.
    With `regret`, the first grid is read as one of regrets, and later ones for where longer runs end; learners of one
    `family` are settings to choose from. A learner is not run on collections that its `without` names; one with
    `repeats` of its own has those, from the same first seed.
    """

    name: str
    title: str = ""
    question: str = ""
    plugins: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    seed: int = 1
    impressions: int = 100_000
    repeats: int = 15
    evaluate_every: int = 1000
    page_size: int = 10
    metrics: tuple[str, ...] = ("ndcg",)
    users: tuple[str | dict[str, Any], ...] = ("perfect", "noisy")
    collections: tuple[str | dict[str, Any], ...] = ("mslr",)
    claims: bool = False
    grids: tuple[Grid, ...] = ()
    regret: Regret | None = None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run, and where it stands in the study."""

    grid: str
    source: Source
    fold: int | None
    user: Any
    label: str
    learner: Any
    seed: int
    impressions: int
    evaluate_every: int
    page_size: int
    metrics: tuple[str, ...]
    gradient_variance: bool

    def on(self, data: Collection) -> "Cell":
        """The same cell on its collection: a user of the literature takes the table for its grades."""
        return msgspec.structs.replace(self, user=self.user.on(data))

    def graded(self, grades: int) -> "Cell":
        """The same cell on a collection of which only the number of grades is known."""
        return msgspec.structs.replace(self, user=self.user.graded(grades))

    def settings(self, content_hash: str) -> dict[str, Any]:
        """What determines the run's result, and nothing else: its record is keyed by this."""
        return {
            "learner": to_settings(self.learner),
            "user": users.to_settings(self.user),
            "data": content_hash,
            "seed": self.seed,
            "impressions": self.impressions,
            "evaluate_every": self.evaluate_every,
            "page_size": self.page_size,
            "metrics": list(self.metrics),
            "gradient_variance": self.gradient_variance,
        }


_LIBRARY = resources.files("rankloop.studies") / "library"


def names() -> list[str]:
    """The studies that come with the package."""
    return sorted(path.name.removesuffix(".toml") for path in _LIBRARY.iterdir() if path.name.endswith(".toml"))


def text_of(name: str) -> str:
    """The TOML text of a study that comes with the package."""
    if name not in names():
        raise SettingsError(f"no study named {name!r}; choose from {', '.join(names())}, or give a .toml file")
    return (_LIBRARY / f"{name}.toml").read_text(encoding="utf-8")


def load_study(name_or_path: str) -> Study:
    """A study by name, or from a file of the user's; checked, with its includes taken in."""
    path = Path(name_or_path)
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"cannot read the study {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise SettingsError(f"the study {path} is not UTF-8 text") from None
    else:
        text = text_of(name_or_path)
    return parse(text, str(name_or_path), path.parent)


def parse(text: str, where: str, beside: Path | None = None) -> Study:
    """A study from TOML text; what is wrong is reported with the key, the value and what is allowed.

    Its plugins are looked for in the folder `beside`, that of the file.
    """
    try:
        document = tomllib.loads(text)
        study = msgspec.convert(document, Study)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{where}: not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where}: {explained(error, Study, document)}") from None
    if study.name in ("", ".", "..") or not study.name.isprintable() or {"/", "\\"} & set(study.name):
        raise SettingsError(
            f"{where}: name must be one that a folder can have, without / and \\: results/NAME is where results go; "
            f"got {study.name!r}"
        )
    try:
        brought = dict.fromkeys(plugins.load(study.plugins, beside))
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None
    grids, claims = list(study.grids), study.claims
    for included in study.include:
        other = load_study(included)
        grids += [_with_defaults(grid, other) for grid in other.grids]
        brought |= dict.fromkeys(other.plugins)
        claims = claims or other.claims
    study = msgspec.structs.replace(study, include=(), plugins=tuple(brought), claims=claims, grids=tuple(grids))
    cells(study)  # every rule is checked before anything runs
    return study


def is_about_the_paper(study: Study) -> bool:
    """Whether a study asks for verdicts on the paper's claims; folders of before they were asked for have a name."""
    return study.claims or (study.name in names() and load_study(study.name).claims)


def to_toml(study: Study) -> str:
    """A study as the text of a study file."""
    return msgspec.toml.encode(_without_null(msgspec.to_builtins(study))).decode()


def _without_null(value: Any) -> Any:
    """TOML has no null: what is not set is left out."""
    if isinstance(value, dict):
        return {name: _without_null(entry) for name, entry in value.items() if entry is not None}
    return [_without_null(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _with_defaults(grid: Grid, study: Study) -> Grid:
    """An included grid carries its own study's defaults along."""
    inherited = {
        name: getattr(study, name)
        for name in ("users", "collections", "impressions", "repeats", "evaluate_every")
        if getattr(grid, name) is None
    }
    return msgspec.structs.replace(grid, **inherited)


def cells(study: Study) -> list[Cell]:
    """Every run of the study, in the order of the file; the same run in two grids appears in both."""
    where = f"study {study.name}"
    plugins.load(study.plugins)  # a results folder is read back without its study file
    if not study.grids:
        raise SettingsError(f"{where}: grids must not be empty; a study needs at least one [[grids]]")
    grid_names = [grid.name for grid in study.grids]
    if len(set(grid_names)) != len(grid_names):
        raise SettingsError(f"{where}: every grid needs a different name; got {', '.join(grid_names)}")
    if study.regret is not None:
        labels = [str(one.get("label") or one.get("learner")) for one in study.grids[0].learners]
        if study.regret.against not in labels:
            raise SettingsError(
                f"{where}: regret.against must be a label of the first grid, one of {', '.join(labels)}; "
                f"got {study.regret.against!r}"
            )
    return [cell for grid in study.grids for cell in _cells(study, grid, f"{where}, grid {grid.name}")]


def _cells(study: Study, grid: Grid, where: str) -> Iterable[Cell]:
    impressions = _chosen(where, "impressions", grid.impressions, study.impressions)
    repeats = _chosen(where, "repeats", grid.repeats, study.repeats)
    evaluate_every = _chosen(where, "evaluate_every", grid.evaluate_every, study.evaluate_every)
    require_whole_number(where, "seed", study.seed)
    require_whole_number(where, "page_size", study.page_size, at_least=1)
    measured = tuple(str(one) for one in metrics_of(study))
    chosen_users = study.users if grid.users is None else grid.users
    collections = study.collections if grid.collections is None else grid.collections
    for axis, values in (("learners", grid.learners), ("users", chosen_users), ("collections", collections)):
        if not values:
            raise SettingsError(f"{where}: {axis} must not be empty")
    labels = [str(settings.get("label") or settings.get("learner")) for settings in grid.learners]
    if len(set(labels)) != len(labels):
        raise SettingsError(
            f'{where}: every learner needs a different label; got {", ".join(labels)}: give one a label = "…"'
        )
    people = [_user(user, where) for user in chosen_users]
    if len({user.name for user in people}) != len(people):
        names = ", ".join(user.name for user in people)
        raise SettingsError(f'{where}: every user needs a different name; got {names}: give one a name = "…"')
    for source in (source_of(value, where) for value in collections):
        for user in people:
            for settings in grid.learners:
                if source.name in settings.get("without", ()):
                    continue
                label, learner = _learner(settings, source, where)
                for repeat in range(_chosen(where, "repeats", settings.get("repeats"), repeats)):
                    yield Cell(
                        grid=grid.name,
                        source=source,
                        fold=source.fold_of(repeat),
                        user=user,
                        label=label,
                        learner=learner,
                        seed=study.seed + repeat,
                        impressions=impressions,
                        evaluate_every=evaluate_every,
                        page_size=study.page_size,
                        metrics=measured,
                        gradient_variance=grid.gradient_variance,
                    )


def metrics_of(study: Study) -> tuple[Metric, ...]:
    """What the study's rankings are measured by; the first is shown unless another is asked for."""
    return with_ndcg(named(study.metrics, study.page_size, f"study {study.name}"), study.page_size)


def source_of(value: str | dict[str, Any] | Source, where: str) -> Source:
    """A collection as a study names it: one of the paper's, a table, or anything that can be loaded."""
    if isinstance(value, Source):
        return value
    if isinstance(value, str):
        return SOURCES.get(value) or Source(data=value)
    try:
        source = msgspec.convert(value, Source)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where}: collections: {explained(error, Source, value)}") from None
    if source.folds == ():
        raise SettingsError(f"{where}: folds of {source.name} must not be empty")
    return source


def _user(user: str | dict[str, Any], where: str) -> Any:
    try:
        with in_one_sentence():
            return users.person(where, user)
    except SettingsError as error:
        message = str(error)
        raise SettingsError(message if message.startswith(where) else f"{where}: users: {message}") from None


_OF_THE_STUDY = ("family", "without", "repeats")


def _learner(settings: dict[str, Any], source: Source, where: str) -> tuple[str, Learner]:
    plain = dict(settings)
    label = plain.pop("label", None)
    for key in _OF_THE_STUDY:
        plain.pop(key, None)
    name = plain.get("learner")
    if not isinstance(name, str) or name not in LEARNERS:
        raise SettingsError(f"{where}: learner must be one of {', '.join(LEARNERS)}; got {name!r}{plugins.HINT}")
    particular = {key: value for key, value in source.settings.get(name, {}).items() if key not in plain}
    try:
        with in_one_sentence():
            return str(label or name), from_settings(plain | particular)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None


def _chosen(where: str, name: str, own: int | None, default: int) -> int:
    at_least = 0 if name == "evaluate_every" else 1
    return require_whole_number(where, name, default if own is None else own, at_least=at_least)
