"""Blocks against a literal graph: components of uncertain pairs, merged on cycles, in order; uniform inside."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import rankloop as rl
from rankloop.learners import block_order
from rankloop.offpolicy.positions import position_probabilities
from rankloop.online import OnlineRanker

from ..proofs.chisquare import agrees


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z))


def literal_blocks(X, theta, P, alpha):
    """The definition, step by step, on sets: the blocks in order, and of how many components they were made."""
    n = len(X)
    certain, linked = set(), {i: {i} for i in range(n)}
    for i, j in itertools.permutations(range(n), 2):
        x = X[i] - X[j]
        if sigmoid(theta @ x) - alpha * math.sqrt(max(x @ P @ x, 0.0)) > 0.5:
            certain.add((i, j))
    for i, j in itertools.combinations(range(n), 2):
        if (i, j) not in certain and (j, i) not in certain:
            linked[i].add(j)
            linked[j].add(i)
    blocks = []
    left = set(range(n))
    while left:  # connected components
        grown, fresh = set(), {left.pop()}
        while fresh:
            grown |= fresh
            fresh = set().union(*(linked[i] for i in fresh)) - grown
        left -= grown
        blocks.append(frozenset(grown))
    above = {a: {b for b in blocks if b != a and any((i, j) in certain for i in a for j in b)} for a in blocks}
    for a in blocks:  # who can be reached: the closure
        fresh = set(above[a])
        while fresh:
            above[a] |= fresh
            fresh = set().union(*(above[b] for b in fresh)) - above[a]
    merged = {frozenset().union(a, *(b for b in above[a] if a in above[b])) for a in blocks}
    component = {block: next(b for b in blocks if b <= block) for block in merged}
    below = {block: sum(component[other] in above[component[block]] for other in merged - {block}) for block in merged}
    return sorted(merged, key=lambda block: -below[block]), len(blocks)


def found_blocks(X, theta, P, alpha):
    """What the kernels find."""
    n, features = X.shape
    learner = rl.PairRank(exploration=alpha)
    work = learner.work(features, n, n)
    covariance = np.zeros((features, learner.model(features, n, 1).rounded_inverse.shape[1]), np.float32)
    covariance[:, :features] = P
    X32 = X.astype(np.float32)
    work.base.scores[:n] = X32 @ theta.astype(np.float32)
    order = work.order[:n]
    block_order.sort_by_score(work.base.scores, work.base.keys, order)
    block_order.prepare_widths(covariance, X32, work.base.direction, work.centred[:n], work.products[:n], work.own[:n])
    tail = work.tail[:n]
    block_order.widest_below(order, work.own[:n], tail)
    blocks, first = [], 0
    while first < n:
        end = block_order.end_of_block(first, order, work.base.scores, work.centred[:n], work.products[:n],
                                       work.own[:n], tail, alpha)  # fmt: skip
        blocks.append(frozenset(order[first : end + 1].tolist()))
        first = end + 1
    return blocks


def test_blocks_are_those_of_the_graph():
    """Seven candidates, three features, widths that differ by direction: 400 times, of all kinds."""
    draws = np.random.default_rng(7)
    whole = several = contradicting = 0
    for alpha in np.repeat([0.05, 0.1, 0.15, 0.3], 100):
        X = draws.normal(size=(7, 3)) * [1.0, 1.0, 0.3]
        root = draws.normal(size=(3, 3)) * [0.2, 0.7, 1.5]
        P, theta = root.T @ root, draws.normal(size=3)
        literal, components = literal_blocks(X, theta, P, alpha)
        assert found_blocks(X, theta, P, alpha) == literal
        whole += len(literal) == 1
        several += 1 < len(literal) < 7
        contradicting += components > len(literal)
    assert min(whole, several) > 100
    assert contradicting > 5


def test_certainty_is_its_definition():
    for gap, square, alpha in itertools.product((0.0, 0.1, 1.0, 5.0, 40.0), (0.0, 0.04, 1.0, 30.0), (0.0, 0.1, 0.5)):
        literally = sigmoid(gap) - alpha * math.sqrt(square) > 0.5
        assert block_order.is_certain(gap, square, alpha) == literally
    assert not block_order.is_certain(0.0, -1e-9, 0.1)  # rounding may leave a tiny negative square


def trained():
    """Five candidates in three blocks: {0}, {1, 2, 3}, {4}."""
    learner = rl.PairRank(exploration=0.1)
    ranker = OnlineRanker(learner, features=2, seed=3, page_size=4, weights=[4.0, 0.0])
    ranker.model.rounded_inverse[:, :2] = np.diag([0.5, 1.0])
    return learner, ranker, np.array([[3, 0], [0, 0], [0, 0.5], [0, -0.5], [-3, 0]], np.float32)


def test_inside_a_block_every_order_is_equally_likely_and_the_page_says_how_likely():
    """Chi-square over 6,000 pages, with a false-alarm rate of 1e-4; the probability of each page is exact."""
    learner, ranker, X = trained()
    seen = Counter()
    for _ in range(6000):
        page = ranker.rank(X)
        seen[tuple(page.documents.tolist())] += 1
        told = learner.page_log_probability(ranker._work, page.scores, page.documents)
        assert told == pytest.approx(-math.log(6))
    pages = {(0, *inside): 1 / 6 for inside in itertools.permutations((1, 2, 3))}
    assert agrees(seen, pages)


def test_the_scores_kept_with_a_page_have_exact_rank_marginals():
    _, ranker, X = trained()
    scores = ranker.rank(X).scores
    marginals = position_probabilities(scores, ranks=4)
    third = 1 / 3
    expected = [[1, 0, 0, 0], *[[0, third, third, third]] * 3, [0, 0, 0, 0]]
    assert marginals == pytest.approx(np.array(expected), abs=1e-6)


def test_a_block_that_does_not_fit_is_drawn_from_uniformly():
    """At first nothing is certain: 3 of 4 in uniform order, 24 pages; chi-square, false-alarm rate 1e-4."""
    ranker = OnlineRanker(rl.PairRank(), features=2, seed=5, page_size=3)
    X = np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)
    pages = [ranker.rank(X) for _ in range(6000)]
    seen = Counter(tuple(page.documents.tolist()) for page in pages)
    assert agrees(seen, dict.fromkeys(itertools.permutations(range(4), 3), 1 / 24))
    assert rl.PairRank().page_log_probability(None, pages[0].scores, pages[0].documents) == pytest.approx(-math.log(24))


def test_one_candidate_is_shown():
    ranker = OnlineRanker(rl.PairRank(), features=2, seed=5)
    assert ranker.rank(np.zeros((1, 2), np.float32)).documents.tolist() == [0]


def test_equal_scores_are_sorted_by_row():
    order, keys = np.zeros(4, np.int64), np.zeros(8, np.int64)
    block_order.sort_by_score(np.array([1.0, 2.0, 1.0, -3.0], np.float32), keys, order)
    assert order.tolist() == [1, 0, 2, 3]


def test_widths_are_the_quadratic_form():
    draws = np.random.default_rng(4)
    X = draws.normal(size=(6, 5)).astype(np.float32)
    root = draws.normal(size=(5, 5))
    covariance = np.zeros((5, 16), np.float32)
    covariance[:, :5] = root @ root.T
    difference, product = np.zeros((1, 5), np.float32), np.zeros((1, 16), np.float32)
    x = X[1].astype(float) - X[4]
    square = block_order.squared_width(covariance, X, 1, 4, difference, product)
    assert square == pytest.approx(x @ root @ root.T @ x, rel=1e-5)
