"""What every foreign format asks of a model, checked in one place: an export that would rank differently is refused.

The engines compute in single precision. That rounds scores, as it does in rankloop's own kernels, but it must not lose
a weight, overflow, or subtract two large numbers to get a small one.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.interchange.models import LinearModel, Model

SINGLE = np.finfo(np.float32)
NEGLIGIBLE = 2.0**-40
"""A weight this much smaller than the largest may round to 0: far below what single precision resolves in a score."""
SPREADS_FROM_ZERO = 4096.0
"""Folded, features that lie this many spreads away from 0 in all still have 2^24 / 4096 = 4096 steps to a spread."""


def require_linear(model: Model, target: str) -> LinearModel:
    """The model, if it is linear: the plugins weigh features, and have no place for hidden layers."""
    if not isinstance(model, LinearModel):
        raise SettingsError(
            f"{target}: holds linear models, and {model.name!r} is a network, {model.kind}; export it as json or onnx"
        )
    return model


def require_one_scaling(model: Model, target: str) -> None:
    """Refuse a scaling that depends on the other candidates of the query: no foreign format has a place for it."""
    if model.per_query:
        raise SettingsError(
            f"{target}: {model.name!r} scales features per query, by the minimum and maximum over its candidates, and "
            f"{target} scores each document alone, so it would rank differently; give it one shift and one spread per "
            f"feature (a live model's export takes those that are typical of its log)"
        )


class Parts(NamedTuple):
    """A model as a search engine's plugin takes it: weights by feature name, and (shift, spread) where a normaliser is
    needed."""

    name: str
    weights: dict[str, float]
    scalings: dict[str, tuple[float, float]]


def engine_parts(given: Model, target: str, *, fold: bool, forbidden: str = "") -> Parts:
    """What a plugin needs of a model, checked; with `fold` the scaling is in the weights.

    `forbidden`: letters that the plugin cannot have in a feature's name.
    """
    model = require_linear(given, target)
    require_one_scaling(model, target)
    names = _feature_names(model, target, forbidden)
    weights, scalings = (_folded_weights, {}) if fold else (_normalised_weights, _normalisers(model, target))
    by_name = dict(zip(names, weights(model, target), strict=True))
    return Parts(_model_name(model, target), by_name, scalings)


def _model_name(model: LinearModel, target: str) -> str:
    """The model's name, if it can stand in a URL and in a query as it is."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", model.name):
        raise SettingsError(
            f"{target}: a model's name stands in URLs and queries; it must be letters, digits, '_', '-' and '.', and "
            f"begin with neither '-' nor '.'; got {model.name!r}"
        )
    return model.name


def _feature_names(model: LinearModel, target: str, forbidden: str) -> tuple[str, ...]:
    """The feature names, if they can identify the features: printable, without blanks around them, each only once."""
    seen: set[str] = set()
    for name in model.feature_names:
        if not name or name != name.strip() or not name.isprintable():
            raise SettingsError(
                f"{target}: a feature's name must be printable and must not be empty or begin or end with a space; "
                f"got {name!r}"
            )
        if found := sorted(set(name) & set(forbidden)):
            raise SettingsError(f"{target}: a feature's name must not contain {' or '.join(found)}; got {name!r}")
        if name in seen:
            raise SettingsError(f"{target}: two features are named {name!r}, and weights are assigned by name there")
        seen.add(name)
    return model.feature_names


def require_single(model: LinearModel, target: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights to write, one per feature, if single precision can hold all that matter.

    `values` are the model's weights, or those with the scaling folded in; what matters is decided by the model's own,
    which belong to features of comparable size.
    """
    own = np.abs(np.array(model.weights))
    size = np.abs(values)
    lost = (size < SINGLE.smallest_normal) & (size > 0) & (own > NEGLIGIBLE * own.max())
    # A weight that is not 0 but is 0 once divided by its spread is lost before it is rounded.
    if model.scaled:
        lost |= (values == 0) & (own > NEGLIGIBLE * own.max()) & (np.array(model.spread) > 0)
    _refuse_first(model, target, "weight", values, lost | ~(size <= SINGLE.max))
    return values


def _normalisers(model: LinearModel, target: str) -> dict[str, tuple[float, float]]:
    """(shift, spread) for the target's own normaliser, by feature that needs one.

    A constant feature, or one without weight, contributes nothing: it is left as it is, with weight 0.
    """
    if model.shift is None or model.spread is None:
        return {}
    shift, spread = np.array(model.shift), np.array(model.spread)
    used = (spread > 0) & (np.array(model.weights) != 0)
    _refuse_first(model, target, "shift", shift, used & ~(np.abs(shift) <= SINGLE.max))
    _refuse_first(
        model, target, "spread", spread, used & ~((spread >= SINGLE.smallest_normal) & (spread <= SINGLE.max))
    )
    scalings = zip(model.feature_names, model.shift, model.spread, used, strict=True)
    return {name: (low, width) for name, low, width, needed in scalings if needed}


def _normalised_weights(model: LinearModel, target: str) -> list[float]:
    """The weights that go with the target's own normalisers: 0 for a constant feature."""
    alive = np.ones(len(model.weights), bool) if model.spread is None else np.array(model.spread) > 0
    written = require_single(model, target, np.array(model.weights))
    return list(np.where(alive, written, 0.0).tolist())


def _folded_weights(model: LinearModel, target: str) -> list[float]:
    """The weights for raw features, if single precision does not lose the ranking in the constant that is dropped."""
    weights, _ = model.folded()
    require_single(model, target, weights)
    if model.shift is not None:
        largest = float(np.abs(model.weights).max())
        offsets = np.abs(weights * np.array(model.shift))
        if not offsets.sum() <= SPREADS_FROM_ZERO * largest:
            far = int(np.argmax(offsets))
            raise SettingsError(
                f"{target}: feature {model.feature_names[far]!r} lies so far from 0 for its spread (shift "
                f"{model.shift[far]!r}) that folded weights would lose the ranking in rounding; "
                f"export without folding, with the scaling as normalisers"
            )
    return list(weights.tolist())


def _refuse_first(
    model: LinearModel, target: str, what: str, values: NDArray[np.float64], wrong: NDArray[np.bool_]
) -> None:
    if wrong.any():
        j = int(np.argmax(wrong))
        raise SettingsError(
            f"{target}: computes in single precision, which cannot hold the {what} {float(values[j])!r} of feature "
            f"{model.feature_names[j]!r}; scale the feature at its source"
        )
