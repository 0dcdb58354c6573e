"""How wide a confidence interval is: the one place that turns a standard error into one."""

import math
from statistics import NormalDist

MIXED = 50.0
"""Where an interval that holds at all times is at its best: around twenty times as many observations."""


def half_width(standard_error: float, confidence: float = 0.95, degrees: float = math.inf) -> float:
    """Half the width of the interval around an estimate: normal, or Student's t with so many degrees of freedom.

    >>> round(half_width(1.0), 2), round(half_width(1.0, degrees=2), 2)
    (1.96, 4.3)
    """
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
    grown = observations / MIXED
    return standard_error * math.sqrt((1 + 1 / grown) * math.log((1 + grown) / (1 - confidence) ** 2))


def sample_variance(n: float, total: float, squares: float) -> float:
    """Of single observations (unbiased), from their sum and the sum of their squares; 0 with fewer than two.

    >>> sample_variance(4, 2.0, 2.0)
    0.3333333333333333
    """
    # Rounding can leave a tiny negative rest where all values are equal.
    return max(0.0, (squares - total * total / n) / (n - 1)) if n > 1 else 0.0
