"""What a relation takes as speaking for it, and what as speaking against it."""

import math

import pytest

from rankloop.statistics import Difference
from rankloop.studies.claims import relations

from .made import methods, runs, verdict


def test_a_large_p_is_never_evidence_that_methods_are_alike():
    unsure = runs(methods(0.30, 0.32, 0.35, 0.45, 0.45, 0.45), n=4, noise=0.1, users=("noisy",))
    found = verdict(unsure, "4c", "noisy")
    assert found.verdict == "undecided"
    assert "equivalence test" in found.detail


def test_a_difference_within_the_margin_is_alike_even_if_significant():
    tiny = runs(methods(0.30, 0.32, 0.35, 0.450, 0.453, 0.45), n=15, noise=0.0005, users=("noisy",))
    assert verdict(tiny, "4c", "noisy").verdict == "supported"


def apart(estimate, standard_error=0.001):
    return Difference(estimate, standard_error, degrees=10.0)


@pytest.mark.parametrize(
    ("relation", "supported", "contradicted"),
    [
        (relations.ABOVE, (0.005, 0.05), (-0.005, -0.05)),
        (relations.BELOW, (-0.005, -0.05), (0.005, 0.05)),
        (relations.CLEARLY_BELOW, (-0.02, -0.05), (-0.005, 0.05)),
        (relations.NO_WORSE, (-0.005, 0.05), (-0.02, -0.05)),
        (relations.ALIKE, (-0.005, 0.005), (-0.02, 0.02)),
        (relations.DIFFERS, (-0.02, 0.02), (-0.005, 0.005)),
    ],
    ids=["above", "below", "clearly below", "no worse", "alike", "differs"],
)
def test_a_sure_difference_decides_a_relation_with_a_margin_of_a_hundredth(relation, supported, contradicted):
    for estimate in supported:
        judged = relation.judge(apart(estimate), 0.01)
        assert judged.p_for < 0.001
        assert judged.p_against == 1.0
    for estimate in contradicted:
        judged = relation.judge(apart(estimate), 0.01)
        assert judged.p_against < 0.001
        assert judged.p_for == 1.0


@pytest.mark.parametrize("relation", [relations.ABOVE, relations.BELOW, relations.ALIKE, relations.NO_WORSE])
def test_an_unsure_difference_is_significant_for_nobody(relation):
    judged = relation.judge(apart(0.0, standard_error=0.1), 0.01)
    assert min(judged.p_for, judged.p_against) > 0.4


def test_a_ratio_is_judged_on_its_logarithm():
    half = relations.within(0.35, 0.7)
    assert half.is_ratio
    for ratio, inside in ((0.5, True), (0.36, True), (0.69, True), (0.3, False), (0.8, False)):
        judged = half.judge(apart(math.log(ratio)), 0.01)
        assert (judged.p_for if inside else judged.p_against) < 0.001
        assert (judged.p_against if inside else judged.p_for) == 1.0
    assert "bounds 0.35 to 0.7" in half.test_for


ONE_SIDED = [relations.ABOVE, relations.BELOW, relations.CLEARLY_BELOW, relations.NO_WORSE]


@pytest.mark.parametrize("estimate", [-0.013, -0.0095, -0.002, 0.004, 0.0107])
def test_every_relation_has_the_same_sides(estimate):
    """A direction, "no worse" and "alike" are tested one-sided against their borders, and doubled, all of them."""
    d = apart(estimate, standard_error=0.004)
    no_worse, worse = relations.NO_WORSE.judge(d, 0.01), relations.CLEARLY_BELOW.judge(d, 0.01)
    mirrored = relations.NO_WORSE.judge(apart(-estimate, standard_error=0.004), 0.01)
    alike, differs = relations.ALIKE.judge(d, 0.01), relations.DIFFERS.judge(d, 0.01)
    assert alike.p_for == max(no_worse.p_for, mirrored.p_for)  # no worse either way
    assert alike.p_against == min(no_worse.p_against, mirrored.p_against)
    assert tuple(differs) == tuple(reversed(alike))
    assert tuple(worse) == tuple(reversed(no_worse))
    assert relations.NO_WORSE.judge(d, 0.0) == relations.ABOVE.judge(d, 0.0)
    assert min(relations.ABOVE.judge(d, 0.0)) == pytest.approx(d.p())  # the two-tailed p, on the side where it lies


@pytest.mark.parametrize("relation", [*ONE_SIDED, relations.ALIKE, relations.DIFFERS])
def test_a_verdict_is_what_the_interval_says(relation):
    """p < 0.05 for a sentence if the whole 95 % interval lies where the sentence claims, and the other way round."""
    claimed = {
        relations.ABOVE: (0.0, math.inf),
        relations.BELOW: (-math.inf, 0.0),
        relations.CLEARLY_BELOW: (-math.inf, -0.01),
        relations.NO_WORSE: (-0.01, math.inf),
        relations.ALIKE: (-0.01, 0.01),
    }
    low, high = claimed.get(relation, claimed[relations.ALIKE])
    for step in range(-60, 61):
        d = apart(step * 0.0005, standard_error=0.003)
        inside = low < d.estimate - d.half_width() and d.estimate + d.half_width() < high
        judged = relation.judge(d, 0.01)
        assert ((judged.p_against if relation is relations.DIFFERS else judged.p_for) < 0.05) == inside
