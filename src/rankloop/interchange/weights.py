"""Weights from elsewhere, as a linear model: what somebody has already is where a live model starts.

    rankloop        its own JSON, of `save_ranker` or an export
    scikit-learn    JSON with coef and feature_names, and mean and scale of a StandardScaler, if there was one
    Elasticsearch   a model of type model/linear, as it was sent or as the plugin returns it
    RankLib         the text of a linear model (coordinate ascent, linear regression): 1:0.25 2:-0.5 …

A pickle is not read: it can run anything. Two lines write the JSON instead (docs/interchange.md).
"""

import json
import re
from pathlib import Path
from typing import Any

from rankloop.errors import DataError, SettingsError
from rankloop.interchange.models import LinearModel, load_model

PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
ZIPPED = (b"PK\x03\x04", b"\x1f\x8b", b"x\x9c", b"x\x01")
RANKLIB = re.compile(r"\s*\d+:[-+.\deE]+(\s+\d+:[-+.\deE]+)*\s*")


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
        return _ranklib(path, text)
    try:
        return _of_json(path, document)
    except SettingsError as error:
        raise DataError(f"{path}: {error}") from None


def _of_json(path: Path, document: Any) -> LinearModel:
    if isinstance(document, dict) and document.get("format") == "rankloop-ranker":
        model = load_model(path)
        if not isinstance(model, LinearModel):
            raise DataError(f"{path}: is a network; a start from weights is a linear model's")
        return model
    if isinstance(document, dict) and "coef" in document:
        return _scikit_learn(document)
    found = _elasticsearch(document)
    if found is None:
        raise DataError(
            f'{path}: has no weights in a known format: neither {{"coef": […], "feature_names": […]}} of '
            f"scikit-learn, nor a model/linear of Elasticsearch or OpenSearch, nor a ranker of rankloop"
        )
    return found


def _scikit_learn(document: dict[str, Any]) -> LinearModel:
    """`coef` may be nested as scikit-learn nests it; an intercept changes no order."""
    coef = document["coef"]
    while isinstance(coef, list) and len(coef) == 1 and isinstance(coef[0], list):
        coef = coef[0]
    names = tuple(document.get("feature_names", ()))
    return LinearModel(weights=coef, feature_names=names, shift=document.get("mean"), spread=document.get("scale"))


def _elasticsearch(document: Any) -> LinearModel | None:
    """The definition is JSON within JSON; as it was sent, or in `_source` as it comes back."""
    inner, name = document, "rankloop"
    while isinstance(inner, dict) and isinstance(inner.get("_source", inner.get("model")), dict):
        name = inner.get("name", name)
        inner = inner.get("_source", inner.get("model"))
    if not isinstance(inner, dict) or inner.get("type") != "model/linear":
        return None
    definition = inner.get("definition")
    weights = json.loads(definition) if isinstance(definition, str) else definition
    if not isinstance(weights, dict):
        raise DataError("a model/linear has a definition with a weight for each feature's name")
    normalisers = inner.get("feature_normalizers") or {}
    shifts, spreads = zip(*(_normaliser(normalisers.get(feature)) for feature in weights), strict=True)
    parts: dict[str, Any] = {"shift": shifts, "spread": spreads} if normalisers else {}
    return LinearModel(weights=tuple(weights.values()), feature_names=tuple(weights), name=name, **parts)


def _normaliser(given: Any) -> tuple[float, float]:
    match given:
        case None:
            return 0.0, 1.0
        case {"standard": {"mean": mean, "standard_deviation": deviation}}:
            return mean, deviation
        case {"min_max": {"minimum": low, "maximum": high}}:
            return low, high - low
    raise DataError(f"a normaliser is standard or min_max; got {given!r}")


def _ranklib(path: Path, text: str) -> LinearModel:
    """Lines that begin with ## are comments; features count from 1 (0 is the intercept of a regression)."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) != 1 or not RANKLIB.fullmatch(lines[0]):
        raise DataError(
            f"{path}: is neither JSON nor a linear model of RankLib, which is one line such as 1:0.25 2:-0.5 after "
            f"comments"
        )
    pairs = (pair.split(":") for pair in lines[0].split())
    weights = {int(number): float(weight) for number, weight in pairs if number != "0"}
    if not weights:
        raise DataError(f"{path}: has no weight of any feature")
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
