"""Held-out queries as the device measures them, run by a host's one thread: the CPU's bits."""

import numpy as np
import pytest
from tests.gpu.hosted import HostMemory, evaluated

import rankloop as rl
from rankloop.evaluation import measured
from rankloop.gpu.measuring import COLUMNS, HeldOut, columns_at_once
from rankloop.metrics.names import named

CHOSEN = named(["ndcg@10", "ndcg-linear@5", "err@10", "p@3", "mrr@10", "map@10"])


@pytest.mark.parametrize("nothing_relevant", ["skip", "zero"])
def test_means_and_values_have_the_bits_of_the_cpu(nothing_relevant):
    data = rl.load("tiny")
    weights = np.random.default_rng(5).normal(size=(6, data.features))
    weights[0] = 0.0  # all documents are equal: rows decide
    weights[1] = np.round(weights[1])
    means, values = evaluated(weights, data.test, CHOSEN, data.grades - 1, nothing_relevant)
    found = measured(weights, data.test, CHOSEN, highest_grade=data.grades - 1)
    np.testing.assert_array_equal(values.transpose(0, 2, 1), found.values)
    np.testing.assert_array_equal(means, found.means(nothing_relevant))


@pytest.mark.parametrize("queries", [1, 7, 8, 129, 1000, 3001])
def test_means_are_summed_as_numpy_sums(queries):
    draws = np.random.default_rng(queries)
    rows = 3 * queries
    split = rl.Split.of(draws.normal(size=(rows, 3)), draws.integers(0, 3, rows), np.repeat(np.arange(queries), 3))
    weights = draws.normal(size=(2, 3))
    means, _ = evaluated(weights, split, CHOSEN[:1], 4)
    np.testing.assert_array_equal(means, measured(weights, split, CHOSEN[:1], highest_grade=4).means())


def test_scores_of_whole_groups_of_rankers_fit_the_memory():
    test = HeldOut.of(rl.load("tiny").test, CHOSEN, 4, "skip", HostMemory())
    assert columns_at_once(test, 1) == COLUMNS
    large = test._replace(documents=750_000)
    assert columns_at_once(large, 100_000) % COLUMNS == 0
    assert columns_at_once(large, 100_000) * 4 * 750_000 <= 2 << 30
