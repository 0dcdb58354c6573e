"""Do people trust the top? What rank does to clicks, where it does more than hide documents from view.

Under trust P(click at rank k) = α_k γ + β_k: near the top people click what does not attract them, too. Attraction γ is
never seen, so its zero and its unit are anybody's choice, and neither α nor β can be known from clicks. What can be
known is how a document's click probability p₁ at the first rank becomes the one at rank k:

    p_k = slope_k · p₁ + shift_k,        slope_k = α_k/α₁,    shift_k = β_k − slope_k β₁.

Both follow from swaps. Weighed by 1 − q (see `swaps`), the documents at ranks k and k + 1 come from the same
distribution. So with x any prediction of attraction, made before the clicks, and means and covariances so weighed

    α_{k+1}/α_k = cov(x_{k+1}, c_{k+1}) / cov(x_k, c_k),        mean c_{k+1} = (α_{k+1}/α_k) · mean c_k + a step,

where the shifts are the steps along the chain. The prediction may be poor, shrunk or on any scale: it only has to be
correlated with attraction, and the better it is, the narrower the intervals. For people who look by rank alone every
shift is 0: that is what the verdict tests. It needs clicks that depend on the document and its rank only; for cascades
(`rank_effect` finds them out) neither the slopes nor the verdict mean anything.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.policies.plackett_luce import checked_clicks, checked_page, checked_returns, checked_scores
from rankloop.propensities.swaps import SwapCurve, noted_swaps
from rankloop.settings import require_whole_number
from rankloop.statistics.intervals import half_width, require_confidence

Array = NDArray[np.float64]
LEAST_CLICKS = 20.0
"""Nothing is said of two neighbours before either has been clicked this often; a click weighed down counts for less."""
LEAST_SLOPE = 2.0
"""Slopes below a rank are known where its own covariance with the prediction is this many standard errors from 0."""
MOST_RANKS = 1_000
"""The sums grow with the square of the ranks."""
LARGEST = 1e100
"""Predictions are squared, and their squares too; beyond this, sums would be infinite."""
COLUMNS = 8
"""Sums for each two neighbours: 1, x_k, x_{k+1}, x_k², c_k, c_{k+1}, x_k c_k and x_{k+1} c_{k+1}, weighed by 1 − q."""


class RankMap(NamedTuple):
    """From a document's click probability p₁ at the first rank to that at rank k: slope · p₁ + shift."""

    slope: SwapCurve
    shift: SwapCurve


class AlphaBeta(NamedTuple):
    """P(click at rank k) = α_k γ + β_k, on the scale of the attraction that was given."""

    alpha: SwapCurve
    beta: SwapCurve


class TrustVerdict(NamedTuple):
    """Whether all shifts may be 0, as they are for people who look by rank alone.

    Attributes:
        chi_square: how far from 0 they are, all ranks together.
        degrees: of freedom: so many neighbours had clicks enough.
        p: the probability of a chi-square this large without trust; 1 where nothing is known.
        pages: how many pages it rests on.
    """

    chi_square: float
    degrees: int
    p: float
    pages: int

    def no_trust(self, level: float = 0.05) -> bool:
        """Whether that can be kept up, at this level."""
        return not self.p < level


class TrustEffect:
    """Sums over pages from which trust is estimated.

    >>> trust = TrustEffect(page_size=3)
    >>> trust.add([2.0, 0.5, 0.0, -1.0], page=[0, 2, 1], clicks=[1, 0, 0])
    >>> trust.verdict()
    TrustVerdict(chi_square=0.0, degrees=0, p=1.0, pages=1)
    """

    def __init__(self, page_size: int) -> None:
        size = 1 + COLUMNS * (require_whole_number("trust", "page_size", page_size, at_least=1, at_most=MOST_RANKS) - 1)
        self.moments = np.zeros((size, size))
        """Of the pages' rows (`page_row`): how many, their sums, and the sums of their products."""
        self.given = True
        """Whether every page came with an attraction of its own, rather than with the scores alone."""

    def add(
        self,
        scores: ArrayLike,
        page: ArrayLike,
        clicks: ArrayLike,
        temperature: float = 1.0,
        *,
        attraction: ArrayLike | None = None,
    ) -> None:
        """Take in a page, with the scores that drew it.

        `attraction`: a prediction for each candidate, on any scale, that knows nothing of this page's order or clicks;
        by default the scores, about their mean and in standard deviations.
        """
        z = checked_scores(scores, temperature)
        shown = checked_page(page, len(z))
        if len(shown) > self._pairs + 1:
            raise SettingsError(f"trust: pages show at most {self._pairs + 1} documents; got {len(shown)}")
        x = None if attraction is None else checked_returns(attraction, len(z), "attraction")
        if x is not None and np.abs(x).max() > LARGEST:
            raise SettingsError(
                f"trust: attraction must lie between −{LARGEST:g} and {LARGEST:g}; scale the predictions"
            )
        self.note(z, shown, checked_clicks(clicks, len(shown)), np.arange(len(shown)), x)

    def note(
        self,
        z: Array,
        page: NDArray[np.int64],
        clicks: Array,
        ranks: NDArray[np.int64],
        attraction: Array | None = None,
    ) -> None:
        """The same for arrays that are known to be right. `ranks`: where the page's documents stand, from 0."""
        if attraction is None:
            self.given = False
            attraction = standardised(z)
        row = page_row(self._pairs, noted_swaps(z, page)[:, 0], attraction[page], clicks, ranks)
        self.moments += np.outer(row, row)

    def estimate(self, confidence: float = 0.95) -> RankMap:
        """Slopes and shifts relative to rank 1, with intervals (the delta method); NaN where nothing is known."""
        return RankMap(*_curves(self.moments, self._known(), rank_map, confidence))

    def alpha_beta(self, confidence: float = 0.95) -> AlphaBeta:
        """α and β themselves, if the given attraction is γ, or right on average: E[γ | attraction] = attraction."""
        if not self.given:
            raise SettingsError(
                "trust: α and β are known only on a scale of attraction; give every page `attraction`, the "
                "probability that each candidate attracts, or use `estimate`"
            )
        return AlphaBeta(*_curves(self.moments, self._known(), alpha_and_beta, confidence))

    def verdict(self) -> TrustVerdict:
        """The test of "no trust". It divides by no slope, so its level does not depend on how good predictions are."""
        from scipy import special  # the service has no chi-square, and starts without it

        pages, pairs = int(self.moments[0, 0]), np.flatnonzero(self._clicked())
        if not len(pairs):
            return TrustVerdict(0.0, 0, 1.0, pages)
        away, covariance = _with_covariance(self.moments, pairs, misfit)
        chi_square = float(away @ np.linalg.pinv(covariance, hermitian=True) @ away)
        return TrustVerdict(chi_square, len(pairs), float(special.chdtrc(len(pairs), chi_square)), pages)

    @property
    def _pairs(self) -> int:
        return (len(self.moments) - 1) // COLUMNS

    def _clicked(self) -> NDArray[np.bool_]:
        """Neighbours with clicks enough at both ranks, and predictions that differ."""
        weights, upper, _, squares, *clicks = self.moments[0, 1:].reshape(-1, COLUMNS).T[:6]
        clicks_squared = np.diag(self.moments)[1:].reshape(-1, COLUMNS).T[4:6]
        with np.errstate(divide="ignore", invalid="ignore"):
            often = (np.array(clicks) ** 2 / clicks_squared >= LEAST_CLICKS).all(axis=0)
            return np.asarray(often & (squares / weights - (upper / weights) ** 2 > 1e-12 * squares / weights))

    def _known(self) -> NDArray[np.int64]:
        """The neighbours from the top down to the first of whom nothing is known: a chain ends there."""
        clicked = np.arange(np.logical_and.accumulate(self._clicked()).sum(), dtype=np.int64)
        if not len(clicked):
            return clicked
        slopes, covariance = _with_covariance(self.moments, clicked, lambda sums: weighed(sums).slope)
        steep = np.abs(slopes) > LEAST_SLOPE * np.sqrt(np.diag(covariance))
        return np.arange(np.logical_and.accumulate(steep).sum(), dtype=np.int64)


def standardised(z: Array) -> Array:
    """Scores about their mean, in standard deviations: a model's scores grow as it learns, and their level is nobody's.

    >>> standardised(np.array([3.0, 1.0, 3.0, 1.0]))
    array([ 1., -1.,  1., -1.])
    """
    about = z - z.mean()
    spread = about.std()
    # Scores that are all alike may differ by rounding, which predicts nothing.
    return np.asarray(about / spread if spread > 1e-12 * np.abs(z).max() else 0.0 * z)


def page_row(pairs: int, swaps: ArrayLike, x: Array, clicks: Array, ranks: NDArray[np.int64]) -> Array:
    """A page's row: a 1, and the columns of each two neighbours. `swaps`: 1 − q for each document and the one below."""
    row = np.zeros(1 + COLUMNS * pairs)
    row[0] = 1.0
    upper = np.flatnonzero(np.diff(ranks) == 1)
    w, a, b = np.asarray(swaps)[upper], x[upper], x[upper + 1]
    c, d = clicks[upper], clicks[upper + 1]
    row[1:].reshape(pairs, COLUMNS)[ranks[upper]] = (w * [np.ones(len(w)), a, b, a * a, c, d, a * c, b * d]).T
    return row


class Weighed(NamedTuple):
    """Of each two neighbours: mean clicks and their covariance with the prediction, at the upper and lower rank."""

    mean: NDArray[np.inexact]
    mean_below: NDArray[np.inexact]
    slope: NDArray[np.inexact]
    slope_below: NDArray[np.inexact]


def weighed(sums: NDArray[np.inexact]) -> Weighed:
    """From the sums of the neighbours' columns."""
    weights, x, x_below, _, clicks, below, products, products_below = sums.reshape(-1, COLUMNS).T
    mean, mean_below = clicks / weights, below / weights
    return Weighed(mean, mean_below, (products - x * mean) / weights, (products_below - x_below * mean_below) / weights)


def misfit(sums: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """0 for each two neighbours whose clicks and whose covariances are in the same ratio, as they are without trust."""
    of = weighed(sums)
    return of.mean_below * of.slope - of.mean * of.slope_below


def rank_map(sums: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """Slopes, then shifts, of ranks 1, 2, …"""
    of = weighed(sums)
    slopes, shifts = [of.mean[0] * 0.0 + 1.0], [of.mean[0] * 0.0]
    for mean, mean_below, ratio in zip(of.mean, of.mean_below, of.slope_below / of.slope, strict=True):
        slopes.append(ratio * slopes[-1])
        shifts.append(mean_below - ratio * (mean - shifts[-1]))
    return np.array(slopes + shifts)


def alpha_and_beta(sums: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """α, then β, of ranks 1, 2, …: the line through clicks over attraction at the first rank, and on from there."""
    weights, x, squares = sums[0], sums[1], sums[3]
    of, (slopes, shifts) = weighed(sums), np.split(rank_map(sums), 2)
    alpha = of.slope[0] / (squares / weights - (x / weights) ** 2)
    beta = of.mean[0] - alpha * x / weights
    return np.concatenate([alpha * slopes, beta * slopes + shifts])


def _with_covariance(
    moments: Array, pairs: NDArray[np.int64], of: Callable[[NDArray[np.inexact]], NDArray[np.inexact]]
) -> tuple[Array, Array]:
    """A function of some neighbours' sums and its covariance: the delta method, with derivatives by complex steps."""
    places = 1 + (COLUMNS * pairs[:, None] + np.arange(COLUMNS)).ravel()
    sums = moments[0, places]
    spread = moments[np.ix_(places, places)] - np.outer(sums, sums) / moments[0, 0]
    tiny = 1e-100
    slope = np.array([of(sums + 1j * tiny * one).imag / tiny for one in np.eye(len(sums))])
    return of(sums).astype(np.float64), slope.T @ spread @ slope


def _curves(
    moments: Array,
    known: NDArray[np.int64],
    of: Callable[[NDArray[np.inexact]], NDArray[np.inexact]],
    confidence: float,
) -> tuple[SwapCurve, SwapCurve]:
    """A function's two halves, with intervals, for all ranks; NaN below what is known."""
    require_confidence(confidence, "trust")
    ranks = (len(moments) - 1) // COLUMNS + 1
    filled = np.full((3, 2, ranks), np.nan)
    if len(known):
        values, covariance = _with_covariance(moments, known, of)
        reach = half_width(1.0, confidence) * np.sqrt(np.diag(covariance))
        filled[:, :, : len(known) + 1] = np.stack([values, values - reach, values + reach]).reshape(3, 2, -1)
    elif of is rank_map:
        filled[:, :, 0] = [1.0, 0.0]
    return SwapCurve(*filled[:, 0]), SwapCurve(*filled[:, 1])
