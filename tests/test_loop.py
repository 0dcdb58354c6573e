"""One impression after the other, learned from at once or late: the compiled loop does what is done by hand."""

import numpy as np
import pytest

from rankloop.learners import DBGD, ROLTR
from rankloop.loop import Record, note_impression
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import metric
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


def test_online_ndcg_reads_nothing_beyond_its_cut_off():
    """A kernel does not check bounds: what lies behind the discounts in memory must not count."""
    grades = np.array([1, 1, 1, 1], np.uint8)
    measures = Measures.of([metric("ndcg@2"), metric("p@4")], grades, np.array([0, 4]))
    measures.weight[0] = [1.0, 0.5, 99.0, 99.0]
    measures.norm[0] = 3.0
    record = Record(values=np.zeros((1, 2)), clicks=np.zeros(1, np.int64), variance=np.zeros(0))
    note_impression(record, 0, np.array([1, 1, 1]), np.array([1.0, 0.0, 1.0]), measures, 0)
    assert record.values.tolist() == [[0.5, 0.75]]  # (1 + 0.5)/3, and three of four
    assert record.clicks.tolist() == [2]
