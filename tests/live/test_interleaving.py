"""Pages that several orders fill by turns: one of all possible drafts, with what is pinned or agreed on left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.live.interleaving import EVERYBODYS, credit, draft_seed, drafted

from ..proofs.test_team_draft import compared, played_out


@given(compared(), st.integers(0, 1000))
@examples(60)
def test_a_live_draft_is_one_of_these_and_what_all_agree_on_is_nobodys(comparison, number):
    orders, size = comparison
    page, teams = drafted([np.array(order[:size]) for order in orders], len(orders[0]), 3, number, {})
    agreed = next((t for t in range(size) if len({order[t] for order in orders}) > 1), size)
    assert teams[:agreed] == [EVERYBODYS] * agreed
    assert any(
        tuple(page.tolist()) == shown and tuple(teams[agreed:]) == whose[agreed:]
        for shown, whose in played_out(orders, size)
    )


def test_what_is_pinned_stays_and_is_nobodys():
    orders = [np.array([4, 0, 1, 2]), np.array([4, 3, 2, 1])]
    for number in range(50):
        page, teams = drafted(orders, 5, 1, number, {4: 0})
        assert page[0] == 4
        assert teams[0] == EVERYBODYS
        assert EVERYBODYS not in teams[1:]
        assert len(set(page.tolist())) == 4


def test_clicks_on_what_is_everybodys_are_nobodys_credit():
    assert credit([EVERYBODYS, 0, 1, 0], [1.0, 0.5, 1.0, 0.25], arms=3) == [0.75, 1.0, 0.0]
    with pytest.raises(ValueError, match="zip"):
        credit([0, 1], [1.0], arms=2)


def test_every_experiment_has_draws_of_its_own():
    assert len({draft_seed(seed, experiment) for seed in (0, 1, 2**53) for experiment in range(50)}) == 150
