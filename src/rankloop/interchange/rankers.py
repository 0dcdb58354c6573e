"""A learned ranker as one JSON document: weights, the features that they belong to, and how they were learned.

    {"format": "rankloop-ranker", "version": 1, "kind": "linear", "features": 2,
     "feature_names": ["f1", "f2"], "weights": [0.25, -1.5],
     "learned": {"settings": {…}, "manifest": {…}}}

Weights are written with as many digits as identify a double, and come back to the bit. Version 2 has a scaling as well;
`rankloop.interchange.models` reads and writes it. A network is of `"kind": "mlp"`, says
`"ranker": {"kind": "mlp", "hidden": [64], "activation": "relu"}`, and has its weights flat, in the order of
`rl.MLP.layers`.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import DataError, RankloopError, SettingsError
from rankloop.files import write_text
from rankloop.learners import Learner, to_settings
from rankloop.rankers import LINEAR, Linear, from_settings
from rankloop.runs.run import Run
from rankloop.settings import require_numbers, settle

FORMAT = "rankloop-ranker"
VERSION = 1
SCALED_VERSION = 2


class Ranker(msgspec.Struct, frozen=True, kw_only=True):
    """A ranker that has been learned.

    Attributes:
        weights: one per feature for a linear ranker; for a network all of them, flat.
        feature_names: what is ranked by, in the order of the features; f1, f2, … where nobody has named them.
        kind: `rl.Linear()`, or the network, such as `rl.MLP(hidden=(64,))`.
        settings: how it was learned: learner, user, data, impressions, seed, as far as known.
        manifest: where: versions and processor.

    >>> Ranker(weights=(0.5, -1.0)).feature_names
    ('f1', 'f2')
    """

    weights: tuple[float, ...]
    feature_names: tuple[str, ...] = ()
    kind: Any = LINEAR
    settings: dict[str, Any] = {}
    manifest: dict[str, Any] = {}

    def __post_init__(self) -> None:
        weights = _numbers(self.weights)
        features = features_of(self.kind, len(weights))
        names = tuple(self.feature_names) or default_names(features)
        if len(names) != features:
            per = "weight" if features == len(weights) else "feature"
            raise DataError(
                f"a ranker needs one feature name per {per}; got {len(names)} for {len(weights)} weights"
                + ("" if per == "weight" else f" on {features} features")
            )
        for name in names:
            if not isinstance(name, str):
                raise DataError(f"a ranker's feature names must be text; got {name!r}")
        learned = {"settings": _plain(self.settings), "manifest": _plain(self.manifest)}
        settle(self, weights=weights, feature_names=names, **learned)

    @classmethod
    def of(cls, run: Run, feature_names: Iterable[str] = ()) -> "Ranker":
        """The ranker that a run ended with, and how it was learned.

        >>> import rankloop as rl
        >>> data = rl.load("tiny")
        >>> run = rl.simulate(rl.PDGD(), rl.users.noisy(), data, impressions=100, seed=1)
        >>> Ranker.of(run, data.feature_names).settings["learner"]["learner"]
        'PDGD'
        """
        return cls(
            weights=tuple(run.weights.tolist()),
            feature_names=tuple(feature_names),
            kind=kind_of(run.settings),
            settings=run.settings,
            manifest=run.manifest,
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The weights, so that a ranker can stand wherever weights can: `rl.evaluate(ranker, data.test)`, or for a
        network `rl.evaluate(ranker, data.test, ranker=ranker.kind)`."""
        return np.array(self.weights, dtype=np.float64 if dtype is None else dtype)

    def scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """(candidates,), the scores of candidates X (candidates, features); the highest comes first."""
        return scores_by(self.kind, self.weights, np.asarray(X, dtype=np.float64))


def save_ranker(
    path: str | os.PathLike[str],
    weights: ArrayLike | Ranker | Run,
    *,
    feature_names: Iterable[str] = (),
    learner: Learner | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> Path:
    """Write a ranker as JSON, whole or not at all.

    Args:
        path: the file to write.
        weights: numbers, a `Ranker`, or a run, which also says how they were learned.
        feature_names: one per weight, such as `data.feature_names`.
        learner: the settings of the learner, where `weights` does not tell; numbers are taken for weights of its
            ranker.
        manifest: anything else to keep with it.
    """
    return write_text(path, [ranker_text(weights, feature_names=feature_names, learner=learner, manifest=manifest)])


def ranker_text(
    weights: ArrayLike | Ranker | Run,
    *,
    feature_names: Iterable[str] = (),
    learner: Learner | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> str:
    """The JSON text that `save_ranker` writes."""
    if isinstance(weights, Run):
        weights = Ranker.of(weights)
    if not isinstance(weights, Ranker):
        weights = Ranker(weights=_numbers(weights), kind=LINEAR if learner is None else learner.scoring_ranker)
    ranker = weights
    ranker = Ranker(
        weights=ranker.weights,
        feature_names=tuple(feature_names) or ranker.feature_names,
        kind=ranker.kind,
        settings=ranker.settings if learner is None else ranker.settings | {"learner": to_settings(learner)},
        manifest=ranker.manifest if manifest is None else ranker.manifest | dict(manifest),
    )
    return document_text(ranker.weights, ranker.feature_names, ranker.settings, ranker.manifest, kind=ranker.kind)


def document_text(
    weights: Sequence[float],
    feature_names: Sequence[str],
    settings: Mapping[str, Any],
    manifest: Mapping[str, Any],
    *,
    kind: Any = LINEAR,
    name: str | None = None,
    scaling: Mapping[str, Any] | None = None,
) -> str:
    """The JSON text of a ranker. With a scaling it is version 2: a reader of version 1 would rank without it."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": SCALED_VERSION if scaling else VERSION,
        "kind": kind.name,
        **({} if isinstance(kind, Linear) else {"ranker": msgspec.to_builtins(kind)}),
        **({"name": name} if name else {}),
        "features": len(feature_names),
        "feature_names": feature_names,
        "weights": weights,
        **({"scaling": scaling} if scaling else {}),
        "learned": {"settings": settings, "manifest": manifest},
    }
    return json_text(document)


def json_text(document: dict[str, Any]) -> str:
    """A document as every export writes it."""
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def load_ranker(path: str | os.PathLike[str]) -> Ranker:
    """Read back what `save_ranker` wrote, every bit of it.

    >>> import tempfile
    >>> path = save_ranker(Path(tempfile.mkdtemp()) / "ranker.json", [0.1, -2.0])
    >>> load_ranker(path).weights
    (0.1, -2.0)
    """
    with naming(path):
        return _ranker(read_document(path))


def kind_of(settings: Mapping[str, Any]) -> Any:
    """The kind of ranker that was learned with these settings of a run: linear, where they name none."""
    learner = settings.get("learner")
    described = learner.get("ranker") if isinstance(learner, dict) else None
    return LINEAR if described is None else from_settings(described)


def features_of(kind: Any, weights: int) -> int:
    """How many features a ranker with so many weights has; refuses kinds that have no form for other tools."""
    if isinstance(kind, Linear):
        return weights
    if not hasattr(kind, "features_of"):
        raise DataError(f"a ranker can be exchanged if it is linear or an MLP; got {kind!r}")
    features = kind.features_of(weights)
    if features is None:
        raise DataError(
            f"{kind!r} has {kind.count(1)} weights on one feature, {kind.hidden[0]} more on each further "
            f"one; got {weights}"
        )
    return int(features)


def scores_by(kind: Any, weights: Sequence[float], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """(candidates,), the scores of X in double precision."""
    return np.asarray(X @ np.array(weights) if isinstance(kind, Linear) else kind.scores(weights, X))


def default_names(features: int) -> tuple[str, ...]:
    """f1, f2, …: what features are called where nobody has named them."""
    return tuple(f"f{j + 1}" for j in range(features))


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file it was that something is wrong with."""
    try:
        yield
    except RankloopError as error:
        raise DataError(f"{path}: {error}") from None


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object of an exported ranker, of whatever version."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, NaN or Infinity
        raise DataError(f"not a ranker: not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f'not an exported ranker; it must be an object with "format": "{FORMAT}"')
    return document


def read_ranker(path: str | os.PathLike[str]) -> Ranker:
    """The ranker in a file: exported JSON (`.json`), a record of a study (`.parquet`), else a saved run."""
    suffix = Path(path).suffix
    if suffix == ".json":
        return load_ranker(path)
    if suffix == ".parquet":
        from rankloop.interchange.records import ranker_of_record  # Parquet is only needed here

        return ranker_of_record(Path(path))
    return Ranker.of(Run.load(path))


def read_weights(document: dict[str, Any], versions: tuple[int, ...]) -> tuple[Any, tuple[float, ...], tuple[str, ...]]:
    """The kind, weights and feature names of an exported ranker of one of these versions."""
    version = document.get("version")
    if type(version) is not int or version not in versions:
        readable = " and ".join(map(str, versions))
        hint = "; it has a scaling: read it with load_model" if version == SCALED_VERSION else ""
        raise DataError(f"ranker format version {version!r}; this rankloop reads version {readable} here{hint}")
    kind = _read_kind(document)
    weights, names = document.get("weights"), document.get("feature_names")
    if not isinstance(weights, list) or not isinstance(names, list):
        raise DataError("weights and feature_names must be lists")
    if not (document.get("features") == len(names) == features_of(kind, len(weights))):
        raise DataError(
            f"the counts do not agree: features says {document.get('features')!r}, "
            f"and there are {len(weights)} weights and {len(names)} feature names"
        )
    return kind, _numbers(weights), tuple(names)


def _read_kind(document: dict[str, Any]) -> Any:
    name, described = document.get("kind"), document.get("ranker")
    if name == "linear":
        return LINEAR
    if name != "mlp":
        raise DataError(f"kind of ranker must be 'linear' or 'mlp'; got {name!r}")
    if not isinstance(described, dict) or described.get("kind") != name:
        raise DataError(f'with kind "mlp" there must be its shape, "ranker": {{"kind": "mlp", …}}; got {described!r}')
    return from_settings(described)


def _ranker(document: dict[str, Any]) -> Ranker:
    kind, weights, names = read_weights(document, (VERSION,))
    learned = document.get("learned", {})
    parts = {name: learned.get(name, {}) for name in ("settings", "manifest")} if isinstance(learned, dict) else {}
    if not parts or not all(isinstance(part, dict) for part in parts.values()):
        raise DataError("learned must be an object with the objects settings and manifest")
    return Ranker(weights=weights, feature_names=names, kind=kind, **parts)


def _numbers(weights: Any) -> tuple[float, ...]:
    try:
        return require_numbers("ranker", "weights", weights.tolist() if isinstance(weights, np.ndarray) else weights)
    except SettingsError as error:
        raise DataError(str(error)) from None


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """A copy as it comes back from JSON, so that a ranker equals its export."""
    try:
        return dict(json.loads(json.dumps(values, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise DataError(f"a ranker's settings and manifest must be plain values that JSON can hold: {error}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number here")
