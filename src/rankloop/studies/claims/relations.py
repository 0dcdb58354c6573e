"""What a sentence can say about two groups of runs, and the tests that speak for and against it.

A relation judges a difference (left − right) and returns two p-values: one for the sentence, one against it. Every test
is one-sided, against the border of what the sentence claims, and every p is doubled: on the scale of two-tailed tests,
0.05 is then 2.5 % in each direction, whatever the relation, and agrees with the 95 % interval that is printed. "Alike"
is an equivalence test with a margin, so a large p is never evidence for it.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from rankloop.statistics import Difference


class Judgement(NamedTuple):
    """How sure it is that the truth lies where the sentence wants it, and that it does not."""

    p_for: float
    p_against: float


class Relation(NamedTuple):
    """A relation between two groups of runs; `judge` sees their difference (or log ratio) and the margin.

    `test_for` and `test_against` name the tests in reports; `{margin}` stands for the margin.
    """

    judge: Callable[[Difference, float], Judgement]
    test_for: str
    test_against: str
    is_ratio: bool = False


def _judged(one_sided_for: float, one_sided_against: float) -> Judgement:
    """On the scale of two-tailed tests; `min` comes second, so that NaN stays NaN."""
    return Judgement(min(2 * one_sided_for, 1.0), min(2 * one_sided_against, 1.0))


def _above(d: Difference, border: float) -> Judgement:
    return _judged(d.p_above(border), d.p_below(border))


def _below(d: Difference, border: float) -> Judgement:
    return _judged(d.p_below(border), d.p_above(border))


def _inside(d: Difference, low: float, high: float) -> Judgement:
    return _judged(d.p_within(low, high), d.p_outside(low, high))


def _outside(d: Difference, low: float, high: float) -> Judgement:
    return _judged(d.p_outside(low, high), d.p_within(low, high))


_T_TEST = "t-test"
ABOVE = Relation(lambda d, _: _above(d, 0.0), _T_TEST, _T_TEST)
BELOW = Relation(lambda d, _: _below(d, 0.0), _T_TEST, _T_TEST)
_SHORTFALL = f"{_T_TEST} against a shortfall of {{margin}}"
CLEARLY_BELOW = Relation(lambda d, margin: _below(d, -margin), _SHORTFALL, _SHORTFALL)
NO_WORSE = Relation(
    lambda d, margin: _above(d, -margin),
    f"non-inferiority: {_T_TEST} against −{{margin}}",
    f"{_T_TEST}, loss beyond the margin {{margin}}",
)
ALIKE = Relation(
    lambda d, margin: _inside(d, -margin, margin),
    "equivalence test (two one-sided t-tests, margin {margin})",
    f"{_T_TEST}, difference beyond the margin {{margin}}",
)
DIFFERS = Relation(lambda d, margin: _outside(d, -margin, margin), ALIKE.test_against, ALIKE.test_for)


def within(low: float, high: float) -> Relation:
    """The ratio left / right lies between `low` and `high`: two one-sided tests on its logarithm."""
    bottom, top = math.log(low), math.log(high)
    bounds = f"{low:g} to {high:g}"
    return Relation(
        lambda d, _: _inside(d, bottom, top),
        f"two one-sided t-tests of the log ratio, bounds {bounds}",
        f"t-test of the log ratio against the bounds {bounds}",
        is_ratio=True,
    )
