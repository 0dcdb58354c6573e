"""Team draft against its literal definition: every order of turns of every round, played out.

If clicks do not depend on who placed a document, no arm expects more credit than another, and a lead is as likely as
the same deficit: that is all that the sequential test asks of it.
"""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners.multileaving import team_draft
from rankloop.live.interleaving import EVERYBODYS, credit

DRAWS = 4_000


def played_out(orders, size):
    """(page, teams) → its probability, over all orders of turns."""
    arms = range(len(orders))
    rounds = -(-size // len(orders))
    every = list(itertools.product(itertools.permutations(arms), repeat=rounds))
    found: Counter = Counter()
    for turns in every:
        page, teams = [], []
        for arm in itertools.chain(*turns):
            if len(page) < size:
                page.append(next(document for document in orders[arm] if document not in page))
                teams.append(arm)
        found[tuple(page), tuple(teams)] += Fraction(1, len(every))
    return found


@st.composite
def compared(draw):
    documents, arms = draw(st.integers(1, 5)), draw(st.integers(2, 3))
    orders = [draw(st.permutations(range(documents))) for _ in range(arms)]
    return orders, draw(st.integers(1, documents))


def keys_of(orders):
    return -np.array([np.argsort(order) for order in orders])


@pytest.mark.parametrize(
    ("orders", "size"),
    [
        ([[0, 1, 2], [2, 1, 0]], 3),
        ([[0, 1, 2, 3], [0, 2, 1, 3]], 4),
        ([[0, 1, 2], [1, 2, 0], [2, 0, 1]], 3),
        ([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]], 4),
    ],
)
def test_drafts_are_drawn_as_often_as_the_orders_of_turns_say(orders, size):
    expected, found = played_out(orders, size), Counter()
    page, placed = np.zeros(size, np.int64), np.zeros((size, len(orders)), np.float32)
    for number in range(DRAWS):
        team_draft(keys_of(orders), np.uint64(7), number, page, placed)
        found[tuple(page.tolist()), tuple(placed.argmax(axis=1).tolist())] += 1
    assert set(found) == set(expected)
    for drawn, probability in expected.items():
        p = float(probability)
        # Five standard errors: wrong in one of 1.7 million outcomes.
        assert abs(found[drawn] / DRAWS - p) < 5 * (p * (1 - p) / DRAWS) ** 0.5 + 1e-12


@given(compared(), st.data())
@examples(60)
def test_nobody_who_does_not_care_prefers_an_arm(comparison, data):
    """Clicks that look at ranks only: all arms expect the same credit, and every lead is as likely as the deficit."""
    orders, size = comparison
    clicks = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size))
    agreed = next((t for t in range(size) if len({order[t] for order in orders}) > 1), size)
    expected, leads = [Fraction(0)] * len(orders), Counter()
    for (_, teams), probability in played_out(orders, size).items():
        earned = credit([EVERYBODYS] * agreed + list(teams[agreed:]), clicks, len(orders))
        expected = [mean + probability * Fraction(each) for mean, each in zip(expected, earned, strict=True)]
        leads[earned[1] - earned[0]] += probability
    assert len(set(expected)) == 1
    assert all(leads[lead] == leads[-lead] for lead in leads)
