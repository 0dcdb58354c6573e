"""What evidence says: the two orders in many cells, with intervals, and which cells stand out beyond chance.

A cell (a query, a segment) is compared as the whole model is by its guard: variances are those between people, nobody
decides alone, and intervals are confidence sequences, which hold however often one looks.

With many cells some look good or bad by chance. Two answers are given. Where the learned order *helps* or *hurts* is
said by Holm's procedure over all cells that can be told: if it made no difference anywhere, one of them would be called
so with probability 5 % at most. And each difference is also given *shrunk* towards that of all cells together, by how
much cells truly differ (DerSimonian and Laird's variance): what one should expect to see again.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from rankloop.live.acting import Rate, rate_of
from rankloop.live.evidence import CLIENTS, KNOWN, NEW, Cells, Evidence, most_asked
from rankloop.live.guard import LEAST, GroupComparison, People, Sums, compared
from rankloop.statistics import holm
from rankloop.statistics.intervals import anytime_half_width

FEWEST = 8
"""Of the 16 parts of a cell's people, those in which there must be somebody, in either order."""
FALSE_ALARM = 0.05
NAMED = 3
"""Cells that a sentence names."""

Verdict = Literal["helps", "hurts"]


class Contrast(msgspec.Struct):
    """The two orders in one cell: value per page, the difference (learned − incoming) with its 95 % confidence
    sequence, the difference shrunk towards that of all cells, and how sure one is that there is one, by itself.

    `verdict`: beyond chance among all cells. Null where there is too little to say.
    """

    learned: Rate
    incoming: Rate
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    shrunk: float | None = None
    sure: float | None = None
    verdict: Verdict | None = None


class QueryEvidence(msgspec.Struct):
    """A frequent query: on how many pages it was asked (at most `error` fewer), and the two orders on it."""

    query: str
    pages: int
    error: int
    contrast: Contrast


class QueriesReport(msgspec.Struct):
    """Frequent queries, the most frequent first, and new queries against known ones.

    `pages` is how many closed pages had a query, `unnamed` how many frequent queries are left out because fewer than
    `clients` different clients asked them.
    """

    pages: int
    queries: list[QueryEvidence]
    unnamed: int
    clients: int
    new: Contrast
    known: Contrast
    verdict: str


class SegmentEvidence(msgspec.Struct):
    """A segment: how many pages it had, and the two orders in it."""

    segment: str
    pages: int
    contrast: Contrast


class SegmentsReport(msgspec.Struct):
    """Segments, the largest first; `other` are those beyond the first 31, and those of fewer than `clients` clients."""

    segments: list[SegmentEvidence]
    other: SegmentEvidence | None
    clients: int
    verdict: str


def queries_report(evidence: Evidence | None, limit: int, *, controlled: bool = True) -> QueriesReport:
    """What is known about queries; of the most frequent, so many. `controlled`: the model has a control group."""
    known = evidence or Evidence(0)
    queries = known.queries
    named = [place for place in most_asked(queries) if queries.texts[place]]
    compared = contrasts([queries.sums[place] for place in named])
    rows = [
        QueryEvidence(queries.texts[place], int(queries.numbers[0, place]), int(queries.numbers[1, place]), contrast)
        for place, contrast in zip(named, compared, strict=True)
    ]
    new, old = contrasts([known.novelty[NEW], known.novelty[KNOWN]])
    verdict = sentence(
        [(row.query, row.contrast) for row in rows], "query", "queries",
        counted=evidence is not None, controlled=controlled,
    )  # fmt: skip
    return QueriesReport(known.pages, rows[:limit], len(queries.keys) - len(named), CLIENTS, new, old, verdict)


def segments_report(evidence: Evidence | None, *, controlled: bool = True) -> SegmentsReport:
    """What is known about segments. `controlled`: the model has a control group."""
    segments = (evidence or Evidence(0)).segments
    places = range(len(segments.names))
    named = sorted((place for place in places if segments.is_named(place)), key=lambda place: -segments.pages[place])
    rest = [place for place in places if place not in named]
    *compared, other = contrasts([*(segments.sums[place] for place in named), segments.sums[rest].sum(axis=0)])
    rows = [
        SegmentEvidence(segments.names[place], segments.pages[place], contrast)
        for place, contrast in zip(named, compared, strict=True)
    ]
    others = sum(segments.pages[place] for place in rest)
    verdict = sentence(
        [(row.segment, row.contrast) for row in rows], "segment", "segments",
        counted=evidence is not None, controlled=controlled,
    )  # fmt: skip
    return SegmentsReport(rows, SegmentEvidence("other", others, other) if others else None, CLIENTS, verdict)


def contrasts(cells: Sequence[Cells]) -> list[Contrast]:
    """The two orders in each of the cells, which are judged together."""
    sides = [tuple(People.of(side) for side in cell) for cell in cells]
    found = [_compared(*pair) for pair in sides]
    known = [comparison for comparison in found if comparison is not None]
    verdicts, shrunk = iter(beyond_chance(known)), iter(shrunken(known))
    made = []
    for (learned, incoming), comparison in zip(sides, found, strict=True):
        contrast = Contrast(rate_of(learned), rate_of(incoming))
        if comparison is not None:
            half = anytime_half_width(_error(comparison), comparison.pages)
            contrast.difference = difference_of(comparison)
            contrast.low, contrast.high = contrast.difference - half, contrast.difference + half
            contrast.sure = comparison.sure
            contrast.verdict, contrast.shrunk = next(verdicts), next(shrunk)
        made.append(contrast)
    return made


def _compared(learned: People, incoming: People) -> GroupComparison | None:
    """None where there are too few pages or people, or nothing ever happened."""
    if min(learned.sums[0].sum(), incoming.sums[0].sum()) < LEAST or min(learned.parts, incoming.parts) < FEWEST:
        return None
    found = compared(Sums(), Sums(), learned, incoming)
    return found if _error(found) > 0 else None


def difference_of(found: GroupComparison) -> float:
    """learned − incoming, per page."""
    return found.learned - found.incoming


def _error(found: GroupComparison) -> float:
    return math.sqrt(found.learned_variance + found.incoming_variance)


def beyond_chance(found: Sequence[GroupComparison]) -> list[Verdict | None]:
    """What can be said with all of them in view: the probability that chance did any of it is 5 % at most."""
    adjusted = holm([1 - one.sure for one in found])
    verdicts: list[Verdict] = ["helps" if difference_of(one) > 0 else "hurts" for one in found]
    return [verdict if p <= FALSE_ALARM else None for verdict, p in zip(verdicts, adjusted, strict=True)]


def shrunken(found: Sequence[GroupComparison]) -> list[float]:
    """Each difference, drawn towards the mean of all by how much of its spread is chance: empirical Bayes.

    >>> alike = [GroupComparison(0.5 + d, 0.5, 0.01, 0.01, 100.0) for d in (-0.1, 0.0, 0.1)]
    >>> shrunken(alike)
    [0.0, 0.0, 0.0]
    """
    if not found:
        return []
    differences = np.array([difference_of(one) for one in found])
    variances = np.array([_error(one) ** 2 for one in found])
    weights = 1 / variances
    mean = float(weights @ differences / weights.sum())
    heterogeneity = float(weights @ (differences - mean) ** 2)
    scale = float(weights.sum() - weights @ weights / weights.sum())
    between = max(0.0, (heterogeneity - (len(found) - 1)) / scale) if scale > 0 else 0.0
    weights = 1 / (variances + between)
    mean = float(weights @ differences / weights.sum())
    kept = between / (variances + between)
    return [round(value, 12) + 0.0 for value in (mean + kept * (differences - mean)).tolist()]


def sentence(cells: Sequence[tuple[str, Contrast]], one: str, many: str, *, counted: bool, controlled: bool) -> str:
    """In words: where it helps, and where it hurts."""
    if not counted:
        return f"Nothing is counted by {one}: the model was made without evidence."
    judged = [(name, contrast) for name, contrast in cells if contrast.sure is not None]
    if not judged and not controlled:
        return f"No {one} can be compared: the model has no control group, so nobody sees the engine's order."
    if not judged:
        return f"No {one} has enough pages of both orders yet."
    helps = [name for name, contrast in judged if contrast.verdict == "helps"]
    hurts = [name for name, contrast in judged if contrast.verdict == "hurts"]
    of = f"Of {len(judged)} {many if len(judged) > 1 else one} with enough pages"
    if not helps and not hurts:
        return f"{of}, none can be told from chance."
    parts = [f"{word} on {_listed(names)}" for word, names in (("helps", helps), ("hurts", hurts)) if names]
    return f"{of}, the learned order {' and '.join(parts)}, beyond chance."


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["desk", "lamp", "chair", "bed"])
    '4 (desk, lamp, chair …)'
    """
    return f"{len(names)} ({', '.join(names[:NAMED])}{' …' if len(names) > NAMED else ''})"
