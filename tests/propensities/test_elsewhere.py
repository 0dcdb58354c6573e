"""A click counts for as much as it would at another rank, and rank and clicks always belong together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankloop.propensities.elsewhere import MOST, clicks_elsewhere

RANKS = 6
ranks = st.lists(st.integers(0, RANKS - 1), min_size=RANKS, max_size=RANKS)
curves = st.lists(st.floats(-8, 3), min_size=RANKS - 1, max_size=RANKS - 1).map(lambda tail: np.array([0.0, *tail]))


@given(curves)
def test_where_nothing_moves_clicks_keep_their_bits(curve):
    clicks = np.array([1.0, 0.3, 0.0, 1.0, 0.7, 0.1])
    worth, placed = clicks_elsewhere(clicks, range(RANKS), list(range(RANKS)), curve)
    assert worth.tobytes() == clicks.tobytes()
    assert placed.tolist() == list(range(RANKS))


@given(curves, ranks)
def test_a_document_gets_the_clicks_of_its_rank_within_the_bound_and_between_where_it_was_and_is_wanted(curve, wanted):
    worth, placed = clicks_elsewhere(np.ones(RANKS), range(RANKS), wanted, curve)
    assert (worth <= MOST * (1 + 1e-6)).all()
    np.testing.assert_allclose(worth, np.exp(curve[placed] - curve), rtol=1e-9)
    for here, there, want in zip(range(RANKS), placed, wanted, strict=True):
        assert min(here, want) <= there <= max(here, want)
        if np.exp(curve[want] - curve[here]) <= MOST:
            assert there == want
