"""What another policy would have earned, with an interval — or the reason why this log cannot tell.

All estimators are one: with sums over the log of A = weight · reward, B = mass · weight and M = expected B,

    plain, clipped      V = ΣA / N
    self-normalised     V = Σ_g ΣM_g · ΣA_g/ΣB_g / N       (a group g is a rank, or the whole page)

and each impression's influence on V gives the standard error, the interval and the paired difference of two policies.
"""

import math
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.draws import below, stream_key
from rankloop.offpolicy.weights import Evidence
from rankloop.settings import check_settings, choice, number, require_seed, whole_number
from rankloop.statistics.intervals import MOST_SURE, half_width

Array = NDArray[np.float64]

METHODS = ("plain", "clipped", "self-normalised")
LARGEST_BIAS = 0.05
"""The share of weight that may be missing or too much before a result is refused."""

_CERTAINLY = 4.0  # standard errors: seldom by chance, unless a few weights dwarf the others, and then it is as well
_COUNTS_AT_ONCE = 4_000_000  # one matrix product for many resamples takes a tenth of the time of many products
_RESAMPLING = 101  # a stream of its own, far from those of the simulation


class Estimate(msgspec.Struct, frozen=True):
    """A policy's value with its interval; or, with `reason`, no value at all.

    `effective_sample_size` is (Σw)²/Σw² in impressions: so many impressions of the new policy itself would say as
    much. `mean_weight` is 1 on average for a log that is what it claims to be.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    effective_sample_size: float
    impressions: int
    reason: str | None
    mean_weight: float

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: refused, {self.reason}"
        return (
            f"{self.name}: {self.value:.4g} ({self.low:.4g} to {self.high:.4g}), worth "
            f"{self.effective_sample_size:,.0f} of {self.impressions:,} impressions"
        )


class Rules(msgspec.Struct, frozen=True):
    """How to estimate, and when to refuse.

    `clip` is the largest weight that the clipped estimate keeps. Below `minimum_effective` impressions' worth of
    evidence, or `minimum_rewarded` rewarded impressions' worth, there is no value: the standard error would be an
    estimate from a handful of numbers, and too small. `seed` and `resamples` are the bootstrap's.
    """

    method: Annotated[str, choice(METHODS)] = "plain"
    clip: Annotated[float | None, number(above=0, optional=True)] = None
    interval: Annotated[str, choice(("normal", "bootstrap"))] = "normal"
    confidence: Annotated[float, number(above=0, at_most=MOST_SURE)] = 0.95
    minimum_effective: Annotated[float, number(at_least=0)] = 100.0
    minimum_rewarded: Annotated[float, number(at_least=0)] = 10.0
    seed: int = 0
    resamples: Annotated[int, whole_number(at_least=100)] = 1000

    def __post_init__(self) -> None:
        check_settings(self, "Rules")
        require_seed("Rules", self.seed)
        if (self.method == "clipped") != (self.clip is not None):
            raise SettingsError(f"Rules: clip=M goes with method='clipped', and only with it; got {self!r}")


USUAL = Rules()


def estimate(log: Evidence, rules: Rules = USUAL) -> Estimate:
    """The value of the policy that the log was weighted for, per impression.

    >>> from rankloop.offpolicy import evidence
    >>> found = estimate(evidence("mine", weights=[0.5, 1.5] * 100, rewards=[0, 1] * 100))
    >>> found.value, round(found.standard_error, 4), round(found.effective_sample_size)
    (0.75, 0.0532, 160)
    >>> print(estimate(evidence("mine", weights=[0.5, 1.5] * 30, rewards=[0, 1] * 30)))
    mine: refused, only 48 of 60 impressions' worth of evidence, at least 100 needed: ...
    """
    return _concluded(log.name, [(1.0, log)], rules)


def difference(new: Evidence, reference: Evidence, rules: Rules = USUAL) -> Estimate:
    """How much more one policy would have earned than the other, on the same log.

    Paired: what an impression adds to both cancels, so the interval is narrower than those of the two values suggest.
    The effective sample size is the smaller of the two; if either value is refused, so is the difference.

    >>> from rankloop.offpolicy import evidence
    >>> clicks = [0, 1] * 100
    >>> gain = difference(evidence("new", [0.5, 1.5] * 100, clicks), evidence("old", [1.0] * 200, clicks))
    >>> gain.name, gain.value
    ('new − old', 0.25)
    """
    if len(new.weights) != len(reference.weights):
        raise SettingsError(
            f"difference: both policies must be weighted on the same log; "
            f"got {len(new.weights)} and {len(reference.weights)} impressions"
        )
    return _concluded(f"{new.name} − {reference.name}", [(1.0, new), (-1.0, reference)], rules)


def effective_sample_size(log: Evidence) -> float:
    """(Σw)²/Σw², in impressions: N · (Σmw)² / (Σm · Σmw²) with the masses m of the evidence; 0 if all weights are 0.

    >>> from rankloop.offpolicy import evidence
    >>> effective_sample_size(evidence("mine", weights=[4.0, 0.0, 0.0, 0.0], rewards=[0, 0, 0, 0]))
    1.0
    """
    largest = log.weights.max()
    if not largest > 0:
        return 0.0
    w = log.weights / largest  # squares of weights up to e^700 stay finite
    squares = float((log.mass * w * w).sum() * log.mass.sum())
    return len(w) * float((log.mass * w).sum()) ** 2 / squares if squares > 0 else 0.0


class _Sums(NamedTuple):
    """A, B and M of every impression, (impressions, groups)."""

    A: Array
    B: Array
    M: Array

    def influences(self) -> Array:
        """What each impression adds; the mean is V. With R = ΣA/ΣB,

        ψ_i = Σ_g R_g M_ig + (A_ig − R_g B_ig) · ΣM_g/ΣB_g
        """
        A, B, M = (part.sum(axis=0) for part in self)
        ratio, scale = _over(A, B), _over(M, B)
        return (self.M * ratio + (self.A - self.B * ratio) * scale).sum(axis=1)

    def value(self, counts: Array) -> Array:
        """V of resampled logs: (resamples, impressions) counts give (resamples,) values."""
        A, B, M = (counts @ part for part in self)
        return (M * _over(A, B)).sum(axis=1) / counts.shape[1]


def _over(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _used_weights(log: Evidence, rules: Rules) -> Array:
    return log.weights if rules.clip is None else np.minimum(log.weights, rules.clip)


def _sums(log: Evidence, rules: Rules) -> _Sums:
    w = _used_weights(log, rules)
    A, B, M = w * log.rewards, log.mass * w, log.expected
    if rules.method != "self-normalised":
        one = np.ones((len(w), 1))
        return _Sums(A.sum(axis=1, keepdims=True), one, one)
    if not log.by_column:
        A, B, M = (part.sum(axis=1, keepdims=True) for part in (A, B, M))
    return _Sums(A, B, M)


class _Quality(NamedTuple):
    """What one weighted log is worth, and why that is not enough, if it is not."""

    effective: float
    mean_weight: float
    reason: str | None

    @staticmethod
    def of(log: Evidence, rules: Rules) -> "_Quality":
        used = log._replace(weights=_used_weights(log, rules))
        effective = effective_sample_size(used)
        mean = _mean_weight(log)
        reason = (
            _too_few(effective, len(log.weights), rules)
            or _nothing_in_common(log)
            or _not_as_expected(log, mean)
            or _cut_too_much(log, used)
            or _too_few_rewards(used, rules)
        )
        return _Quality(effective, mean, reason)


def _mean_weight(log: Evidence) -> float:
    return float((log.mass * log.weights).sum() / log.expected.sum())


def _too_few(effective: float, impressions: int, rules: Rules) -> str | None:
    if effective >= rules.minimum_effective:
        return None
    short = impressions < rules.minimum_effective
    other = "the logged policy seldom did what this one would do; log more, or try a policy closer to the logged one"
    return (
        f"only {effective:,.0f} of {impressions:,} impressions' worth of evidence, at least "
        f"{rules.minimum_effective:,.0f} needed: {'the log is short; log more' if short else other}"
    )


def _nothing_in_common(log: Evidence) -> str | None:
    axis = 0 if log.by_column else None
    weight, expected = (np.atleast_1d(part.sum(axis=axis)) for part in (log.mass * log.weights, log.expected))
    empty = np.flatnonzero((weight == 0) & (expected > 0))
    if len(empty) == 0:
        return None
    where = f" at rank {empty[0] + 1}" if len(weight) > 1 else ""
    return f"no logged page shows{where} what this policy would show; log a policy that explores more"


def _not_as_expected(log: Evidence, mean: float) -> str | None:
    deviations = (log.mass * log.weights - log.expected).sum(axis=1)
    by_chance = _CERTAINLY * math.sqrt(float((deviations**2).sum()))
    if abs(mean - 1) <= LARGEST_BIAS or abs(float(deviations.sum())) <= by_chance:
        return None
    return (
        f"the weights average {mean:.2f}, and 1 is expected: the logged policy never shows some of what this one "
        f"would show, or the logged scores or temperature are not those that drew the pages"
    )


def _cut_too_much(log: Evidence, used: Evidence) -> str | None:
    kept = _mean_weight(used) / _mean_weight(log)
    if kept >= 1 - LARGEST_BIAS:
        return None
    return (
        f"clipping removes {100 * (1 - kept):.0f} % of the weight, and at most {100 * LARGEST_BIAS:.0f} % may go: "
        f"the value would be far too low; clip at a larger weight"
    )


def _too_few_rewards(used: Evidence, rules: Rules) -> str | None:
    earned = np.abs((used.weights * used.rewards).sum(axis=1))
    squares = float((earned**2).sum())
    rewarded = float(earned.sum()) ** 2 / squares if squares > 0 else 0.0
    if rewarded >= rules.minimum_rewarded:
        return None
    return (
        f"only {rewarded:.1f} rewarded impressions' worth of evidence among {len(earned):,}, at least "
        f"{rules.minimum_rewarded:g} needed: so few clicks give no interval to believe in; log more"
    )


def _concluded(name: str, logs: list[tuple[float, Evidence]], rules: Rules) -> Estimate:
    """Of one weighted log, or of the sum of several with their signs."""
    qualities = [_Quality.of(log, rules) for _, log in logs]
    parts = [(sign, _sums(log, rules)) for sign, log in logs]
    influences = np.sum([sign * sums.influences() for sign, sums in parts], axis=0)
    n = len(influences)
    worst = min(qualities, key=lambda quality: quality.effective)
    reason = worst.reason or next((quality.reason for quality in qualities if quality.reason), None)
    value = low = high = error = None
    if reason is None and n < 2:
        reason = "a single impression has no spread; at least 2 are needed"
    if reason is None:
        value = float(influences.mean())
        error = float(influences.std(ddof=1)) / math.sqrt(n)
        if rules.interval == "normal":
            half = half_width(error, rules.confidence)
            low, high = value - half, value + half
        else:
            low, high = _bootstrap(parts, n, rules)
    return Estimate(name, value, low, high, error, worst.effective, n, reason, worst.mean_weight)


def _bootstrap(parts: list[tuple[float, _Sums]], n: int, rules: Rules) -> tuple[float, float]:
    """The percentile interval over resampled impressions; both policies of a difference see the same ones."""
    values = []
    at_once = max(1, _COUNTS_AT_ONCE // n)
    for first in range(0, rules.resamples, at_once):
        counts = np.zeros((min(at_once, rules.resamples - first), n))
        for b in range(len(counts)):
            _resample(np.uint64(rules.seed), first + b, counts[b])
        values.append(sum(sign * sums.value(counts) for sign, sums in parts))
    outside = (1 - rules.confidence) / 2
    low, high = np.quantile(np.concatenate(values), [outside, 1 - outside])
    return float(low), float(high)


@kernel
def _resample(seed, number, counts):
    """How often each impression is drawn when as many are drawn, with replacement, as there are."""
    counts[:] = 0.0
    key = stream_key(seed, _RESAMPLING, number)
    for i in range(counts.size):
        counts[below(key, i, counts.size)] += 1.0
