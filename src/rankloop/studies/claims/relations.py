"""What a sentence can say about two groups of runs, and the tests that speak for and against it.

A relation judges a difference (left − right) and returns two p-values: one for the sentence, one against it. "Alike" is
an equivalence test with a margin, so a large p is never evidence for it.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from rankloop.statistics import Difference


class Judgement(NamedTuple):
    """Whether the estimate lies where the sentence wants it, or where it must not; and how sure either is."""

    supports: bool
    p_for: float
    contradicts: bool
    p_against: float


class Relation(NamedTuple):
    """A relation between two groups of runs; `judge` sees their difference (or log ratio) and the margin.

    `test_for` and `test_against` name the tests in reports; `{margin}` stands for the margin.
    """

    judge: Callable[[Difference, float], Judgement]
    test_for: str
    test_against: str
    is_ratio: bool = False


_T_TEST = "two-tailed t-test"


def _clearly_below(d: Difference, margin: float) -> Judgement:
    p = d.p(-margin)
    return Judgement(d.estimate < -margin, p, d.estimate > -margin, p)


def _no_worse(d: Difference, margin: float) -> Judgement:
    return Judgement(d.estimate > -margin, d.p(-margin), d.estimate < -margin, d.p())


def _alike(d: Difference, margin: float) -> Judgement:
    return Judgement(True, d.p_within(-margin, margin), abs(d.estimate) > margin, d.p())


def _differs(d: Difference, margin: float) -> Judgement:
    alike = _alike(d, margin)
    return Judgement(alike.contradicts, alike.p_against, alike.supports, alike.p_for)


ABOVE = Relation(lambda d, _: Judgement(d.estimate > 0, d.p(), d.estimate < 0, d.p()), _T_TEST, _T_TEST)
BELOW = Relation(lambda d, _: _clearly_below(d, 0.0), _T_TEST, _T_TEST)
_SHORTFALL = f"{_T_TEST} against a shortfall of {{margin}}"
CLEARLY_BELOW = Relation(_clearly_below, _SHORTFALL, _SHORTFALL)
NO_WORSE = Relation(
    _no_worse, f"non-inferiority: {_T_TEST} against −{{margin}}", f"{_T_TEST}, loss beyond the margin {{margin}}"
)
ALIKE = Relation(
    _alike,
    "equivalence test (two one-sided t-tests, margin {margin})",
    f"{_T_TEST}, difference beyond the margin {{margin}}",
)
DIFFERS = Relation(_differs, ALIKE.test_against, ALIKE.test_for)


def within(low: float, high: float) -> Relation:
    """The ratio left / right lies between `low` and `high`: two one-sided tests on its logarithm."""

    def judge(d: Difference, margin: float) -> Judgement:
        bottom, top = math.log(low), math.log(high)
        outside = not bottom <= d.estimate <= top
        nearest = bottom if d.estimate < bottom else top
        return Judgement(not outside, d.p_within(bottom, top), outside, d.p(nearest))

    bounds = f"{low:g} to {high:g}"
    return Relation(
        judge,
        f"two one-sided t-tests of the log ratio, bounds {bounds}",
        f"two-tailed t-test of the log ratio against the bounds {bounds}",
        is_ratio=True,
    )
