"""DBGD, PMGD and COLTR: rivals on a sphere around the weights, a step to those that win."""

import numpy as np
import pytest

from rankloop.learners import COLTR, DBGD, PMGD
from rankloop.learners.directions import draw_direction, draw_directions
from rankloop.online import OnlineRanker

from ..proofs import literal

FEATURES, DOCUMENTS, SIZE, SEED = 6, 8, 4, 12
X = np.random.default_rng(9).normal(size=(DOCUMENTS, FEATURES)).astype(np.float32)
START = np.random.default_rng(10).normal(size=FEATURES)
CLICKS = [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]]


def ranker_of(learner) -> OnlineRanker:
    return OnlineRanker(learner, features=FEATURES, seed=SEED, page_size=SIZE, weights=START)


def directions(rivals: int, impression: int) -> np.ndarray:
    """(rivals, features): the unit directions of an impression."""
    width = -(-(rivals + 1) // 16) * 16
    U = np.zeros((FEATURES, width), np.float32)
    draw_directions(np.uint64(SEED), impression, 1.0, np.zeros(width, np.float32), U)
    return U[:, 1 : rivals + 1].T.astype(float)


def one_direction(impression: int) -> np.ndarray:
    u = np.zeros(FEATURES, np.float32)
    draw_direction(np.uint64(SEED), impression, 1.0, u)
    return u.astype(float)


def ranking(weights) -> list[int]:
    return np.argsort(-(X.astype(float) @ weights), kind="stable").tolist()


def each_update(ranker: OnlineRanker):
    """Every impression: (number, page, clicks, weights before, what learning added to them)."""
    for impression in range(12):
        before, page = ranker.weights, ranker.rank(X)
        clicks = CLICKS[impression % len(CLICKS)]
        ranker.learn(page, clicks=clicks)
        yield impression, page, clicks, before, ranker.weights - before


def assert_moved(moved, wanted) -> None:
    np.testing.assert_allclose(moved, wanted, rtol=1e-5, atol=1e-7)  # directions are float32


def test_directions_have_the_asked_length_and_point_everywhere():
    U = np.vstack([directions(60, impression) for impression in range(100)])
    np.testing.assert_allclose(np.linalg.norm(U, axis=1), 1.0, rtol=1e-6)  # float32
    # Components of a uniform direction have mean 0 and variance 1/F; five deviations of the mean of
    # 6,000 draws are a false-alarm rate below 1e-5 for all features together.
    assert np.abs(U.mean(axis=0)).max() < 5 / np.sqrt(FEATURES * len(U))
    covariance = U.T @ U / len(U) - np.eye(FEATURES) / FEATURES
    assert np.abs(covariance).max() < 5 * np.sqrt(2 / len(U)) / FEATURES


@pytest.mark.parametrize("delta", [1.0, 0.5])
def test_dbgd_steps_towards_a_candidate_with_more_credit_and_only_then(delta):
    won = 0
    for i, page, clicks, before, moved in each_update(ranker_of(DBGD(delta=delta, learning_rate=0.2))):
        u = one_direction(i)
        posterior = literal.placed_by([ranking(before), ranking(before + delta * u)], list(page))
        np.testing.assert_allclose(page.notes, posterior, atol=1e-6)
        credit = np.array(clicks) @ posterior
        won += credit[1] > credit[0] + 1e-6
        assert_moved(moved, 0.2 * u if credit[1] > credit[0] + 1e-6 else 0.0 * u)
    assert 0 < won < 12


def test_team_draft_dbgd_steps_if_the_candidates_team_gets_more_clicks():
    won = 0
    for i, page, clicks, before, moved in each_update(ranker_of(DBGD(interleaving="team-draft", learning_rate=0.2))):
        u = one_direction(i)
        orders = [ranking(before), ranking(before + u)]
        teams = page.notes.argmax(axis=1)
        for t, (document, team) in enumerate(zip(page, teams, strict=True)):
            assert document == next(d for d in orders[team] if d not in list(page)[:t])
        lead = sum(c * (1 if team else -1) for c, team in zip(clicks, teams, strict=True))
        won += lead > 0
        assert_moved(moved, 0.2 * u if lead > 0 else 0.0 * u)
    assert 0 < won < 12


def test_pmgd_steps_by_the_mean_of_the_rivals_with_strictly_more_credit():
    winners_seen = set()
    for i, page, clicks, before, moved in each_update(ranker_of(PMGD(candidates=3, learning_rate=0.2))):
        U = directions(3, i)
        rankings = [ranking(before), *(ranking(before + u) for u in U)]
        posterior = literal.placed_by(rankings, list(page))
        np.testing.assert_allclose(page.notes, posterior, atol=1e-6)
        credit = np.array(clicks) @ posterior
        won = credit[1:] > credit[0] + 1e-6
        winners_seen.add(int(won.sum()))
        assert_moved(moved, 0.2 * U[won].mean(axis=0) if won.any() else np.zeros(FEATURES))
    assert len(winners_seen) > 1


@pytest.mark.parametrize("learner", [DBGD(), DBGD(interleaving="team-draft"), PMGD(), COLTR()])
def test_a_page_without_clicks_changes_nothing(learner):
    ranker = ranker_of(learner)
    ranker.learn(ranker.rank(X), clicks=[0] * SIZE)
    assert ranker.weights.tolist() == START.tolist()
    assert getattr(ranker.model, "rate", np.array([0.1]))[0] == 0.1


@pytest.mark.parametrize("learner", [DBGD(), PMGD(), COLTR()])
def test_a_single_candidate_has_no_winner(learner):
    ranker = ranker_of(learner)
    ranker.learn(ranker.rank(X[:1]), clicks=[1])
    assert ranker.weights.tolist() == START.tolist()


def test_coltr_steps_by_the_mean_of_the_rivals_with_lower_risk_and_decays_only_then():
    rate, outcomes = 0.2, set()
    learner = COLTR(candidates=20, learning_rate=rate, decay=0.5, floor=0.04, temperature=1.0)
    ranker = ranker_of(learner)
    for i, page, clicks, before, moved in each_update(ranker):
        U = directions(20, i)
        scores = [X.astype(float) @ w for w in (before, *(before + u for u in U))]
        risk = [literal.coltr_risk(scores[0], s, list(page), clicks) for s in scores]
        won = np.array(risk[1:]) < risk[0]
        # The comparison is clear-cut in float32, so both sides must name the same winners.
        assert risk[0] == 0 or np.abs(np.array(risk[1:]) - risk[0]).min() > 1e-5
        outcomes.add(bool(won.any()))
        assert_moved(moved, rate * U[won].mean(axis=0) if won.any() else np.zeros(FEATURES))
        if won.any():
            rate = max(rate * 0.5, 0.04)
        assert ranker.model.rate[0] == rate
    assert outcomes == {True, False}
    assert rate == 0.04


def test_coltr_compares_with_the_scores_that_drew_the_page_when_clicks_come_late():
    """The logged ranker stays the denominator after the weights have moved on."""
    ranker = ranker_of(COLTR(candidates=20, temperature=1.0))
    late, logged = ranker.rank(X), ranker.weights
    for _ in range(3):
        ranker.learn(ranker.rank(X), clicks=[0, 1, 0, 1])
    before = ranker.weights
    assert (before != logged).any()
    ranker.learn(late, clicks=[0, 1, 0, 1])
    U = directions(20, 0)
    scores = [X.astype(float) @ w for w in (before, *(before + u for u in U))]
    drew = late.scores.astype(float)
    risk = np.array([literal.coltr_risk(drew, s, list(late), [0, 1, 0, 1]) for s in scores])
    assert np.abs(risk[1:] - risk[0]).min() > 1e-5
    won = risk[1:] < risk[0]
    rate = 0.1 * 0.99966**3
    assert_moved(ranker.weights - before, rate * U[won].mean(axis=0))


@pytest.mark.parametrize("learner", [DBGD(), PMGD(), COLTR()])
def test_they_start_from_a_random_direction_of_norm_one_hundredth(learner):
    ranker = OnlineRanker(learner, features=FEATURES, seed=3)
    assert np.linalg.norm(ranker.weights) == pytest.approx(0.01, rel=1e-12)
