"""How long a device takes: by method and shape, as it was measured."""

import pytest

import rankloop as rl
from rankloop.runs.costs import device_seconds, runs_that_fill

MSLR = {"candidates": 125, "features": 136}
ISTELLA = {"candidates": 319, "features": 220}
YAHOO = {"candidates": 24, "features": 700}


def rate(learner, **shape):
    """Impressions a second."""
    return 1e6 / device_seconds(learner, 1_000_000, **shape)


@pytest.mark.parametrize(
    ("learner", "shape", "measured"),
    [
        (rl.ROLTR(), MSLR, 31e6),
        (rl.MDPRank(), MSLR, 31e6),
        (rl.PDGD(), MSLR, 41e6),
        (rl.DBGD(), MSLR, 11.8e6),
        (rl.PMGD(), MSLR, 3.7e6),
        (rl.COLTR(), MSLR, 2.88e6),
        (rl.Posterior(), MSLR, 0.49e6),
        (rl.Posterior(), ISTELLA, 0.19e6),
        (rl.Posterior(), YAHOO, 12_400),
    ],
    ids=lambda one: getattr(one, "name", None) or (str(one["features"]) if isinstance(one, dict) else ""),
)
def test_measured_rates_are_met(learner, shape, measured):
    assert rate(learner, **shape) == pytest.approx(measured, rel=0.1)  # one formula for three sizes of Posterior


def test_rankers_are_measured_as_fast_as_they_were():
    curve = {"points": 9_035, "held_out": 16_000 * 125 * 136}
    learning = device_seconds(rl.ROLTR(), 100, **MSLR)
    assert device_seconds(rl.ROLTR(), 100, **MSLR, **curve) - learning == pytest.approx(1.0)


def test_reading_bounds_methods_without_rivals_and_rivals_the_others():
    """Yahoo's lists have as many numbers as MSLR's, in more features: more to draw, as much to read."""
    assert rate(rl.ROLTR(), **YAHOO) == pytest.approx(rate(rl.ROLTR(), **MSLR), rel=0.05)
    assert rate(rl.COLTR(), **YAHOO) < rate(rl.COLTR(), **MSLR) / 4
    assert rate(rl.PMGD(), **YAHOO) < rate(rl.PMGD(), **MSLR) / 2
    assert rate(rl.COLTR(candidates=49), **MSLR) > 5 * rate(rl.COLTR(), **MSLR)


def test_the_study_that_was_said_to_take_six_seconds_takes_more_than_a_minute():
    """200 repeats of three methods with two kinds of people on Yahoo!'s shape took more than 183 s of an H200."""
    methods = (rl.DBGD(), rl.PMGD(), rl.COLTR())
    assert sum(400 * device_seconds(one, 100_000, **YAHOO) for one in methods) > 60


def test_two_blocks_to_a_processor_fill_it_where_they_are_large():
    assert [runs_that_fill(one) for one in (rl.COLTR(), rl.PMGD(), rl.Posterior())] == [264] * 3
    assert [runs_that_fill(one) for one in (rl.ROLTR(), rl.MDPRank(), rl.PDGD(), rl.DBGD())] == [1056] * 4
