"""A model with its scaling: what leaves rankloop for another system, and the truth that exports are held to.

    f(x) = Σ_j w_j · x'_j,   x'_j = (x_j − shift_j) / spread_j,   or 0 where spread_j = 0: a constant says nothing

for a linear model; a network takes x' in. Without a scaling x' = x; with `per_query` shift and spread are the minimum
and the range over the query's candidates. As JSON it is the ranker format of `rankloop.interchange.rankers` with a
name and, where there is one, a scaling:

    {"format": "rankloop-ranker", "version": 2, "kind": "linear", …, "name": "shop",
     "scaling": {"kind": "fixed", "shift": […], "spread": […]}}

Version 2 is written only where there is a scaling, because a reader of version 1 would rank without it.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import DataError, SettingsError
from rankloop.interchange.rankers import (
    SCALED_VERSION,
    VERSION,
    Ranker,
    default_names,
    document_text,
    features_of,
    naming,
    read_document,
    read_weights,
    scores_by,
)
from rankloop.rankers import LINEAR, MLP, Linear
from rankloop.scaling import divided, min_max
from rankloop.settings import require_flag, require_numbers, settle


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A ranker together with what happens to raw features before it sees them: what linear models and networks share.

    Attributes:
        weights: as many as the ranker has.
        feature_names: in the order of the features; f1, f2, … where nobody has named them.
        shift: subtracted from each feature; None: no scaling.
        spread: what each feature is divided by then; 0 for a feature that is constant, and contributes nothing.
        per_query: min–max over the candidates of the query instead, as in the paper.
        name: what other systems are to call the model.
    """

    weights: tuple[float, ...]
    feature_names: tuple[str, ...] = ()
    shift: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    per_query: bool = False
    name: str = "rankloop"

    def __post_init__(self) -> None:
        owner = type(self).__name__
        weights = require_numbers(owner, "weights", self.weights)
        features = self._features(len(weights))
        names = tuple(self.feature_names) or default_names(features)
        if len(names) != features or not all(isinstance(name, str) for name in names):
            per = "weight" if features == len(weights) else "feature"
            raise SettingsError(
                f"{owner}: feature_names must be one text per {per}; got {len(names)} for {features}: {names!r}"
            )
        if not isinstance(self.name, str) or not self.name:
            raise SettingsError(f"{owner}: name must be non-empty text; got {self.name!r}")
        per_query = require_flag(owner, "per_query", self.per_query)
        shift, spread = _scaling(owner, self.shift, self.spread, features)
        if per_query and shift is not None:
            raise SettingsError(f"{owner}: a scaling is per_query or has shift and spread; got both")
        settle(self, weights=weights, feature_names=names, shift=shift, spread=spread, per_query=per_query)

    def _features(self, weights: int) -> int:
        try:
            return features_of(self.kind, weights)
        except DataError as error:
            raise SettingsError(f"{type(self).__name__}: {error}") from None

    @property
    def kind(self) -> Any:
        """The ranker that the weights are of."""
        raise NotImplementedError

    @property
    def scaled(self) -> bool:
        """Whether shift and spread are given."""
        return self.shift is not None

    def scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """(candidates,), the scores of one query's raw candidates X (candidates, features); the highest comes first."""
        raw = np.asarray(X, dtype=np.float64)
        if raw.ndim != 2 or raw.shape[1] != len(self.feature_names):
            raise SettingsError(
                f"{self.name}: candidates must have {len(self.feature_names)} features; got shape {raw.shape}"
            )
        if self.per_query and len(raw):
            raw = min_max(raw)
        elif self.scaled:
            raw = divided(raw - np.array(self.shift), np.array(self.spread))
        return scores_by(self.kind, self.weights, raw)


class LinearModel(Model, frozen=True, kw_only=True):
    """A linear ranker together with what happens to raw features before they are weighted.

    Attributes:
        weights: one per feature.
        feature_names: in the same order; f1, f2, … where nobody has named them.
        shift: subtracted from each feature; None: no scaling.
        spread: what each feature is divided by then; 0 for a feature that is constant, and contributes nothing.
        per_query: min–max over the candidates of the query instead, as in the paper.
        name: what other systems are to call the model.

    >>> LinearModel(weights=(0.5, -1.0), shift=(10.0, 0.0), spread=(2.0, 0.0)).scores([[12.0, 7.0], [10.0, 8.0]])
    array([0.5, 0. ])
    """

    @classmethod
    def of(cls, ranker: Ranker, *, per_query: bool, name: str = "rankloop") -> "LinearModel":
        """A ranker that was learned in a simulation; say whether its collection is scaled per query."""
        if not isinstance(ranker.kind, Linear):
            raise SettingsError(f"LinearModel: a {ranker.kind} is not linear; NeuralModel.of takes it")
        return cls(weights=ranker.weights, feature_names=ranker.feature_names, per_query=per_query, name=name)

    @property
    def kind(self) -> Linear:
        """The ranker that the weights are of."""
        return LINEAR

    def folded(self) -> tuple[NDArray[np.float64], float]:
        """Weights u and a constant c with f(x) = u·x + c for raw features: u_j = w_j / spread_j.

        The constant is the same for every candidate, so u·x alone ranks as f does. Per-query scaling has no such form.

        >>> LinearModel(weights=(0.5, -1.0), shift=(10.0, 0.0), spread=(2.0, 0.0)).folded()
        (array([0.25, 0.  ]), -2.5)
        """
        if self.per_query:
            raise SettingsError(f"{self.name}: a scaling per query differs from query to query and cannot be folded")
        if not self.scaled:
            return np.array(self.weights), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            weights = divided(self.weights, np.array(self.spread))
            return weights, -float(weights @ np.array(self.shift))


class NeuralModel(Model, frozen=True, kw_only=True):
    """A network together with what happens to raw features before it sees them: as `LinearModel`, with the network.

    Attributes:
        network: its shape.
        weights: all of them, flat, in the order of `rl.MLP.layers`.

    >>> NeuralModel(network=MLP(hidden=(1,)), weights=(1.0, -0.5, 2.0)).scores([[0.0], [1.0]])
    array([0., 1.])
    """

    network: MLP

    @classmethod
    def of(cls, ranker: Ranker, *, per_query: bool, name: str = "rankloop") -> "NeuralModel":
        """A network that was learned in a simulation; say whether its collection is scaled per query."""
        if not isinstance(ranker.kind, MLP):
            raise SettingsError(f"NeuralModel: {ranker.kind} is not a network; LinearModel.of takes a linear ranker")
        return cls(
            network=ranker.kind,
            weights=ranker.weights,
            feature_names=ranker.feature_names,
            per_query=per_query,
            name=name,
        )

    @property
    def kind(self) -> MLP:
        """The ranker that the weights are of."""
        return self.network


def made(kind: Any, **parts: Any) -> LinearModel | NeuralModel:
    """A model of whatever kind the ranker is; refuses kinds that have no form for other tools."""
    if isinstance(kind, Linear):
        return LinearModel(**parts)
    if isinstance(kind, MLP):
        return NeuralModel(network=kind, **parts)
    raise SettingsError(f"a model can be exported if its ranker is linear or an MLP; got {kind!r}")


def model_text(
    model: Model, *, settings: Mapping[str, Any] | None = None, manifest: Mapping[str, Any] | None = None
) -> str:
    """The model as JSON text, every bit of it; `settings` and `manifest` say how and where it was learned."""
    scaling: dict[str, Any] | None = {"kind": "query"} if model.per_query else None
    if model.scaled:
        scaling = {"kind": "fixed", "shift": model.shift, "spread": model.spread}
    learned = dict(settings or {}), dict(manifest or {})
    return document_text(
        model.weights, model.feature_names, *learned, kind=model.kind, name=model.name, scaling=scaling
    )


def load_model(path: str | os.PathLike[str]) -> LinearModel | NeuralModel:
    """Read back what `model_text` says, or a ranker of `save_ranker`, which has no scaling.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "model.json"
    >>> model = LinearModel(weights=(0.1, 2.0), shift=(1.0, 0.0), spread=(3.0, 1.0), name="shop")
    >>> _ = path.write_text(model_text(model))
    >>> load_model(path) == model
    True
    """
    with naming(path):
        document = read_document(path)
        kind, weights, names = read_weights(document, (VERSION, SCALED_VERSION))
        return made(
            kind, weights=weights, feature_names=names, name=document.get("name", "rankloop"), **_read_scaling(document)
        )


def _read_scaling(document: dict[str, Any]) -> dict[str, Any]:
    scaling: Any = document.get("scaling")
    if document["version"] == VERSION:
        if scaling is not None:
            raise DataError(f"a scaling makes it version {SCALED_VERSION}; it says version {VERSION}")
        return {}
    kind = scaling.get("kind") if isinstance(scaling, dict) else None
    if kind == "query":
        return {"per_query": True}
    if kind == "fixed" and "shift" in scaling and "spread" in scaling:
        return {"shift": scaling["shift"], "spread": scaling["spread"]}
    raise DataError(f"scaling must be of kind 'query', or of kind 'fixed' with shift and spread; got {scaling!r}")


def _scaling(
    owner: str, shift: Any, spread: Any, features: int
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    if shift is None and spread is None:
        return None, None
    if shift is None or spread is None:
        raise SettingsError(f"{owner}: shift and spread come together; only one was given")
    shift, spread = require_numbers(owner, "shift", shift), require_numbers(owner, "spread", spread)
    if len(shift) != features or len(spread) != features:
        raise SettingsError(
            f"{owner}: shift and spread must have one number per feature ({features}); "
            f"got {len(shift)} and {len(spread)}"
        )
    if min(spread) < 0:
        raise SettingsError(f"{owner}: spread must not be negative; got {min(spread)!r}")
    return shift, spread
