"""Multileaving is the textbook's: pages, posteriors and credits by enumeration over assignments."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.learners.multileaving import credit, multileave, order_keys, team_draft

from ..proofs import literal
from ..proofs.chisquare import agrees

DRAWS = 20_000
SEED = np.uint64(11)


@st.composite
def comparisons(draw):
    """Rankings of a few rankers, a page and its clicks."""
    documents, rankers = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rankings = [draw(st.permutations(range(documents))) for _ in range(rankers)]
    page = draw(st.permutations(range(documents)))[: draw(st.integers(1, min(4, documents)))]
    clicks = draw(st.lists(st.integers(0, 1), min_size=len(page), max_size=len(page)))
    return rankings, page, clicks


@given(comparisons())
@examples(150)
def test_credit_is_the_posterior_over_all_assignments_of_rankers_to_ranks(comparison):
    rankings, page, clicks = comparison
    wanted = np.array(clicks) @ literal.placed_by(rankings, page)
    # Posteriors are stored in float32: up to four of them, each rounded to 6e-8.
    np.testing.assert_allclose(credit(rankings, page, clicks), wanted, rtol=0, atol=3e-7)


@given(comparisons())
@examples(150)
def test_credits_sum_to_the_clicks_and_every_ranker_has_a_share(comparison):
    rankings, page, clicks = comparison
    credits = credit(rankings, page, clicks)
    assert credits.sum() == pytest.approx(sum(clicks), abs=1e-6)  # float32 posteriors
    assert (credits > 0).all() == any(clicks)


RANKINGS = {
    "opposed": [[0, 1, 2, 3], [3, 2, 1, 0]],
    "three": [[0, 1, 2, 3], [1, 3, 0, 2], [2, 0, 3, 1]],
    "alone": [[2, 0, 1]],
    "agreeing": [[1, 0, 2], [1, 0, 2], [1, 2, 0]],
}


def keys_of(rankings) -> np.ndarray:
    documents = len(rankings[0])
    scores = np.zeros((documents, len(rankings)), np.float32)
    for ranker, ranking in enumerate(rankings):
        scores[ranking, ranker] = -np.arange(documents, dtype=np.float32)
    keys = np.zeros((len(rankings), documents), np.int64)
    order_keys(scores, SEED, 0, keys)
    return keys


def multileaved(rankings, size, impression) -> tuple[tuple[int, ...], np.ndarray]:
    keys = keys_of(rankings)
    rankers, documents = keys.shape
    page, posterior = np.zeros(size, np.int64), np.zeros((size, rankers), np.float32)
    ranks, removed = np.zeros((size, rankers), np.int64), np.zeros(rankers)
    scratch = np.zeros(documents, np.int64)
    multileave(keys, SEED, impression, ranks, removed, scratch, page, posterior)
    return tuple(page.tolist()), posterior


@pytest.mark.thorough
@pytest.mark.parametrize("name", RANKINGS)
def test_multileaved_pages_have_the_probabilities_of_the_enumeration(name):
    rankings = RANKINGS[name]
    size = 3 if len(rankings) < 3 else 2
    observed = Counter(multileaved(rankings, size, i)[0] for i in range(DRAWS))
    wanted = {
        page: literal.multileaved_probability(rankings, page) for page in literal.all_pages(len(rankings[0]), size)
    }
    assert agrees(observed, wanted)


@pytest.mark.thorough
def test_every_ranker_fills_the_top_of_the_page_equally_often():
    """Three rankers with different favourites; the others' share of a favourite is known."""
    rankings = RANKINGS["three"]
    observed = Counter(multileaved(rankings, 1, i)[0] for i in range(DRAWS))
    wanted = {(d,): literal.multileaved_probability(rankings, [d]) for d in range(4)}
    assert agrees(observed, wanted)
    assert min(observed[(d,)] for d in (0, 1, 2)) > DRAWS / 4


@pytest.mark.parametrize("name", RANKINGS)
def test_the_posterior_kept_with_a_page_is_that_of_the_enumeration(name):
    rankings = RANKINGS[name]
    for impression in range(20):
        page, posterior = multileaved(rankings, 3, impression)
        np.testing.assert_allclose(posterior, literal.placed_by(rankings, page), atol=1e-6)


def drafted(rankings, size, impression) -> tuple[list[int], list[int]]:
    page, teams = np.zeros(size, np.int64), np.zeros((size, 2), np.float32)
    team_draft(keys_of(rankings), SEED, impression, page, teams)
    assert (teams.sum(axis=1) == 1).all()
    return page.tolist(), teams.argmax(axis=1).tolist()


@given(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))),
    st.integers(0, 1000),
)
@examples(150)
def test_team_draft_is_balanced_and_each_team_picks_its_best_remaining(rankings, impression):
    page, teams = drafted(rankings, len(rankings[0]), impression)
    for t, (document, team) in enumerate(zip(page, teams, strict=True)):
        assert abs(sum(1 if x else -1 for x in teams[: t + 1])) <= 1
        assert document == next(d for d in rankings[team] if d not in page[:t])


@pytest.mark.thorough
def test_who_picks_first_is_a_fair_coin_in_every_round():
    rounds = Counter(tuple(drafted([[0, 1, 2, 3], [3, 2, 1, 0]], 4, i)[1][::2]) for i in range(DRAWS))
    assert agrees(rounds, {(a, b): 0.25 for a in (0, 1) for b in (0, 1)})


@pytest.mark.parametrize("documents", [2, 3, 4])
def test_equal_scores_are_ordered_uniformly_at_random(documents):
    scores = np.zeros((documents, 1), np.float32)
    keys = np.zeros((1, documents), np.int64)
    observed: Counter = Counter()
    for impression in range(DRAWS):
        order_keys(scores, SEED, impression, keys)
        observed[tuple(np.argsort(-keys[0]).tolist())] += 1
    orders = list(literal.all_pages(documents, documents))
    assert agrees(observed, {order: 1 / len(orders) for order in orders})


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
@examples(300)
def test_order_keys_are_distinct_and_ordered_as_the_scores(values):
    scores = np.array(values, np.float32).reshape(-1, 1)
    keys = np.zeros((1, len(values)), np.int64)
    order_keys(scores, SEED, 0, keys)
    row = keys[0].tolist()
    assert len(set(row)) == len(row)
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if a < b:
                assert row[i] < row[j]


@pytest.mark.parametrize(
    ("rankings", "page", "clicks", "reason"),
    [
        ([[0, 1], [1, 1]], [0], [1], "every document exactly once"),
        ([[0, 1], [0, 1]], [0, 1], [1], "one value per shown document: 2"),
        ([[0, 1], [0, 1]], [0, -1], [1, 0], "page"),
        ([[0, 1], [0, 1]], [0, 0], [1, 0], "page"),
    ],
)
def test_an_impossible_comparison_is_refused(rankings, page, clicks, reason):
    with pytest.raises(SettingsError, match=reason):
        credit(rankings, page, clicks)
