"""Selection without sorting agrees with sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.kernels.selection import sortable32, sortable64, take_largest

proof = examples(200)
finite = st.floats(allow_nan=False, allow_infinity=False)
finite32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(finite, finite)
@proof
def test_floats_as_integers_keep_their_order(a, b):
    if a < b:
        assert sortable64(a) < sortable64(b)
    assert (sortable64(a) == sortable64(b)) <= (a == b)


@given(finite32, finite32)
@proof
def test_short_floats_as_integers_keep_their_order_and_zeros_are_equal(a, b):
    x, y = sortable32(np.float32(a)), sortable32(np.float32(b))
    assert (x < y) == (a < b)
    assert (x == y) == (a == b)
    assert sortable32(np.float32(-0.0)) == sortable32(np.float32(0.0))


@pytest.mark.parametrize("documents", [1, 2, 10, 31, 33, 200])
@pytest.mark.parametrize("shown", [1, 3, 10])
def test_the_largest_of_many_are_those_that_sorting_puts_first(documents, shown):
    rng = np.random.default_rng(documents * shown)
    keys = rng.choice(np.iinfo(np.int64).max, size=documents, replace=False) * rng.choice([-1, 1])
    chosen = np.zeros(min(shown, documents), np.int64)
    wanted = np.argsort(-keys)[: len(chosen)].tolist()
    take_largest(keys, chosen)
    assert chosen.tolist() == wanted
