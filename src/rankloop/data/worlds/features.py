"""How a synthetic document becomes a row of features: hidden causes, seen through many imperfect statistics.

A document has a dozen hidden causes (how well each field matches, quality, popularity, spam, length, …).
A feature mixes up to three of them with noise of its own and passes the mixture through the kind of
measurement that real features are: integer counts of enormous range, scores, ratios, booleans, with zeros
where the field is missing. So features come correlated in groups, heavy-tailed and partly empty, and no
feature is a cause itself. The ranker never sees the causes.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

FIELDS = ("body", "anchor", "title", "url", "whole")
CAUSES = (
    *FIELDS,
    "topic",
    "quality",
    "popularity",
    "spam",
    "length",
    "freshness",
    "depth",
    "habit 1",  # habits move features together and mean nothing for relevance
    "habit 2",
    "habit 3",
)
CAUSE = {name: row for row, name in enumerate(CAUSES)}

SENTINEL = float(np.finfo(np.float64).max)  # what Istella's files hold where a value is missing
_LOADS = 3


class Kind(IntEnum):
    """What sort of measurement a feature is; `a` and `b` are its two parameters, h its mixture of causes."""

    SCORE = 0  # max(0, a + b·h): a retrieval score, 0 where nothing matches
    LOG_PROBABILITY = 1  # −exp(a − b·h): negative, as language models give
    LOG_NORMAL = 2  # exp(a + b·h)
    COUNT = 3  # floor(exp(a + b·h))
    COVERAGE = 4  # how many of the query's terms occur: floor((terms + 1) · logistic(a + b·h))
    BOOLEAN = 5  # 1 where a + b·h > 0
    PER_QUERY = 6  # the same for all candidates, as an inverse document frequency is
    GAPPED = 7  # exp(a + b·h), a sentinel in a few places
    UNIT = 8  # logistic(a + b·h): already in [0, 1]
    UNIT_STEPS = 9  # the same in eighths
    ABSENT = 10  # always 0


@dataclass(frozen=True)
class Feature:
    """One feature: its name, its kind with parameters `a` and `b`, its mixture, and the gate that may empty it.

    `loads` maps causes to weights (three at most), `noise` is the standard deviation of the feature's
    own error; the mixture is scaled to unit variance when causes are independent.
    """

    name: str
    kind: Kind
    loads: dict[str, float] = field(default_factory=dict)
    noise: float = 0.5
    a: float = 0.0
    b: float = 1.0
    gate: int = 0


@dataclass(frozen=True)
class Gate:
    """A field or a source that some documents lack: its features are 0 unless Σ w·cause + e > threshold.

    Features name gates by number from 1; gate 0 is always open.
    """

    loads: dict[str, float]
    threshold: float
    noise: float = 0.7


class FeaturePlan:
    """A world's features, compiled to arrays so that a query's rows are drawn in a few vector operations.

    Features are computed sorted by kind, one row per feature, and leave in the order of their names.
    """

    def __init__(self, features: list[Feature], gates: list[Gate], *, context: float) -> None:
        self.names = tuple(feature.name for feature in features)
        self.context = np.float32(context)
        measured = [j for j, feature in enumerate(features) if feature.kind != Kind.ABSENT]
        self._columns = np.array(sorted(measured, key=lambda j: features[j].kind))
        ordered = [features[j] for j in self._columns]
        kinds = np.array([feature.kind for feature in ordered])
        self._ranges = [
            (kind, slice(*np.searchsorted(kinds, [kind, kind + 1]).tolist())) for kind in Kind if (kinds == kind).any()
        ]
        self._rows = np.zeros((_LOADS, len(ordered)), np.int64)
        self._weights = np.zeros((_LOADS, len(ordered), 1), np.float32)
        self._noise = np.zeros((len(ordered), 1), np.float32)
        for j, feature in enumerate(ordered):
            size = np.sqrt(feature.noise**2 + sum(w * w for w in feature.loads.values()))
            self._noise[j] = feature.noise / size if size else 0.0
            for k, (cause, weight) in enumerate(feature.loads.items()):
                self._rows[k, j] = CAUSE[cause]
                self._weights[k, j] = weight / size
        self._a = np.array([[feature.a] for feature in ordered])
        self._b = np.array([[feature.b] for feature in ordered])
        self._gate = np.array([feature.gate for feature in ordered])
        self._gates = gates

    def draw(self, rng: np.random.Generator, causes: Singles, terms: int) -> Floats:
        """The raw values, one row per measured feature, of documents with given causes (causes, documents).

        `terms` is the query's length in words. The query's context shifts all its documents together:
        raw values of different queries are not comparable.
        """
        documents = causes.shape[1]
        shift = rng.standard_normal((len(CAUSES), 1), np.float32) * self.context
        open_gates = self._open_gates(rng, causes)
        seen = causes + shift
        mixture = rng.standard_normal((len(self._columns), documents), np.float32)
        mixture *= self._noise
        for rows, weights in zip(self._rows, self._weights, strict=True):
            mixture += weights * seen[rows]
        raw: Floats = mixture * self._b
        raw += self._a
        for kind, measured in self._ranges:
            _measure(kind, raw[measured], terms, rng)
        raw *= open_gates[self._gate]
        return raw

    def in_order(self, rows: Floats | Singles) -> Singles:
        """(features, documents): rows as `draw` gives them, in the order of the names, 0 for absent features."""
        out = np.zeros((len(self.names), rows.shape[1]), np.float32)
        out[self._columns] = rows
        return out

    def _open_gates(self, rng: np.random.Generator, causes: Singles) -> NDArray[np.bool_]:
        is_open = np.ones((1 + len(self._gates), causes.shape[1]), np.bool_)
        for g, gate in enumerate(self._gates, start=1):
            level = rng.standard_normal(causes.shape[1], np.float32) * np.float32(gate.noise)
            for cause, weight in gate.loads.items():
                level += np.float32(weight) * causes[CAUSE[cause]]
            is_open[g] = level > gate.threshold
        return is_open


def _measure(kind: Kind, raw: Floats, terms: int, rng: np.random.Generator) -> None:
    """Turn mixtures a + b·h into measurements of one kind, in place."""
    if kind == Kind.SCORE:
        np.maximum(raw, 0.0, out=raw)
    elif kind == Kind.LOG_PROBABILITY:
        np.negative(raw, out=raw)
        np.exp(raw, out=raw)
        np.negative(raw, out=raw)
    elif kind in (Kind.LOG_NORMAL, Kind.COUNT, Kind.GAPPED):
        np.exp(raw, out=raw)
        if kind == Kind.COUNT:
            np.floor(raw, out=raw)
        if kind == Kind.GAPPED:
            raw[rng.random(raw.shape, np.float32) < 0.002] = SENTINEL
    elif kind == Kind.BOOLEAN:
        np.greater(raw, 0.0, out=raw, casting="unsafe")
    elif kind == Kind.PER_QUERY:
        raw[:] = np.exp(rng.standard_normal((len(raw), 1)))
    else:
        _logistic(raw)
        if kind == Kind.COVERAGE:
            raw *= terms + 1
            np.minimum(np.floor(raw, out=raw), terms, out=raw)
        if kind == Kind.UNIT_STEPS:
            raw *= 8.0
            np.floor(raw, out=raw)
            raw /= 8.0


def _logistic(x: Floats) -> None:
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1.0
    np.reciprocal(x, out=x)


def draw_causes(rng: np.random.Generator, documents: int) -> Singles:
    """(causes, documents), standard normal each: fields share the topic, popularity follows quality.

    Spam is a little less frequent among documents of quality, long documents a little fresher.
    """
    z = rng.standard_normal((len(CAUSES), documents), np.float32)
    topic, quality = z[CAUSE["topic"]], z[CAUSE["quality"]]
    for name in FIELDS:
        _blend(z[CAUSE[name]], topic, 0.6)
    _blend(z[CAUSE["whole"]], z[CAUSE["body"]], 0.8)
    _blend(z[CAUSE["popularity"]], quality, 0.6)
    _blend(z[CAUSE["spam"]], quality, -0.3)
    _blend(z[CAUSE["freshness"]], z[CAUSE["length"]], 0.3)
    return z


def _blend(row: Singles, other: Singles, correlation: float) -> None:
    row *= np.float32(np.sqrt(1.0 - correlation**2))
    row += np.float32(correlation) * other
