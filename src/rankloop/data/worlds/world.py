"""Synthetic worlds: collections of any size that stand in for MSLR-WEB10K, Yahoo! LTRC set 1 and Istella.

Every document has hidden causes; its features are imperfect measurements of them (`features`), and
its grade is a non-linear, noisy judgement of them (`Relevance`). Each query is drawn from a counter-based
generator keyed by (world, fold, split, query), so a query is the same bits however the world is cut into
blocks, and a world at a smaller scale is the beginning of the larger one.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankloop.data.normalise import normalise
from rankloop.data.worlds.features import CAUSE, FIELDS, FeaturePlan, Floats, Singles, draw_causes
from rankloop.data.worlds.plans import istella_plan, mslr_plan, tiny_plan, yahoo_plan
from rankloop.errors import DataError, SettingsError
from rankloop.settings import is_finite

Block = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.uint8]]

SPLITS = ("train", "vali", "test")
FOLDS = 5
_BLOCK_DOCUMENTS = 32_768

# What a query of each type asks of the fields (body, anchor, title, url, whole), and how much quality,
# freshness and a short address count beside the match.
_ASKS = np.array(
    [
        [0.55, 0.15, 0.35, 0.05, 0.45],  # informational
        [0.10, 0.50, 0.45, 0.60, 0.10],  # navigational
        [0.35, 0.15, 0.60, 0.15, 0.30],  # about something recent
    ],
    np.float32,
)
_EXTRAS = np.array([[0.5, 0.1, 0.0], [0.7, 0.0, -0.6], [0.3, 0.6, 0.0]], np.float32)
_TYPE_SHARES = (0.5, 0.75)  # cumulative: half informational, a quarter navigational, the rest recent


@dataclass(frozen=True)
class Relevance:
    """From causes to grades: u = signal · judgement + the query's level + noise, cut at `thresholds`.

    The judgement is plain + curvature · curved + interaction · crossed (see `_judgement`).

    Attributes:
        signal: how strongly relevance follows the causes, against noise of about 1.
        curvature: the weight of vetoes, optima and saturation, which a linear ranker can follow half-way.
        interaction: the weight of what depends on two causes at once, which it cannot follow.
        spread: standard deviation of the query's own level; some topics have much, some little.
        difficulty: standard deviation of the logarithm of the query's noise.
        barren: the share of queries without anything relevant.
        crowding: how much fewer candidates raise the level (a small candidate list is a selected one).
        thresholds: where utility becomes grade 1, 2, 3, 4.
    """

    signal: float
    curvature: float
    interaction: float
    spread: float
    difficulty: float
    barren: float
    thresholds: tuple[float, ...]
    crowding: float = 0.0
    usual_documents: float = 100.0

    def grades(self, rng: np.random.Generator, causes: Singles) -> NDArray[np.uint8]:
        """(documents,), the judged grades of one query's documents."""
        return np.searchsorted(self.thresholds, self.utility(rng, causes)).astype(np.uint8)

    def utility(self, rng: np.random.Generator, causes: Singles) -> Floats:
        """(documents,), what the judge would like before it is cut into grades."""
        documents = causes.shape[1]
        kind = int(np.searchsorted(_TYPE_SHARES, rng.random()))
        level = self.spread * rng.standard_normal()
        level += self.crowding * math.log(self.usual_documents / documents)
        noise = math.exp(self.difficulty * rng.standard_normal() - self.difficulty**2 / 2)
        if rng.random() < self.barren:
            level = -1e9
        plain, curved, crossed = _judgement(causes, kind)
        judged = plain + self.curvature * curved + self.interaction * crossed
        utility = self.signal * judged + level
        return utility + noise * rng.standard_normal(documents)


def _judgement(causes: Singles, kind: int) -> tuple[Floats, Floats, Floats]:
    """(documents,) three times: what is nearly linear in the causes, what is curved, what crosses two of them."""
    match = np.zeros(causes.shape[1])
    for name, weight in zip(FIELDS, _ASKS[kind], strict=True):
        match += weight * causes[CAUSE[name]]
    quality, freshness, depth, spam, length, popularity = (
        causes[CAUSE[name]].astype(np.float64)
        for name in ("quality", "freshness", "depth", "spam", "length", "popularity")
    )
    for_quality, for_freshness, for_depth = _EXTRAS[kind].tolist()
    saturated = 1.5 * np.tanh(match / 1.5)
    plain = saturated + for_freshness * freshness + for_depth * depth + 0.2 * popularity
    # Quality helps only what matches; spam vetoes; documents of middling length are liked best; title and
    # body agreeing is worth more than either; of good sites the front page counts, of others a deep one.
    helped = 0.6 * for_quality * quality / (1.0 + np.exp(-4.0 * match))
    veto = -2.0 * (spam > 1.0)
    middling = -0.8 * (length * length - 1.0)
    agreeing = 0.5 * (causes[CAUSE["title"]] > 0.5) * (causes[CAUSE["body"]] > 0.5)
    front = -0.6 * np.tanh(1.5 * quality) * np.tanh(1.5 * depth)
    return plain, helped + veto + middling + agreeing, front


@dataclass(frozen=True)
class World:
    """A synthetic collection that can be generated at any size, block by block.

    Attributes:
        name: what `rankloop.load` calls it.
        title: one line for people.
        features: how many features a document has.
        feature_names: their names.
        grades: how many grades there are (0 … grades − 1).
        queries: queries in each split at scale 1.
        folds: how many folds there are; each has queries of its own from the same world.
        normalised: whether features are min–max scaled per query.
    """

    name: str
    title: str
    seed: int
    queries: dict[str, int] = field(hash=False)
    relevance: Relevance
    plan: Callable[[], FeaturePlan] = field(repr=False)
    documents: Callable[[np.random.Generator], int] = field(repr=False)
    normalised: bool = True
    grades: int = 5
    folds: int = FOLDS

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features' names, in column order."""
        return self.plan().names

    @property
    def features(self) -> int:
        """How many features a document has."""
        return len(self.feature_names)

    def size(self, split: str, scale: float = 1.0) -> int:
        """How many queries a split has at a scale.

        >>> WORLDS["mslr-like"].size("train", scale=0.1)
        600
        """
        if split not in self.queries:
            raise DataError(f"{self.name} has no split {split!r}; it has {', '.join(self.queries)}")
        _check_scale(scale)
        return max(1, round(self.queries[split] * scale))

    def check(self, fold: int, scale: float) -> None:
        """Refuse a fold or a scale that this world cannot have."""
        _check_scale(scale)
        if fold not in range(1, self.folds + 1):
            raise DataError(f"{self.name} has folds 1 to {self.folds}; got fold {fold!r}")

    def blocks(
        self,
        split: str,
        *,
        fold: int = 1,
        scale: float = 1.0,
        block_documents: int = _BLOCK_DOCUMENTS,
    ) -> Iterator[Block]:
        """The split's queries in order, as (query_ids, offsets, features, grades) of some hundred queries each.

        Query ids are (queries,), int64, unique across splits and folds; offsets (queries + 1,), int64, count from
        the block's first document; features are (documents, features), float32; grades (documents,), uint8.
        `block_documents` bounds a block's size and changes nothing else.

        >>> block = next(WORLDS["tiny"].blocks("train", scale=0.02))
        >>> [array.shape for array in block], block[0].tolist()
        ([(4,), (5,), (57, 20), (57,)], [1, 16, 31, 46])
        """
        queries = self.size(split, scale)
        self.check(fold, scale)
        return self._blocks(split, fold, queries, block_documents)

    def _blocks(self, split: str, fold: int, queries: int, block_documents: int) -> Iterator[Block]:
        place = 3 * (fold - 1) + SPLITS.index(split)
        rows: list[Singles] = []
        labels: list[NDArray[np.uint8]] = []
        first, held = 0, 0
        for number in range(queries):
            features, grades = self._query(place, number)
            rows.append(features)
            labels.append(grades)
            held += len(grades)
            if held >= block_documents or number == queries - 1:
                yield _block(rows, labels, 15 * np.arange(first, number + 1) + place + 1)
                rows, labels, first, held = [], [], number + 1, 0

    def _query(self, place: int, number: int) -> tuple[Singles, NDArray[np.uint8]]:
        """(features, documents) and (documents,): one query, a function of its place and number alone."""
        key = np.array([(self.seed << 8) + place, number], np.uint64)
        rng = np.random.Generator(np.random.Philox(key=key))
        causes = draw_causes(rng, self.documents(rng))
        grades = self.relevance.grades(rng, causes)
        plan = self.plan()
        raw = plan.draw(rng, causes, terms=1 + int(rng.integers(1, 7)))
        scaled = normalise(raw.T, np.array([0, raw.shape[1]])).T if self.normalised else raw
        return plan.in_order(scaled), grades


def _check_scale(scale: float) -> None:
    if not (is_finite(scale) and scale > 0):
        raise SettingsError(f"scale must be a positive number such as 0.1; got {scale!r}")


def _block(rows: list[Singles], labels: list[NDArray[np.uint8]], query_ids: NDArray[np.int64]) -> Block:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(grades) for grades in labels], out=offsets[1:])
    features = np.empty((offsets[-1], len(rows[0])), np.float32)
    for row, begin, end in zip(rows, offsets[:-1], offsets[1:], strict=True):
        features[begin:end] = row.T
    return query_ids, offsets, features, np.concatenate(labels)


@dataclass(frozen=True)
class LogNormal:
    """Candidates per query: log-normal with a given mean, rounded, cut at both ends."""

    mean: float
    sigma: float
    least: int
    most: int

    def __call__(self, rng: np.random.Generator) -> int:
        """One query's number of candidates."""
        size = self.mean * math.exp(self.sigma * rng.standard_normal() - self.sigma**2 / 2)
        return min(max(round(size), self.least), self.most)


def _istella_documents(rng: np.random.Generator) -> int:
    """Most candidate lists are cut off a little above 400; a quarter are short, from 4 up."""
    if rng.random() < 0.26:
        return round(math.exp(rng.uniform(math.log(4.0), math.log(300.0))))
    return max(300, 439 - int(abs(rng.normal(0.0, 40.0))))


WORLDS: dict[str, World] = {
    world.name: world
    for world in (
        World(
            name="mslr-like",
            title="a web search engine's text, link and click statistics, in the shape of MSLR-WEB10K",
            seed=10_000,
            queries={"train": 6000, "vali": 2000, "test": 2000},
            relevance=Relevance(
                signal=0.31,
                curvature=1.8,
                interaction=1.8,
                spread=0.7,
                difficulty=0.3,
                barren=0.025,
                thresholds=(-0.059, 1.311, 2.63, 3.346),
            ),
            plan=mslr_plan,
            documents=LogNormal(125.0, 0.55, 4, 1000),
        ),
        World(
            name="yahoo-like",
            title="sparse features in [0, 1] and short candidate lists, in the shape of Yahoo! LTRC set 1",
            seed=19_944,
            queries={"train": 19_944, "vali": 2994, "test": 6983},
            relevance=Relevance(
                signal=0.57,
                curvature=1.4,
                interaction=1.4,
                spread=0.8,
                difficulty=0.3,
                barren=0.02,
                thresholds=(-1.626, 0.22, 1.726, 3.093),
            ),
            plan=yahoo_plan,
            documents=LogNormal(23.8, 0.58, 1, 140),
            normalised=False,
        ),
        World(
            name="istella-like",
            title="long candidate lists with few relevant documents, in the shape of Istella",
            seed=33_118,
            queries={"train": 20_317, "vali": 2902, "test": 9799},
            relevance=Relevance(
                signal=1.6,
                curvature=2.6,
                interaction=3.0,
                spread=0.5,
                difficulty=0.3,
                barren=0.01,
                thresholds=(7.789, 8.534, 9.708, 11.35),
                crowding=1.4,
                usual_documents=400.0,
            ),
            plan=istella_plan,
            documents=_istella_documents,
        ),
        World(
            name="tiny",
            title="a small world for tests and examples",
            seed=20,
            queries={"train": 200, "vali": 50, "test": 100},
            relevance=Relevance(
                signal=1.2,
                curvature=0.5,
                interaction=0.5,
                spread=0.4,
                difficulty=0.2,
                barren=0.02,
                thresholds=(0.077, 1.44, 2.476, 3.296),
            ),
            plan=tiny_plan,
            documents=LogNormal(12.0, 0.5, 2, 60),
        ),
    )
}
