"""A batch of runs: its blocks, its memory, and what each run begins with."""

import pytest

import rankloop as rl
from rankloop.asked import asked_for
from rankloop.gpu.batch import bytes_of_each, packed_batch, planned, words_of_each
from rankloop.gpu.beliefs import posterior_bytes
from rankloop.gpu.duels import duel_bytes, duel_words
from rankloop.gpu.planning import EVEN, SHAPES, room_for, shared_bytes
from rankloop.gpu.rivals import (
    comparison_bytes,
    comparison_shape,
    comparison_words,
    counterfactual_bytes,
    counterfactual_shape,
)

DEVICE = {"room": 208, "processors": 132, "most_shared": 232_448}


def batch_of(*learners, **settings):
    return [asked_for(one, rl.users.noisy(), rl.load("tiny"), 500, 3, **settings) for one in learners]


def test_blocks_and_their_memory_are_those_of_the_method():
    [one], [other], [dueling] = batch_of(rl.ROLTR()), batch_of(rl.Posterior()), batch_of(rl.DBGD())
    assert planned(one, range(3_168), **DEVICE) == (EVEN, shared_bytes(1, 20, 208, variance=False))
    shape, needed = planned(other, range(3_168), **DEVICE)
    assert (shape.group, shape.columns, shape.root_shared) == (1, 32, True)
    assert needed == posterior_bytes(20, 10, 208, root=True)
    assert planned(dueling, range(3_168), **DEVICE) == (SHAPES[-1], duel_bytes(20, 208))
    [multileaving] = batch_of(rl.PMGD(candidates=9))
    own = comparison_shape(9, 20, 10, 208, DEVICE["most_shared"])
    assert planned(multileaving, range(3_168), **DEVICE) == (own, comparison_bytes(20, 208, own))
    [counterfactual] = batch_of(rl.COLTR())
    own = counterfactual_shape(499, 20, 10, 208, DEVICE["most_shared"])
    assert planned(counterfactual, range(3_168), **DEVICE) == (own, counterfactual_bytes(20, 10, 208, own))


def test_a_posterior_takes_as_much_as_it_may_remember():
    assert words_of_each(batch_of(rl.ROLTR())) == words_of_each(batch_of(rl.COLTR())) == 0
    assert words_of_each(batch_of(rl.DBGD())) == duel_words(room_for(35, 10))
    assert words_of_each(batch_of(rl.PMGD())) == comparison_words(50, 10, room_for(35, 10))
    none, all_of_them = batch_of(rl.Posterior(memory=0)), batch_of(rl.Posterior(memory=0), rl.Posterior())
    assert words_of_each(all_of_them) == words_of_each(none) + 3 * 4_096
    assert bytes_of_each(all_of_them) == bytes_of_each(none) + 8 * 3 * 4_096


@pytest.mark.parametrize("learner", [rl.PDGD(), rl.Posterior(), rl.DBGD(), rl.PMGD(), rl.COLTR()], ids=str)
def test_runs_begin_with_the_weights_that_were_given(learner):
    given = [float(j) for j in range(20)]
    [run] = packed_batch(batch_of(learner, weights=given))
    assert run.weights.tolist() == given
    assert run.settings[0] == 3


def test_each_table_has_the_places_of_its_own_learner():
    runs = packed_batch(batch_of(rl.Posterior(), rl.Posterior(memory=100), rl.Posterior(memory=0)))
    assert [run.tables[16] for run in runs] == [4_096, 256, 0]
