"""Two conventions for queries with nothing relevant, and the discounted sum over pages."""

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rankloop.errors import SettingsError
from rankloop.metrics import mean_over_queries, online_performance


def test_a_mean_leaves_queries_out_or_counts_them_as_zero():
    values, relevant = np.array([[0.5, 0.0, 1.0], [0.25, 0.0, 0.75]]), np.array([True, False, True])
    assert mean_over_queries(values, relevant).tolist() == [0.75, 0.5]
    assert mean_over_queries(values, relevant, "zero") == pytest.approx([0.5, 1 / 3])
    assert math.isnan(mean_over_queries(values[0], np.zeros(3, bool)))


def test_many_rankers_have_the_mean_of_one_at_a_time():
    values, relevant = np.random.default_rng(1).random((7, 1001)), np.random.default_rng(2).random(1001) < 0.8
    assert mean_over_queries(values, relevant).tolist() == [mean_over_queries(row, relevant) for row in values]


def test_a_page_without_a_value_is_refused():
    with pytest.raises(SettingsError, match="every page needs a finite value"):
        online_performance([0.5, math.nan])


def test_online_performance_is_the_discounted_sum_and_two_thousand_at_most():
    assert online_performance([0.5, 1.0, 0.25], 0.5) == 0.5 + 0.5 + 0.0625
    assert online_performance([]) == 0.0
    # Σ 0.9995^i = 2000 (1 − 0.9995^T).
    assert online_performance(np.ones(1000)) == pytest.approx(2000 * (1 - 0.9995**1000), rel=1e-12)


def test_online_performance_has_the_same_bits_whatever_the_number_of_threads():
    curve = np.random.default_rng(1).random(100_000)
    values = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            values.add(online_performance(curve))
    assert len(values) == 1
