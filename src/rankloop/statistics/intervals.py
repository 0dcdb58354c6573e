"""How wide a confidence interval is: the one place that turns a standard error into one."""

import math
from statistics import NormalDist
from typing import Any

from rankloop.settings import require_number

MOST_SURE = 0.999999
"""An interval that is surer still has no end."""
MIXED = 50.0
"""Where an interval that holds at all times is at its best: around twenty times as many observations."""


def require_confidence(value: Any, owner: str = "interval") -> float:
    """The value as a float; refuse what is no confidence that an interval can have.

    >>> require_confidence(95)
    Traceback (most recent call last):
    rankloop.errors.SettingsError: interval: confidence must be a number, above 0 and at most 0.999999; got 95
    """
    return require_number(owner, "confidence", value, above=0, at_most=MOST_SURE)


def half_width(standard_error: float, confidence: float = 0.95, degrees: float = math.inf) -> float:
    """Half the width of the interval around an estimate: normal, or Student's t with so many degrees of freedom.

    >>> round(half_width(1.0), 2), round(half_width(1.0, degrees=2), 2)
    (1.96, 4.3)
    """
    require_confidence(confidence)
    if degrees == math.inf:
        return NormalDist().inv_cdf((1 + confidence) / 2) * standard_error
    from scipy import stats  # the service has normal intervals only, and starts without it

    return float(stats.t.ppf((1 + confidence) / 2, degrees)) * standard_error


def wilson(share: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share of n: it stays within 0 and 1, and is right for small counts too.

    >>> low, high = wilson(0.0, 10)
    >>> low, round(high, 4)
    (0.0, 0.2775)
    """
    z = half_width(1.0, confidence)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the ends it is 0 and 1 exactly, whatever rounding says.
    return (middle - half if share > 0 else 0.0), (middle + half if share < 1 else 1.0)


def anytime_half_width(standard_error: float, observations: float, confidence: float = 0.95) -> float:
    """Half the width of an interval that holds at all times at once, however often one looks: Robbins' normal mixture.

    For an estimate that is worth so many observations. It is some 60 % wider than an interval for one look at the data:

    >>> [round(anytime_half_width(1.0, n), 2) for n in (50, 1_000, 20_000)]
    [3.66, 3.08, 3.47]
    """
    require_confidence(confidence)
    grown = observations / MIXED
    return standard_error * math.sqrt((1 + 1 / grown) * math.log((1 + grown) / (1 - confidence) ** 2))


def anytime_confidence(errors: float, observations: float) -> float:
    """How sure one can be, at all times at once, that an estimate so many standard errors from 0 is not 0: the
    confidence whose `anytime_half_width` ends there, 0 if there is none.

    >>> round(anytime_confidence(anytime_half_width(1.0, 1_000, 0.99), 1_000), 6), anytime_confidence(1.0, 1_000)
    (0.99, 0.0)
    """
    grown = observations / MIXED
    return max(0.0, 1.0 - math.sqrt(1 + grown) * math.exp(-errors * errors / (2 + 2 / grown)))


def ratio_interval(
    above: float, below: float, above_variance: float, below_variance: float, errors: float
) -> tuple[float, float]:
    """The ratios of two means that are not below 0 which so many standard errors do not rule out (Fieller).

    r is ruled out if |above − r·below| exceeds `errors` standard errors: 1 is, exactly if the difference is told from
    0. The upper end is infinite where the mean below is not told from 0.

    >>> [round(end, 2) for end in ratio_interval(0.6, 0.5, 0.0001, 0.0004, 2.0)]
    [1.1, 1.31]
    """
    level = errors * errors
    bottom, top = below * below - level * below_variance, above * above - level * above_variance
    root = math.sqrt(max(0.0, level * (above_variance * bottom + below_variance * above * above)))
    middle = above * below + root
    return (max(0.0, top / middle) if middle > 0 else 0.0), (middle / bottom if bottom > 0 else math.inf)


def sample_variance(n: float, total: float, squares: float) -> float:
    """Of single observations (unbiased), from their sum and the sum of their squares; 0 with fewer than two.

    >>> sample_variance(4, 2.0, 2.0)
    0.3333333333333333
    """
    # Rounding can leave a tiny negative rest where all values are equal.
    return max(0.0, (squares - total * total / n) / (n - 1)) if n > 1 else 0.0
