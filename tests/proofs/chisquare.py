"""The chi-square test as the suite uses it: fixed seeds, a stated false-alarm rate."""

from collections import Counter
from collections.abc import Hashable, Mapping

from scipy import stats

# A correct sampler fails one of these tests once in 10,000 choices of the seed. Seeds are fixed, so
# a test that passes passes always; the rate says how surprising it is when a changed sampler fails.
FALSE_ALARM = 1e-4
SMALLEST_EXPECTED = 5.0


def agrees(observed: Counter, probabilities: Mapping[Hashable, float]) -> bool:
    """Whether counts agree with probabilities; cells with few expected counts become one."""
    total = observed.total()
    assert abs(sum(probabilities.values()) - 1.0) < 1e-9, "the probabilities must sum to 1"
    assert set(observed) <= set(probabilities), "something happened that cannot happen"
    counts, expected = [], []
    rest_count, rest_expected = 0, 0.0
    for cell, probability in probabilities.items():
        if probability * total >= SMALLEST_EXPECTED:
            counts.append(observed[cell])
            expected.append(probability * total)
        else:
            rest_count += observed[cell]
            rest_expected += probability * total
    if rest_expected < 1e-6:
        assert rest_count == 0, "something all but impossible happened"
    else:
        counts.append(rest_count)
        expected.append(rest_expected)
    if len(counts) == 1:
        return True  # only one thing can happen, and it did
    scale = total / sum(expected)
    return stats.chisquare(counts, [e * scale for e in expected]).pvalue > FALSE_ALARM
