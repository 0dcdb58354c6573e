"""Min–max per query and feature equals its literal definition, for any finite numbers."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.examples import examples

from rankloop.data.normalise import normalise

anything = st.floats(allow_nan=False, allow_infinity=False)
values = arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 20)),
    elements=st.one_of(anything, st.sampled_from([0.0, 1.0, 1.797e308, -1.797e308])),
)


def literal(rows: np.ndarray) -> np.ndarray:
    """The definition in exact arithmetic, one column after another."""
    out = np.zeros(rows.shape)
    for j in range(rows.shape[1]):
        column = [Fraction(float(x)) for x in rows[:, j]]
        low, high = min(column), max(column)
        if high > low:
            out[:, j] = [float((x - low) / (high - low)) for x in column]
    return out


@examples(100)
@given(st.lists(values, min_size=1, max_size=3))
def test_normalisation_is_the_definition(queries):
    width = min(rows.shape[1] for rows in queries)
    queries = [rows[:, :width] for rows in queries]
    offsets = np.cumsum([0] + [len(rows) for rows in queries])
    got = normalise(np.concatenate(queries), offsets)
    assert got.dtype == np.float32
    expected = np.concatenate([literal(rows) for rows in queries])
    # float32 keeps 24 bits; the float64 steps before it add a few of their own last places.
    assert np.allclose(got, expected, rtol=2e-7, atol=1e-45)
    assert got.min() >= 0
    assert got.max() <= 1


def test_a_constant_feature_becomes_zero():
    rows = np.array([[5.0, 1e300], [5.0, 1e300]])
    assert normalise(rows, np.array([0, 2])).tolist() == [[0, 0], [0, 0]]


def test_queries_do_not_see_each_other():
    rows = np.array([[1.0], [2.0], [100.0], [300.0]])
    assert normalise(rows, np.array([0, 2, 4])).ravel().tolist() == [0, 1, 0, 1]
