"""How much a page counts, by what its client clicked on before: people click on this and that, bots for one thing.

Whoever clicks for a vendor does so on every page, and no bound on how often one client comes stops many of them. So a
client's pulls (`rankloop.live.pulls`) are added up, feature by feature, less what everybody likes: the usual pull of a
click. A click's pull has a variance of about 1, since features are in deviations of their page; the sum over its
deviation, √clicks, is z. If the largest of a client's |z| is beyond a bound b, their next page counts

    (b/z)⁸,        2F (1 − Φ(b)) = one_sided

so that of people who do not care for any of F features, about a share of `one_sided` at most is beyond it at a time.
Values further than b/√2 deviations from a page's mean are brought in to there: on a page with one product of a brand, a
click on it says much for the brand by chance, and one or two such clicks prove nothing. Earlier pages alone decide:
what somebody clicks on now does not change what it counts. Whoever clicks on other things later counts again.

There may be millions of clients. Each is added to two parts, by a hash, as in `rankloop.live.influence`, and what both
say is believed. The more features, the fewer parts, so that all of them take half a megabyte at most. One part after
the other is halved, so that it holds the clients of the newest pages: about four pages for each part. No hash of
anybody is kept.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Impression
from rankloop.live.influence import parts_of
from rankloop.live.pulls import Array, deviations, pull_of, usual_shares
from rankloop.live.settings import ModelSettings

ROOM = 512 << 10
"""Bytes that all parts take at most."""
MOST_PARTS = 4_096
STEEPNESS = 8
"""How fast pages count less beyond the bound."""
PAGES_A_PART = 4
"""So many pages after one part was halved, the next one is."""
FADED = 0.1
"""Clicks, halved time and again, that are forgotten."""


class KeptConsistency(msgspec.Struct):
    """The sums, as states keep them: only of parts in which there is something, by their place."""

    places: bytes
    clicks: bytes
    pulls: bytes
    usual: bytes
    usual_clicks: float
    shares: bytes
    pages: int


class Consistency:
    """Clicks and pulls of each client, in parts; and of everybody: a click's pull, and how clicks fall on ranks."""

    def __init__(self, settings: ModelSettings, kept: KeptConsistency | None = None) -> None:
        features = len(settings.names)
        self.parts = max(1, min(MOST_PARTS, ROOM // (2 * 4 * (features + 1))))
        self.bound = NormalDist().inv_cdf(1 - settings.guards.one_sided / (2 * features))
        self.most = self.bound / math.sqrt(2)
        """Deviations that a value is taken for at most: two clicks that say so much reach the bound."""
        self.precision = settings.precision
        self.clicks: NDArray[np.float32] = np.zeros(2 * self.parts, np.float32)
        self.pulls: NDArray[np.float32] = np.zeros((2 * self.parts, features), np.float32)
        self.usual: Array = np.zeros(features)
        self.usual_clicks = 0.0
        self.shares: Array = np.full(settings.page_size, 1e-9)
        self.pages = 0
        if kept is not None:
            self._restore(kept)

    @classmethod
    def of(cls, settings: ModelSettings, kept: KeptConsistency | None = None) -> "Consistency | None":
        """None where nobody is held to what they clicked on before."""
        return cls(settings, kept) if settings.guards.one_sided else None

    def weight(self, client: bytes) -> float:
        """What a client's next page counts: from 0 to 1."""
        return (self.bound / max(self.z(client), self.bound)) ** STEEPNESS

    def z(self, client: bytes) -> float:
        """How far the pulls of somebody's clicks lie from everybody's for the feature where that is farthest, in
        deviations; 0 without a name, or clicks."""
        if not client:
            return 0.0
        places = self._places(client)
        clicks = self.clicks[places].astype(np.float64)
        if not clicks.all() or self.usual_clicks == 0.0:
            return 0.0
        z = (self.pulls[places] - np.outer(clicks, self.usual / self.usual_clicks)) / np.sqrt(clicks)[:, None]
        return max(0.0, float(z.min(axis=0).max()), -float(z.max(axis=0).min()))

    def note(self, client: bytes, impression: Impression, clicks: Sequence[float], counts: float) -> None:
        """A page of theirs was closed, or more of it was clicked on. What they like `counts` as usual for as much as
        their page counts, so that bots do not become usual."""
        self._fade()
        values = np.array(clicks)
        total = float(values.sum())
        if total <= 0.0:
            return
        self.shares[: len(values)] += np.maximum(values, 0.0)
        shares = usual_shares(self.shares, len(values))
        z = np.clip(deviations(impression, self.precision), -self.most, self.most)
        pull = pull_of(z, values, shares)
        self.usual += counts * pull
        self.usual_clicks += counts * total
        if client:
            places = self._places(client)
            self.clicks[places] += total
            self.pulls[places] += pull

    def _fade(self) -> None:
        """Halve one part in each row, and once round what everybody does, too: people and models change."""
        self.pages += 1
        if self.pages % PAGES_A_PART:
            return
        part = self.pages // PAGES_A_PART % self.parts
        for place in (part, self.parts + part):
            kept = 0.5 if self.clicks[place] >= 2 * FADED else 0.0
            self.clicks[place] *= kept
            self.pulls[place] *= kept
        if part == 0:
            self.usual *= 0.5
            self.usual_clicks *= 0.5
            self.shares *= 0.5

    def _places(self, client: bytes) -> list[int]:
        one, other = parts_of(client, self.parts)
        return [one, self.parts + other]

    def kept(self) -> dict[str, object]:
        """What a state keeps."""
        places = np.flatnonzero(self.clicks).astype(np.uint32)
        return {
            "places": places.tobytes(),
            "clicks": self.clicks[places].tobytes(),
            "pulls": self.pulls[places].tobytes(),
            "usual": self.usual.tobytes(),
            "usual_clicks": self.usual_clicks,
            "shares": self.shares.tobytes(),
            "pages": self.pages,
        }

    def _restore(self, kept: KeptConsistency) -> None:
        places = np.frombuffer(kept.places, np.uint32)
        if places.size and int(places.max()) >= len(self.clicks):
            raise ValueError(f"part {int(places.max())} of {len(self.clicks)}")
        self.clicks[places] = np.frombuffer(kept.clicks, np.float32).reshape(len(places))
        self.pulls[places] = np.frombuffer(kept.pulls, np.float32).reshape(len(places), len(self.usual))
        self.usual[:] = np.frombuffer(kept.usual).reshape(self.usual.shape)
        self.shares[:] = np.frombuffer(kept.shares).reshape(self.shares.shape)
        self.usual_clicks, self.pages = kept.usual_clicks, kept.pages
