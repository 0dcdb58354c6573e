"""The feature tables of the synthetic worlds: which statistics each world's documents are seen through.

`mslr_plan` follows MSLR-WEB10K's published list name by name: 25 text statistics of five fields, then
address, links, ranks, quality and clicks. Yahoo!'s and Istella's features are anonymous, so theirs are drawn
once from a fixed seed with the proportions of kinds that those sets are known for.
"""

from functools import cache

import numpy as np

from rankloop.data.worlds.features import CAUSES, FIELDS, Feature, FeaturePlan, Gate, Kind

_ANCHOR, _TITLE, _URL = 1, 2, 3
_FIELD_GATE = {"body": 0, "anchor": _ANCHOR, "title": _TITLE, "url": _URL, "whole": 0}
_FIELD_GATES = [
    Gate({"popularity": 0.6, "anchor": 0.3}, threshold=0.6),  # few pages are linked with the query's words
    Gate({"title": 0.7}, threshold=-0.2),
    Gate({"url": 0.7}, threshold=0.5),
]
_CLICKED, _VISITED = 4, 5
_CLICK_GATES = [
    Gate({"popularity": 0.4, "topic": 0.5}, threshold=1.2),
    Gate({"popularity": 0.7}, threshold=0.7),
]
_FIELD_LENGTH = {"body": 6.0, "anchor": 2.0, "title": 1.8, "url": 2.2, "whole": 6.2}
_HABIT = dict(zip(FIELDS, ("habit 1", "habit 2", "habit 3", "habit 1", "habit 2"), strict=True))

_SPREADS = ("sum", "min", "max", "mean", "variance")


@cache
def mslr_plan() -> FeaturePlan:
    """136 features: statistics of body, anchor, title, url and whole document, then what is not text."""
    by_statistic = [_text_statistics(name) for name in FIELDS]
    text = [feature for same in zip(*by_statistic, strict=True) for feature in same]
    return FeaturePlan(text + _page_features(), _FIELD_GATES + _CLICK_GATES, context=0.6)


def _text_statistics(name: str) -> list[Feature]:
    """The 25 statistics of one field, in MSLR's order."""
    gate = _FIELD_GATE[name]
    long = _FIELD_LENGTH[name]
    match, habit = {name: 1.0}, {name: 0.7, _HABIT[name]: 0.7}

    def one(title: str, kind: Kind, loads: dict[str, float], noise: float, a: float, b: float) -> Feature:
        return Feature(f"{title} {name}", kind, loads, noise, a, b, gate)

    def smoothed(title: str, loads: dict[str, float], noise: float, a: float) -> Feature:
        # A language model gives an empty field the background's probability, not 0: no gate.
        return Feature(f"{title} {name}", Kind.LOG_PROBABILITY, loads, noise, a, 0.25)

    def five(title: str, kind: Kind, loads: dict[str, float], a: float, b: float) -> list[Feature]:
        shrink = {"sum": 0.0, "min": -1.6, "max": -0.5, "mean": -0.9, "variance": -0.6}
        widen = {"variance": 1.8}
        return [
            one(f"{how} of {title}", kind, loads, 0.6, a + shrink[how], b * widen.get(how, 1.0)) for how in _SPREADS
        ]

    return [
        one("covered query term number", Kind.COVERAGE, match, 0.5, 0.4, 1.4),
        one("covered query term ratio", Kind.COVERAGE, match, 0.5, 0.4, 1.4),
        one("stream length", Kind.COUNT, {"length": 1.0}, 0.3, long, 0.6),
        one("IDF(inverse document frequency)", Kind.PER_QUERY, {}, 1.0, 0.0, 1.0),
        *five("term frequency", Kind.COUNT, {name: 0.8, "length": 0.6}, long / 2.5, 1.0),
        *five("stream length normalized term frequency", Kind.LOG_NORMAL, habit, -3.5, 0.7),
        *five("tf*idf", Kind.LOG_NORMAL, {**habit, "length": 0.4}, long / 2.0, 0.8),
        one("boolean model", Kind.BOOLEAN, match, 0.7, -0.2, 1.0),
        one("vector space model", Kind.SCORE, habit, 0.5, 0.9, 0.8),
        one("BM25", Kind.SCORE, match, 0.6, 12.0, 7.0),
        smoothed("LMIR.ABS", match, 0.7, 2.8),
        smoothed("LMIR.DIR", {name: 0.9, "length": 0.4}, 0.7, 2.7),
        smoothed("LMIR.JM", match, 0.8, 2.9),
    ]


def _page_features() -> list[Feature]:
    heavy, count = Kind.LOG_NORMAL, Kind.COUNT
    return [
        Feature("number of slash in URL", count, {"depth": 1.0}, 0.2, 1.1, 0.5),
        Feature("length of URL", count, {"depth": 0.7}, 0.6, 3.9, 0.45),
        Feature("inlink number", count, {"popularity": 0.8, "quality": 0.3}, 0.5, 3.0, 3.2),
        Feature("outlink number", count, {"spam": 0.7, "length": 0.5}, 0.5, 2.6, 1.3),
        Feature("PageRank", count, {"popularity": 0.6, "quality": 0.6}, 0.6, 5.0, 1.4),
        Feature("SiteRank", count, {"quality": 0.7, "spam": -0.3}, 0.6, 8.0, 1.5),
        Feature("QualityScore", count, {"spam": 1.0}, 0.2, 3.3, 0.7),
        Feature("QualityScore2", count, {"spam": 0.9, "quality": -0.3}, 0.3, 3.2, 0.7),
        Feature("query-url click count", count, {"topic": 0.6, "popularity": 0.6}, 0.5, 2.5, 1.8, _CLICKED),
        Feature("url click count", count, {"popularity": 0.9}, 0.5, 3.5, 2.2, _VISITED),
        Feature("url dwell time", heavy, {"quality": 0.6, "freshness": 0.4}, 0.7, 3.0, 1.2, _VISITED),
    ]


@cache
def yahoo_plan() -> FeaturePlan:
    """700 columns of which set 1 fills 519, all in [0, 1], most of them 0 most of the time."""
    rng = np.random.Generator(np.random.Philox(key=700))
    gates = [Gate({CAUSES[rng.integers(len(CAUSES))]: 0.5}, threshold=float(rng.normal(0.35, 0.6))) for _ in range(24)]
    used = np.sort(rng.permutation(700)[:519])
    features = [Feature(f"f{j + 1}", Kind.ABSENT) for j in range(700)]
    for j in used:
        kind = (Kind.UNIT, Kind.UNIT, Kind.UNIT, Kind.UNIT_STEPS, Kind.BOOLEAN)[rng.integers(5)]
        features[j] = Feature(
            f"f{j + 1}",
            kind,
            _random_loads(rng, sign=False),
            noise=float(rng.uniform(0.6, 1.4)),
            a=float(rng.normal(-0.3, 0.8)),
            b=float(rng.uniform(0.8, 1.8)),
            gate=int(rng.integers(len(gates) + 1)) if rng.random() < 0.85 else 0,
        )
    return FeaturePlan(features, gates, context=0.2)


@cache
def istella_plan() -> FeaturePlan:
    """220 features on their raw scales: scores, counts, negative log-probabilities, flags, sentinels."""
    rng = np.random.Generator(np.random.Philox(key=220))
    gates = [Gate({CAUSES[rng.integers(len(CAUSES))]: 0.6}, threshold=float(rng.normal(0.1, 0.6))) for _ in range(12)]
    kinds = [Kind.SCORE] * 30 + [Kind.COUNT] * 75 + [Kind.LOG_NORMAL] * 60
    kinds += [Kind.LOG_PROBABILITY] * 15 + [Kind.BOOLEAN] * 15 + [Kind.COVERAGE] * 10
    kinds += [Kind.PER_QUERY] * 9 + [Kind.GAPPED] * 6
    middle = {Kind.SCORE: 1.0, Kind.COUNT: 3.0, Kind.LOG_PROBABILITY: 2.5, Kind.GAPPED: 1.0}
    width = {Kind.COUNT: 1.8, Kind.LOG_NORMAL: 1.6, Kind.LOG_PROBABILITY: 0.3}
    features = [
        Feature(
            f"f{j + 1}",
            kinds[i],
            _random_loads(rng, sign=True),
            noise=float(rng.uniform(0.3, 0.9)),
            a=middle.get(kinds[i], 0.0) + float(rng.normal(0.0, 0.3)),
            b=width.get(kinds[i], 1.0) * float(rng.uniform(0.7, 1.3)),
            gate=_random_gate(rng, len(gates)) if kinds[i] != Kind.LOG_PROBABILITY else 0,
        )
        for j, i in enumerate(rng.permutation(220))
    ]
    return FeaturePlan(features, gates, context=0.5)


@cache
def tiny_plan() -> FeaturePlan:
    """20 features of the plainest kinds: enough to learn from, small enough for an example."""
    score, count = Kind.SCORE, Kind.COUNT
    features = [Feature(f"BM25 {name}", score, {name: 1.0}, 0.4, 2.0, 1.0) for name in FIELDS]
    features += [Feature(f"LM {name}", Kind.LOG_PROBABILITY, {name: 1.0}, 0.6, 2.0, 0.3) for name in FIELDS]
    features += [Feature(f"term frequency {name}", count, {name: 0.8, "length": 0.5}, 0.4, 2.0, 1.0) for name in FIELDS]
    features += [
        Feature("PageRank", count, {"quality": 1.0}, 0.4, 5.0, 1.0),
        Feature("spam score", score, {"spam": 1.0}, 0.4, 2.0, 1.0),
        Feature("length", count, {"length": 1.0}, 0.3, 5.0, 0.7),
        Feature("clicks", count, {"popularity": 0.7, "topic": 0.7}, 0.5, 1.0, 1.2, 1),
        Feature("age", Kind.LOG_NORMAL, {"freshness": -1.0}, 0.5, 1.0, 1.0),
    ]
    return FeaturePlan(features, [Gate({"popularity": 0.7}, threshold=0.3)], context=0.4)


def _random_gate(rng: np.random.Generator, gates: int) -> int:
    return int(rng.integers(1, gates + 1)) if rng.random() < 0.45 else 0


def _random_loads(rng: np.random.Generator, *, sign: bool) -> dict[str, float]:
    """One to three causes, a strong one first; with `sign`, a quarter of the features point downwards."""
    causes = rng.choice(len(CAUSES), size=int(rng.integers(1, 4)), replace=False)
    strengths = np.sort(rng.uniform(0.3, 1.0, len(causes)))[::-1]
    direction = -1.0 if sign and rng.random() < 0.25 else 1.0
    return {CAUSES[c]: float(direction * w) for c, w in zip(causes, strengths, strict=True)}
