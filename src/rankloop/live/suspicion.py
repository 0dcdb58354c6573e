"""Who may be steering a model: clients who click for one feature or one document as nobody else does.

A botnet cannot be kept out one by one. But whoever clicks for a vendor does so on every page, and that can be noticed,
and undone: erase them, and refold.

- **Features.** What a page's clicks say for a feature is Σ_k (c_k − C q_k) z_k: where clicks fell, less where they
  would have fallen by rank alone (q), times the feature's values in deviations of that page. This is a client's pull,
  and its variance, if they do not care for the feature, is known. What everybody likes is taken off (the median pull
  per click), and it is scaled to how far most people's pulls lie apart. Then Bennett's inequality says how likely so
  strong a pull is at most, for few clicks and rare features too.
- **Documents.** Of the pages that showed a client a document, on how many did they click on it, and how often did
  everybody else?

Suspects are those whom chance would hardly produce, however many clients there are. Somebody with an unusual taste may
be among them, so a person decides.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Closing, Event, Group, Impression, decode
from rankloop.live.pulls import deviations, pull_of, usual_shares
from rankloop.live.settings import ModelSettings

FALSE = 0.05
"""The share of suspects who are wronged, by features; of logs in which anybody is, by documents. If clicks were
independent, and at most."""
LEAST_CLICKS, LEAST_SHOWN = 3, 3
"""Of a client, before anything is said about their pull; and how often they were shown a document."""
LEAST_CLIENTS = 20
"""To say what is usual."""

Page = tuple[Event, Closing]
"""A page as it was shown, and how it was closed."""


class Suspicion(msgspec.Struct, frozen=True):
    """A feature or document that some clients click for.

    Attributes:
        kind: `feature` or `document`.
        name: of the feature, or the document's id.
        direction: whether they click for `more` of it, or `less`.
        clients: who; `hash:` and what the log keeps of their names, as `erase --clients` takes it.
        pages: their share of all pages.
        gain: their share of all that speaks for it: pulls of those who click for it, or clicks on the document.
    """

    kind: Literal["feature", "document"]
    name: str
    direction: Literal["more", "less"]
    clients: list[str]
    pages: float
    gain: float


class Suspects(msgspec.Struct, frozen=True):
    """What was looked at, and what was found."""

    model: str
    pages: int
    clients: int
    found: list[Suspicion]

    @property
    def everybody(self) -> list[str]:
        """All who are suspected of anything, once each."""
        return sorted({client for suspicion in self.found for client in suspicion.clients})


def suspects_among(
    pages: Iterable[Page], settings: ModelSettings, after_each: Callable[[], None] = lambda: None
) -> Suspects:
    """Of pages in the learned order that were really shown, to clients with a name; `after_each` page it may rest."""
    seen = _Seen.of(pages, settings, after_each)
    found = [*_by_feature(seen, settings.names), *_by_document(seen)] if len(seen.names) >= LEAST_CLIENTS else []
    return Suspects(settings.name, int(seen.pages.sum()), len(seen.names), found)


class _Seen(NamedTuple):
    """Per client: their name, pages, clicks and, for each feature, the pull, its variance and the most that one click
    could add to it; and of documents (shown, clicked)."""

    names: list[bytes]
    pages: NDArray[np.float64]
    clicks: NDArray[np.float64]
    pulls: NDArray[np.float64]
    variances: NDArray[np.float64]
    most: NDArray[np.float64]
    documents: dict[str, dict[int, list[float]]]

    @classmethod
    def of(cls, pages: Iterable[Page], settings: ModelSettings, after_each: Callable[[], None]) -> "_Seen":
        kept = [page for page in pages if page[0].client and page[1].why != "void"]
        shares = _shares([closing.clicks for _, closing in kept], settings.page_size)
        places: dict[bytes, int] = {}
        rows: list[NDArray[np.float64]] = []
        counted: list[list[float]] = []
        documents: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
        for shown, closing in kept:
            after_each()
            impression: Impression = decode(shown.kind, shown.body)
            if impression.group != Group.LEARNED:
                continue
            place = places.setdefault(shown.client, len(places))
            if place == len(rows):
                rows.append(np.zeros((3, len(settings.names))))
                counted.append([0.0, 0.0])
            clicks = np.array(closing.clicks)
            counted[place][0] += 1
            counted[place][1] += clicks.sum()
            if clicks.any():
                pull, variance, most = _pull(impression, settings.precision, clicks, shares)
                rows[place][:2] += pull, variance
                rows[place][2] = np.maximum(rows[place][2], most)
            for document, click in zip(impression.shown(), closing.clicks, strict=True):
                counts = documents[document][place]
                counts[0] += 1
                counts[1] += click > 0
        visits, clicked = np.array(counted).reshape(-1, 2).T
        table = np.array(rows).reshape(-1, 3, len(settings.names))
        return cls(list(places), visits, clicked, table[:, 0], table[:, 1], table[:, 2], documents)

    def suspicion(self, kind: str, name: str, direction: str, places: Sequence[int], gain: float) -> Suspicion:
        clients = [f"hash:{self.names[place].hex()}" for place in places]
        share = float(self.pages[list(places)].sum() / self.pages.sum())
        return Suspicion(kind, name, direction, clients, share, gain)  # type: ignore[arg-type]


def _shares(clicks: list[list[float]], ranks: int) -> NDArray[np.float64]:
    """How clicks are spread over ranks, whatever stands there."""
    total = np.full(ranks, 1e-9)
    for page in clicks:
        total[: len(page)] += page
    shares: NDArray[np.float64] = total / total.sum()
    return shares


def _pull(
    impression: Impression, precision: str, clicks: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """What a page's clicks say for each feature, the variance of that by rank alone, and the most a click could say."""
    z, expected = deviations(impression, precision), usual_shares(shares, len(clicks))
    apart = z - expected @ z
    return pull_of(z, clicks, expected), clicks.sum() * (expected @ apart**2), np.abs(apart).max(axis=0)


def _by_feature(seen: _Seen, names: Sequence[str]) -> list[Suspicion]:
    active = np.flatnonzero(seen.clicks >= LEAST_CLICKS)
    if len(active) < LEAST_CLIENTS:
        return []
    clicks, variances = seen.clicks[active, None], seen.variances[active]
    apart = seen.pulls[active] - clicks * np.median(seen.pulls[active] / clicks, axis=0)
    varied = variances > 0
    ratio = np.where(varied, np.abs(apart) / np.sqrt(np.where(varied, variances, 1.0)), np.nan)
    usual, known = np.zeros(ratio.shape[1]), varied.any(axis=0)  # a feature that nowhere varies has no usual distance
    usual[known] = np.nanmedian(ratio[:, known], axis=0)
    apart /= np.maximum(1.0, usual / NormalDist().inv_cdf(0.75))
    found = []
    for feature, name in enumerate(names):
        for direction, sign in (("more", 1.0), ("less", -1.0)):
            chance = _log_chance(sign * apart[:, feature], variances[:, feature], seen.most[active, feature])
            who = active[_unlikely(chance)]
            if len(who):
                speaking = np.maximum(sign * seen.pulls[:, feature], 0.0)
                gain = float(speaking[who].sum() / speaking.sum())
                found.append(seen.suspicion("feature", name, direction, who.tolist(), gain))
    return sorted(found, key=lambda suspicion: -suspicion.gain)


def _log_chance(
    apart: NDArray[np.float64], variance: NDArray[np.float64], most: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The logarithm of an upper bound of how likely a sum is to lie so far above its mean (Bennett, 1962)."""
    able = (apart > 0) & (variance > 0)
    variance, most = np.where(able, variance, 1.0), np.where(able, most, 1.0)
    u = np.where(able, most * apart / variance, 0.0)
    bound: NDArray[np.float64] = -variance / most**2 * ((1 + u) * np.log1p(u) - u)
    return bound


def _unlikely(log_chance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whom to suspect, so that one in twenty of them is wronged at most (Benjamini and Hochberg, 1995): many who are
    each a little unlikely say more than one does."""
    order = np.argsort(log_chance)
    passed = np.flatnonzero(log_chance[order] <= np.log(FALSE * np.arange(1, len(order) + 1) / len(order)))
    found = np.zeros(len(order), np.bool_)
    found[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return found


def _by_document(seen: _Seen) -> list[Suspicion]:
    from scipy import stats

    pairs = [
        (document, place, shown, clicked, all_shown - shown, all_clicked - clicked)
        for document, counts in seen.documents.items()
        for all_shown, all_clicked in [np.array(list(counts.values())).sum(axis=0).tolist()]
        for place, (shown, clicked) in counts.items()
        if shown >= LEAST_SHOWN and clicked
    ]
    if not pairs:
        return []
    shown, clicked, others, by_others = np.array([pair[2:] for pair in pairs]).T
    by_chance = stats.binom.sf(clicked - 1, shown, (by_others + 1) / (others + 2))
    who: dict[str, list[int]] = defaultdict(list)
    for (document, place, *_), chance in zip(pairs, by_chance.tolist(), strict=True):
        if chance < FALSE / len(pairs):
            who[document].append(place)
    found = []
    for document, places in who.items():
        counts = seen.documents[document]
        gain = math.fsum(counts[place][1] for place in places) / math.fsum(count[1] for count in counts.values())
        found.append(seen.suspicion("document", document, "more", places, gain))
    return sorted(found, key=lambda suspicion: -suspicion.gain)
