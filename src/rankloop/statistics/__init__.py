"""Means, and what can be said of them: intervals, tests, ratios, summaries over runs, comparisons at any time.

- `means`: means with intervals, whether two methods differ and by how much, Holm's correction
- `intervals`: how wide an interval is, for all of them
- `ratios`: how many times as large one mean is as another
- `summaries`: what a few odd runs do not upset: interquartile means, probabilities of improvement, profiles
- `sequential`: comparisons that may be looked at at any time
"""

from rankloop.statistics.means import (
    SIMILAR,
    THIS,
    Comparison,
    Difference,
    GeneraliseTo,
    Interval,
    d_z,
    difference,
    hedges_g,
    holm,
    interval,
    mark,
    paired_comparison,
    require_generalisation,
)

__all__ = [
    "SIMILAR",
    "THIS",
    "Comparison",
    "Difference",
    "GeneraliseTo",
    "Interval",
    "d_z",
    "difference",
    "hedges_g",
    "holm",
    "interval",
    "mark",
    "paired_comparison",
    "require_generalisation",
]
