"""Weights from elsewhere, as a linear model: what somebody has already is where a live model starts.

    rankloop        its own JSON, of `save_ranker` or an export
    scikit-learn    JSON with coef and feature_names, and mean and scale of a StandardScaler, if there was one
    Elasticsearch   a model of type model/linear, as it was sent or as the plugin returns it
    RankLib         the text of a linear model (coordinate ascent, linear regression): 1:0.25 2:-0.5 …

A pickle is not read: it can run anything. Two lines write the JSON instead (docs/interchange.md).
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from rankloop.errors import DataError, SettingsError
from rankloop.interchange.models import LinearModel, load_model
from rankloop.settings import counted

PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
ZIPPED = (b"PK\x03\x04", b"\x1f\x8b", b"x\x9c", b"x\x01")
NUMBER = r"\d+:[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
RANKLIB = re.compile(rf"\s*{NUMBER}(\s+{NUMBER})*\s*")
TREES = ("model/ranklib", "model/xgboost+json", "model/xgboost+json+raw")
MOST = 10_000
"""Features of a live model."""


class _NoWeightsError(Exception):
    """Why a file has none, without its name."""


def read_weights(path: Path) -> LinearModel:
    """The linear model in a file, whichever of these it is."""
    data = path.read_bytes()
    if data.startswith((*PICKLES, *ZIPPED)):
        raise DataError(
            f"{path}: is a pickle or an archive, which could run any code when read; write the weights as JSON "
            f'instead: json.dump({{"coef": model.coef_.ravel().tolist(), "feature_names": […]}}, file)'
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not text; weights are JSON, or the text of a RankLib model") from None
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    except RecursionError:
        raise DataError(f"{path}: is nested too deeply to be weights") from None
    try:
        return _ranklib(text) if document is None else _of_json(path, document)
    except (SettingsError, _NoWeightsError) as error:
        raise DataError(f"{path}: {error}") from None


def _of_json(path: Path, document: Any) -> LinearModel:
    if isinstance(document, dict) and document.get("format") == "rankloop-ranker":
        model = load_model(path)
        if not isinstance(model, LinearModel):
            raise _NoWeightsError("is a network; a start from weights is a linear model's")
        return model
    if isinstance(document, dict) and "coef" in document:
        return _scikit_learn(document)
    found = _elasticsearch(document)
    if found is None:
        raise _NoWeightsError(
            'has no weights in a known format: neither {"coef": […], "feature_names": […]} of '
            "scikit-learn, nor a model/linear of Elasticsearch or OpenSearch, nor a ranker of rankloop"
        )
    return found


def _scikit_learn(document: dict[str, Any]) -> LinearModel:
    """`coef` may be nested as scikit-learn nests it; an intercept changes no order."""
    coef = document["coef"]
    while isinstance(coef, list) and len(coef) == 1 and isinstance(coef[0], list):
        coef = coef[0]
    if isinstance(coef, list) and coef and all(isinstance(row, list) for row in coef):
        raise _NoWeightsError(f"coef has the weights of {len(coef)} classes; give those of one, such as model.coef_[0]")
    names = document.get("feature_names", [])
    if not isinstance(names, list):
        raise _NoWeightsError(f"feature_names must be a list of names; got {names!r:.60}")
    mean, scale = document.get("mean"), document.get("scale")
    if (mean is None) != (scale is None):
        raise _NoWeightsError("mean and scale come together; only one was given")
    return LinearModel(weights=coef, feature_names=tuple(names), shift=mean, spread=scale)


def _elasticsearch(document: Any) -> LinearModel | None:
    """The definition is JSON within JSON; as it was sent, or in `_source` as it comes back."""
    inner, name = document, "rankloop"
    while isinstance(inner, dict) and isinstance(inner.get("_source", inner.get("model")), dict):
        name = inner.get("name", name)
        inner = inner.get("_source", inner.get("model"))
    if isinstance(inner, dict) and inner.get("type") in TREES:
        raise _NoWeightsError(
            f"{inner['type']} is trees, without weights; send their score as a feature, and start there"
        )
    if not isinstance(inner, dict) or inner.get("type") != "model/linear":
        return None
    weights = _definition(inner.get("definition"))
    normalisers = inner.get("feature_normalizers") or {}
    if not isinstance(normalisers, dict):
        raise _NoWeightsError(
            f"feature_normalizers must be an object with one for each feature; got {normalisers!r:.60}"
        )
    shifts, spreads = zip(*(_normaliser(normalisers.get(feature)) for feature in weights), strict=True)
    parts: dict[str, Any] = {"shift": shifts, "spread": spreads} if normalisers else {}
    return LinearModel(weights=tuple(weights.values()), feature_names=tuple(weights), name=name, **parts)


def _definition(given: Any) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        weights = json.loads(given) if isinstance(given, str) else given
        if isinstance(weights, dict) and weights:
            return weights
    raise _NoWeightsError("a model/linear has a definition with a weight for each feature's name")


def _normaliser(given: Any) -> tuple[float, float]:
    match given:
        case None:
            return 0.0, 1.0
        case {"standard": {"mean": mean, "standard_deviation": deviation}}:
            return mean, deviation
        case {"min_max": {"minimum": int() | float() as low, "maximum": int() | float() as high}}:
            return low, high - low
    raise _NoWeightsError(f"a normaliser is standard or min_max, with numbers; got {given!r:.200}")


def _ranklib(text: str) -> LinearModel:
    """Lines that begin with ## are comments; features count from 1 (0 is the intercept of a regression)."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) != 1 or not RANKLIB.fullmatch(lines[0]):
        raise _NoWeightsError(
            "is neither JSON nor a linear model of RankLib, which is one line such as 1:0.25 2:-0.5 after comments"
        )
    pairs = (pair.split(":") for pair in lines[0].split())
    weights = {int(number): float(weight) for number, weight in pairs if number != "0"}
    if not weights:
        raise _NoWeightsError("has no weight of any feature")
    if max(weights) > MOST:
        raise _NoWeightsError(f"a model has at most {MOST:,} features; got number {counted(max(weights))}")
    return LinearModel(weights=tuple(weights.get(number, 0.0) for number in range(1, max(weights) + 1)))


def starting_settings(model: LinearModel, name: str, keeps_first: float | None = None) -> dict[str, Any]:
    """The settings of a live model that starts from these weights, for `POST /v1/models`."""
    if model.per_query:
        scaling: Any = "query"
    else:
        scaling = {"kind": "fixed", "shift": model.shift, "spread": model.spread} if model.scaled else "none"
    start: dict[str, Any] = {"from": "weights", "weights": list(model.weights)}
    if keeps_first is not None:
        start["keeps_first"] = keeps_first
    return {"name": name, "features": list(model.feature_names), "scaling": scaling, "start": start}
