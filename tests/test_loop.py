"""One impression after the other, learned from at once or late: the compiled loop does what is done by hand."""

import pytest

from rankloop.learners import DBGD, ROLTR
from rankloop.simulation import simulate
from rankloop.users import noisy

from .proofs import small

DATA = small.collection()


@pytest.mark.parametrize("late_scores", ["current", "drawn"])
@pytest.mark.parametrize("delay", [1, 2, 7])
@pytest.mark.parametrize("learner", [ROLTR(learning_rate=0.1), DBGD(learning_rate=0.1)], ids=lambda one: one.name)
def test_late_clicks_are_learned_from_as_by_hand_however_late(learner, delay, late_scores):
    run = simulate(learner, noisy(), DATA, 80, seed=5, delay=delay, late_scores=late_scores)
    by_hand = small.drive(learner, noisy(), DATA, 80, seed=5, delay=delay, as_drawn=late_scores == "drawn")
    assert run.weights.tobytes() == by_hand.weights.tobytes()
    at_once = simulate(learner, noisy(), DATA, 80, seed=5)
    assert run.weights.tobytes() != at_once.weights.tobytes()


def test_every_impression_counts_its_clicks():
    counted = []
    run = simulate(ROLTR(), noisy(), DATA, 80, seed=5)
    small.drive(ROLTR(), noisy(), DATA, 80, seed=5, seen=lambda i, page, clicks, grades: counted.append(clicks.sum()))
    assert run.clicks.tolist() == counted
    assert 0 < sum(counted) < 800
