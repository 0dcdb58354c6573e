"""How wide a confidence interval is: the one place that turns a standard error into one."""

import math
from statistics import NormalDist


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
