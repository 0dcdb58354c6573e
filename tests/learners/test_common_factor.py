"""What features have in common, against the eigenvectors of their correlations; and what is believed of it."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.learners import Posterior
from rankloop.learners.common_factor import (
    ENOUGH,
    CommonFactor,
    common_agreement,
    common_share,
    gather_common,
    settle_common,
)
from rankloop.learners.prior import common_mean, common_part, gather_spread, is_due, renew, weigh_prior

LOADS = np.array([1.0, 0.8, -0.9, 0.7, 0.0])
SCALES = np.array([1.0, 1e-6, 1e6, 30.0, 5.0])


def lists(count, seed, loads=LOADS, candidates=12):
    """Five measurements of one cause, one of them the wrong way round and one of nothing, in units of their own."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        cause = rng.normal(size=(candidates, 1))
        yield ((cause * loads + 0.5 * rng.normal(size=(candidates, len(loads)))) * SCALES).astype(np.float32)


def seen(queries, learner=None):
    """A model that has seen queries, and learned nothing from them."""
    learner = learner or Posterior()
    model, work = learner.model(len(SCALES), 4, 1), learner.work(len(SCALES), 4, 40)
    for X in queries:
        model.pages[0] += 1
        gather_spread(model, X, work.centre, work.gradient)
        gather_common(model.common, model.within, model.pages[0], X, work.centre, work.gradient, work.per_unit)
        renew(model, work, 1.0)
    return model


def correlations(queries):
    """Within queries, and the units they are in."""
    covariance = np.mean([np.cov(X.astype(float).T, bias=True) for X in queries], axis=0)
    spread = np.sqrt(np.diag(covariance))
    return covariance / np.outer(spread, spread)


def test_it_is_the_first_principal_direction_of_the_correlations_within_queries():
    queries = list(lists(400, seed=1))
    model = seen(queries)
    values, vectors = np.linalg.eigh(correlations(queries))
    assert abs(model.common.direction @ vectors[:, -1]) > 0.999
    assert model.common.variance[0] == pytest.approx(values[-1], rel=0.02)
    assert np.linalg.norm(model.common.direction) == pytest.approx(1.0, rel=1e-12)


def test_it_is_known_after_a_few_lists_whatever_the_features_units():
    queries = list(lists(8, seed=2))
    vector = np.linalg.eigh(correlations(list(lists(2000, seed=3))))[1][:, -1]
    assert abs(seen(queries).common.direction @ vector) > 0.9


def test_a_feature_that_hardly_varies_on_the_first_page_does_not_pass_for_all():
    """In its unit of then, what it does on the next page would be beyond all measure."""
    queries = list(lists(8, seed=9))
    queries[0][:, 0] *= np.float32(0.01)
    model = seen(queries)
    vector = np.linalg.eigh(correlations(list(lists(2000, seed=3))))[1][:, -1]
    assert abs(model.common.direction @ vector) > 0.9
    assert model.common.variance[0] < 5.0


@pytest.mark.parametrize("signs", [[1, -1, 1, -1, 1], [-1, -1, 1, 1, -1]])
def test_features_may_point_either_way(signs):
    queries = list(lists(8, seed=10))
    turned = [X * np.array(signs, np.float32) for X in queries]
    np.testing.assert_allclose(seen(turned).common.direction, signs * seen(queries).common.direction, rtol=1e-9)


def test_two_features_that_are_each_other_s_opposite_have_all_in_common():
    rng = np.random.default_rng(11)
    loads = np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    model = seen([(rng.normal(size=(9, 1)) * loads).astype(np.float32) for _ in range(40)])
    np.testing.assert_allclose(abs(model.common.direction[:2]), 0.5**0.5, rtol=1e-6)
    assert model.common.variance[0] == pytest.approx(2.0, rel=0.2)


def test_what_all_candidates_of_a_query_share_does_not_count():
    queries = list(lists(30, seed=4))
    moved = [X + np.float32(8.0) * np.abs(X).max(axis=0) for X in queries]
    np.testing.assert_allclose(seen(moved).common.direction, seen(queries).common.direction, atol=1e-3)


def test_features_without_anything_in_common_have_no_prior_of_their_own():
    """Independent features: λ is that of noise, and so is the share, hardly more than nothing."""
    model = seen(lists(400, seed=5, loads=np.zeros(5)))
    assert model.common.variance[0] < 1.1
    assert common_share(model.common) < 0.1


@pytest.mark.parametrize("variance", [0.25, 1.0, 1.5, 4.0, 40.0])
def test_scores_along_it_have_a_variance_of_their_own_less_what_chance_would_bring(variance):
    """|a|² times the variance along b is 1 − 1/λ."""
    factor = CommonFactor(np.zeros(2), np.zeros(2), np.array([variance]))
    assert common_share(factor) * variance == pytest.approx(max(0.0, 1 - 1 / variance), rel=1e-12)


def test_the_first_page_and_those_after_enough_bring_nothing():
    X = next(lists(1, seed=6))
    scratch = [np.zeros(8), np.zeros(5)]
    for pages, looked in ((1, False), (2, True), (ENOUGH, True), (ENOUGH + 1, False)):
        factor = CommonFactor.of(5, looked_for=True)
        gather_common(factor, SCALES**2, pages, X, X.astype(float).mean(axis=0), *scratch)
        settle_common(factor)
        assert factor.gathered.any() == looked == (factor.variance[0] > 0)


def test_what_nothing_is_believed_of_is_not_looked_for():
    model = seen(lists(20, seed=7), Posterior(common_weight=0.0, common_variance=0.0))
    # States that were kept before there was any of it are such states, too.
    assert [part.size for part in model.common] == [0, 0, 0]
    assert common_share(model.common) == 0.0


def believed(model):
    """What weights are before anybody clicked, in the features' units."""
    return model.ranker.weights * model.spread


def test_scores_along_it_are_believed_to_be_worth_something_beforehand():
    """The mean of the prior: `common_weight` times the agreement with the sum, with scores of spread √(1 − 1/λ)."""
    learner = Posterior(common_weight=0.3)
    model = seen(lists(400, seed=13, loads=np.array([1.0, 0.8, 0.9, 0.7, 0.0])), learner)
    b, variance = model.common.direction, model.common.variance[0]
    agreement = b.sum() / np.sqrt(5)
    assert agreement > 0.8
    np.testing.assert_allclose(believed(model), 0.3 * agreement * np.sqrt(common_share(model.common)) * b, rtol=1e-9)
    scores = np.sqrt(variance) * believed(model) @ b
    assert scores == pytest.approx(0.3 * agreement * np.sqrt(1 - 1 / variance), rel=1e-9)


@pytest.mark.parametrize("weight", [0.3, -0.3])
def test_it_points_to_where_features_grow_whichever_way_it_was_found(weight):
    learner = Posterior(common_weight=weight)
    loads = np.array([1.0, 0.8, -0.9, 0.7, 0.6])
    found = [seen(lists(12, seed, loads), learner) for seed in range(20)]
    signs = {np.sign(model.common.direction.sum()) for model in found}
    assert signs == {-1.0, 1.0}
    assert {np.sign(believed(model) @ loads) for model in found} == {np.sign(weight)}


def test_where_as_many_features_fall_along_it_as_grow_nothing_is_believed_of_its_sign():
    factor = CommonFactor(np.ones(4), np.array([0.5, -0.5, 0.5, -0.5]), np.array([4.0]))
    assert common_agreement(factor) == 0.0
    assert common_agreement(factor._replace(direction=np.full(4, -0.5))) == pytest.approx(-1.0)
    assert common_agreement(CommonFactor.of(4, looked_for=True)) == 0.0
    assert common_agreement(CommonFactor.of(4, looked_for=False)) == 0.0


def sparse(count, seed):
    """Twenty features of one cause, each of which varies in a tenth of the lists."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        X = rng.normal(size=(12, 1)) + 0.5 * rng.normal(size=(12, 20))
        X[:, rng.random(20) > 0.1] = 0.5
        yield X.astype(np.float32)


@pytest.mark.parametrize("weight", [0.1, 1.0, -10.0])
def test_features_that_vary_late_are_nothing_that_pages_have_taught(weight):
    """Pages without clicks teach nothing here: whatever varies when, weights are the prior's, and V its first guess."""
    learner = Posterior(level_shape=0.0, common_weight=weight)
    model, work = learner.model(20, 4, 1), learner.work(20, 4, 12)
    for X in sparse(256, seed=15):
        model.pages[0] += 1
        gather_spread(model, X, work.centre, work.gradient)
        gather_common(model.common, model.within, model.pages[0], X, work.centre, work.gradient, work.per_unit)
        if is_due(model.pages[0]):
            renew(model, work, 1.0)
            np.testing.assert_allclose(believed(model), common_mean(model) * model.common.direction, atol=1e-9)
    assert common_mean(model) != 0.0
    assert model.variance[0] == pytest.approx(learner.prior_variance, rel=1e-6)


def test_given_weights_are_believed_instead():
    """Two models that differ in what is believed of what features have in common alone."""
    found = []
    for weight in (0.0, 5.0):
        learner = Posterior(common_weight=weight)
        model = learner.model(len(SCALES), 4, 1, weights=np.array([0.0, 0.0, 1e-6, 0.0, 1.0]))
        work = learner.work(len(SCALES), 4, 40)
        for X in lists(12, seed=14):
            model.pages[0] += 1
            gather_spread(model, X, work.centre, work.gradient)
            gather_common(model.common, model.within, model.pages[0], X, work.centre, work.gradient, work.per_unit)
            renew(model, work, 1.0)
        found.append(model)
    assert found[0].common.variance[0] > 1.0
    np.testing.assert_array_equal(found[0].ranker.weights, found[1].ranker.weights)


def test_equal_candidates_say_nothing():
    same = [np.ones((6, 5), np.float32)] * 4
    assert seen(same).common.variance[0] == 0.0
    queries = [*lists(3, seed=8), *same]
    assert np.isfinite(seen(queries).root).all()


@pytest.mark.parametrize("features", [2, 5, 46])
def test_the_variance_of_weights_beside_it_is_that_of_the_greatest_evidence(features):
    """Weights that are known but for noise, a hundred updates: the maximum of their likelihood, found numerically."""
    rng, informed, first = np.random.default_rng(features), 2000.0, 1.0
    learner = Posterior(common_weight=4.0, common_variance=1.0, prior_weight=1e-6, prior_variance=first)
    weights = rng.normal(size=features) * np.sqrt(first / features)
    weights[0] *= 6.0
    model, work = learner.model(features, 2, 1), learner.work(features, 2, 4)
    model.common.direction[0], model.common.variance[0] = 1.0, 2.0
    own, expected = common_share(model.common), np.zeros(features)
    expected[0] = 4.0 * np.sqrt(own)
    model.spread[:] = 1.0
    variance = first
    for _ in range(100):
        precision = np.full(features, features / variance)
        precision[0] = 1.0 / (variance / features + own)
        model.precision[0], model.variance[0] = features / variance, variance
        model.root[:] = np.eye(*model.root.shape)
        model.root[2:, 2 : 2 + features] = np.diag(np.sqrt(precision + informed))
        model.ranker.weights[:] = (precision * expected + informed * weights) / (precision + informed)
        weigh_prior(model, work.square, work.gradient, work.mean)
        variance = model.variance[0]

    def surprise(logarithm):
        spread = np.full(features, np.exp(logarithm) / features + 1.0 / informed)
        spread[0] += own
        return (np.log(spread) + (weights - expected) ** 2 / spread).sum()

    grid = np.linspace(np.log(variance) - 1.0, np.log(variance) + 1.0, 2001)
    best = np.exp(grid[np.argmin([surprise(one) for one in grid])])
    assert variance == pytest.approx(best, rel=3e-3)


def test_the_largest_variance_is_not_none():
    queries = list(lists(5, seed=12))
    free = seen(queries, Posterior(common_variance=1.7e308))
    assert common_part(free) == 1.0
    assert np.isfinite(free.root).all()


@pytest.mark.thorough
def test_people_who_want_what_features_have_in_common_are_understood_sooner():
    """Sixty seeds of forty pages: the mean rank quality with the prior, less that without; p < 0.001 by a sign test."""
    wins = 0
    for seed in range(60):
        found = []
        for settings in ({}, {"common_weight": 0.0, "common_variance": 0.0}):
            ranker = rl.OnlineRanker(Posterior(**settings), features=30, seed=seed, page_size=5)
            rng = np.random.default_rng(seed)
            good = 0.0
            for _ in range(40):
                cause = rng.normal(size=20)
                X = (0.4 * cause[:, None] + rng.normal(size=(20, 30))).astype(np.float32)
                page = ranker.rank(X)
                ranker.learn(page, (rng.random(5) < 0.2 * np.exp(0.7 * cause[page.documents])).astype(float))
                good += cause[page.documents].mean()
            found.append(good)
        wins += found[0] > found[1]
    assert wins >= 43
