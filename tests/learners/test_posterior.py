"""The posterior against a dense one, against quadrature, and against people who click as its likelihood says."""

import math
import os
from collections import Counter

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.kernels.triangular import covariance
from rankloop.learners import Posterior
from rankloop.offpolicy.positions import position_probabilities
from rankloop.online import OnlineRanker, Page
from rankloop.simulation import simulate
from rankloop.users import noisy

from ..proofs import literal, small
from ..proofs.chisquare import agrees
from ..proofs.dense_posterior import Dense

FEATURES, PAGE = 3, 4
TRUE = np.array([0.5, -0.3, 0.0])
EXAMINED = np.array([1.0, 0.7, 0.45, 0.3])
PAGES = int(os.environ.get("RANKLOOP_PAGES", "100000"))
FIXED = {"prior_variance": 3.0, "prior_weight": 1e12}
"""A wide prior that stays as it is, where an estimate is compared with the truth."""


def ranker_of(learner=None, **more) -> OnlineRanker:
    given = {"features": FEATURES, "seed": 3, "page_size": PAGE}
    return OnlineRanker(learner or Posterior(), **(given | more))


def page_of(ranker, X, documents, ranks=None) -> Page:
    """A page that somebody else drew."""
    return Page(
        np.array(documents), 0, X, np.zeros(len(X), np.float32), np.zeros((len(documents), 0), np.float32), ranks
    )


def some_pages(count: int, seed: int, candidates: int = 6, shown: int = PAGE):
    """Random pages, clicked by people for whom E[c_k] = θ_k e^{w·x − ¾}: what the likelihood assumes."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        X = rng.normal(size=(candidates, FEATURES)).clip(-1, 1).astype(np.float32)
        documents = rng.permutation(candidates)[:shown]
        probability = EXAMINED[:shown] * np.exp(X[documents] @ TRUE - 0.8)
        yield X, documents, (rng.random(shown) < probability).astype(float)


def learned(learner, pages, **more) -> OnlineRanker:
    ranker = ranker_of(learner, **more)
    for X, documents, clicks in pages:
        ranker.learn(page_of(ranker, X, documents), clicks)
    return ranker


@pytest.mark.parametrize("weights", [None, [0.4, -0.1, 0.05]], ids=["zeros", "given"])
def test_it_is_the_dense_posterior_page_for_page(weights):
    learner = Posterior(prior_weight=2.0)
    ranker = ranker_of(learner, weights=weights)
    dense = Dense(learner, FEATURES, PAGE, None if weights is None else np.array(weights))
    for X, documents, clicks in some_pages(70, seed=1):
        ranker.learn(page_of(ranker, X, documents), clicks)
        dense.learn(X, documents, clicks)
        np.testing.assert_allclose(ranker.weights, dense.mean[PAGE:], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ranker.model.log_examination[1:], dense.mean[1:PAGE], rtol=1e-7, atol=1e-9)
    belief = learner.belief(ranker.model)
    wanted = np.sqrt(np.diag(np.linalg.inv(dense.information)))
    np.testing.assert_allclose(belief.weights_deviation, wanted[PAGE:], rtol=1e-7)
    np.testing.assert_allclose(belief.log_examination_deviation[1:], wanted[1:PAGE], rtol=1e-7)


@pytest.mark.thorough
def test_on_a_tiny_case_it_is_the_posterior_that_quadrature_finds():
    """One feature, two ranks: mean and deviations of the exact posterior, prior times likelihood on a fine grid."""
    plain = {"common_weight": 0.0, "common_variance": 0.0, "level_shape": 0.0}
    learner = Posterior(prior_variance=1.0, prior_weight=1e12, examination_variance=0.25, **plain)
    ranker = OnlineRanker(learner, features=1, seed=1, page_size=2)
    rng = np.random.default_rng(4)
    t, w = np.meshgrid(np.linspace(-2.5, 1.5, 401), np.linspace(-2, 3, 401), indexing="ij")
    log_posterior = np.zeros_like(t)
    features = []
    for _ in range(150):
        X = rng.normal(size=(2, 1)).astype(np.float32)
        features.append(X.astype(float).var())
        clicks = (rng.random(2) < np.array([0.5, 0.3]) * np.exp(0.6 * X[:, 0].clip(-1, 1))).astype(float)
        ranker.learn(page_of(ranker, X, [0, 1]), clicks)
        below = t + w * (float(X[1, 0]) - float(X[0, 0]))
        log_posterior += clicks[1] * below - clicks.sum() * np.logaddexp(0.0, below)
    # The prior's unit is the spread as it was known when the prior was last put in, at page 128.
    log_posterior -= (t + 0.5 * math.log(2)) ** 2 / (2 * 0.25) + w**2 / (2 * 1.0 / np.mean(features[:128]))
    mass = np.exp(log_posterior - log_posterior.max())
    mass /= mass.sum()
    belief = learner.belief(ranker.model)
    for grid, mean, deviation in (
        (t, ranker.model.log_examination[1], belief.log_examination_deviation[1]),
        (w, ranker.weights[0], belief.weights_deviation[0]),
    ):
        exact = (mass * grid).sum()
        exact_deviation = math.sqrt((mass * (grid - exact) ** 2).sum())
        assert abs(mean - exact) < 0.2 * exact_deviation
        assert deviation == pytest.approx(exact_deviation, rel=0.05)


def test_the_order_of_pages_hardly_matters():
    """Five orders of the same 400 pages: scores differ by less than a tenth of what is unknown about them."""
    pages = list(some_pages(400, seed=2))
    orders = [np.random.default_rng(seed).permutation(400) for seed in range(5)]
    learner = Posterior()
    rankers = [learned(learner, [pages[place] for place in order]) for order in orders]
    deviation = learner.belief(rankers[0].model).weights_deviation
    for ranker in rankers[1:]:
        assert np.abs((ranker.weights - rankers[0].weights) / deviation).max() < 0.1


@pytest.mark.slow
def test_weights_and_examination_are_consistent_for_people_as_the_likelihood_has_them():
    """8,000 pages: within four standard errors of the truth (false alarm: 6 quantities, 1 in 2,600)."""
    learner = Posterior(**FIXED, examination_variance=100.0, intervals=True)
    ranker = learned(learner, some_pages(8_000, seed=3))
    belief = learner.belief(ranker.model)
    assert (np.abs(ranker.weights - TRUE) < 4 * belief.weights_deviation).all()
    off = np.abs(np.log(belief.examination / EXAMINED))[1:]
    assert (off < 4 * belief.log_examination_deviation[1:]).all()
    assert belief.weights_deviation.max() < 0.032


def busier_pages(each: int, seed: int):
    """First an order that knows nothing; then the third feature's, which nobody cares for, and three times the clicks,
    for reasons of their own."""
    rng = np.random.default_rng(seed)
    for busier in np.repeat([0.0, 1.0], each):
        X = rng.normal(size=(6, FEATURES)).clip(-1, 1).astype(np.float32)
        documents = np.argsort(-X[:, 2])[:PAGE] if busier else rng.permutation(6)[:PAGE]
        probability = EXAMINED * np.exp(X[documents] @ TRUE - 1.9 + 1.1 * busier)
        yield X, documents, (rng.random(PAGE) < probability).astype(float)


def test_a_busier_season_is_no_merit_of_the_order_that_was_shown_in_it():
    """Within four deviations (false alarm: 1 in 16,000). With one level for all times the third is off by seven."""
    learner = Posterior()
    ranker = learned(learner, busier_pages(1_500, seed=8))
    off = (ranker.weights - TRUE) / learner.belief(ranker.model).weights_deviation
    assert np.abs(off).max() < 4


@pytest.mark.long
def test_intervals_of_the_sandwich_cover_the_truth_as_often_as_they_say():
    """75 samples of 300 pages, 6 quantities. 95 % intervals: a rate outside 91 … 98 % is a false alarm in 1 of 900,
    were the 450 independent."""
    learner = Posterior(**FIXED, examination_variance=100.0, intervals=True)
    covered = []
    for sample in range(75):
        ranker = learned(learner, some_pages(300, seed=100 + sample))
        belief = learner.belief(ranker.model)
        off = np.r_[ranker.weights - TRUE, np.log(belief.examination / EXAMINED)[1:]]
        width = np.r_[belief.weights_deviation, belief.log_examination_deviation[1:]]
        covered.append(np.abs(off) < 1.96 * width)
    assert 0.91 < np.mean(covered) < 0.98


def test_the_scale_of_a_feature_does_not_matter():
    """Powers of two change no bit of any page; other factors change what rounding decides."""
    data = small.collection()

    def shown(scale):
        pages = []
        split = data.train
        scaled = type(split).of(split.features * scale.astype(np.float32), split.grades, np.repeat(
            np.arange(split.queries), np.diff(split.offsets)
        ))  # fmt: skip
        other = type(data)(name="scaled", train=scaled, test=scaled)
        small.drive(Posterior(), noisy(), other, 400, seed=5, seen=lambda i, page, *_: pages.append(list(page)))
        return pages

    plain = shown(np.ones(5))
    assert shown(2.0 ** np.array([-20, 0, 30, 3, -7])) == plain
    other = shown(np.array([1e-6, 3.0, 1e9, 0.1, 7e-3]))
    assert np.mean([one == two for one, two in zip(plain, other, strict=True)]) > 0.95


def test_a_constant_added_to_all_candidates_of_a_query_does_not_matter():
    pages = list(some_pages(60, seed=6))
    plain = learned(Posterior(), pages)
    moved = learned(Posterior(), [(X + np.float32(16.0 * n), d, c) for n, (X, d, c) in enumerate(pages)])
    np.testing.assert_allclose(moved.weights, plain.weights, rtol=0.01, atol=1e-3)


@pytest.mark.slow
def test_after_very_many_pages_the_information_is_positive_definite_and_no_worse_conditioned(monkeypatch):
    """A million, that is, with RANKLOOP_PAGES=1000000 in the environment."""
    made, models = Posterior.model, []

    def noted(self, *arguments):
        models.append(made(self, *arguments))
        return models[-1]

    monkeypatch.setattr(Posterior, "model", noted)
    for pages in (PAGES // 10, PAGES):
        simulate(Posterior(), noisy(), small.collection(), pages, seed=1, evaluate_every=0, page_size=PAGE)
    early, late = (np.linalg.eigvalsh(np.linalg.inv(covariance(model.root))) for model in models)
    assert (np.diag(models[1].root) > 0).all()
    assert np.isfinite(models[1].ranker.weights).all()
    assert late.min() > early.min() > 0
    assert late.max() / late.min() < 10 * early.max() / early.min()


# Pages


def test_given_the_draw_a_page_s_probability_is_exact():
    """By enumeration: the logged scores give every page a probability, they sum to one, and rank marginals agree."""
    ranker = learned(Posterior(), some_pages(30, seed=7))
    X = np.random.default_rng(8).normal(size=(5, FEATURES)).astype(np.float32)
    for _ in range(5):
        page = ranker.rank(X)
        told = ranker.learner.page_log_probability(ranker._work, page.scores, page.documents)
        exact = {p: float(literal.page_probability(page.scores, p)) for p in literal.all_pages(5, PAGE)}
        assert math.fsum(exact.values()) == pytest.approx(1.0, rel=1e-12)
        assert told == pytest.approx(math.log(exact[tuple(page)]), rel=1e-9, abs=1e-12)
        marginal = np.zeros((5, PAGE))
        for documents, probability in exact.items():
            marginal[list(documents), range(PAGE)] += probability
        np.testing.assert_allclose(position_probabilities(page.scores.astype(float), PAGE), marginal, atol=1e-9)


def test_pages_are_shown_as_often_as_their_probability_given_the_draw_says_on_average():
    """Over 3,000 draws: how often a page was shown, against the mean of its probability given each draw."""
    ranker = learned(Posterior(softness=1.0), some_pages(10, seed=9))
    X = np.random.default_rng(10).normal(size=(4, FEATURES)).astype(np.float32)
    shown: Counter = Counter()
    expected: Counter = Counter()
    for _ in range(3000):
        page = ranker.rank(X)
        shown[tuple(page)[:2]] += 1
        z = np.exp(page.scores.astype(float) - page.scores.max())
        for a, b in literal.all_pages(4, 2):
            expected[a, b] += z[a] / z.sum() * z[b] / (z.sum() - z[a]) / 3000
    assert agrees(shown, expected)


def test_weighing_by_the_probability_given_the_draw_is_unbiased_for_another_policy():
    """Σ over pages of π(page | draw) · (π'(page)/π(page | draw)) · value is π''s value for every draw: enumeration."""
    ranker = learned(Posterior(softness=1.0), some_pages(10, seed=9))
    X = np.random.default_rng(10).normal(size=(4, FEATURES)).astype(np.float32)
    other = np.array([0.3, -0.2, 0.1, 0.5])
    value = {page: math.sin(3 * page[0] + page[1]) for page in literal.all_pages(4, 2)}
    truth = sum(float(literal.page_probability(other, page)) * value[page] for page in value)
    for _ in range(3):
        scores = ranker.rank(X).scores
        estimate = 0.0
        for page, worth in value.items():
            own = float(literal.page_probability(scores, page))
            estimate += own * (float(literal.page_probability(other, page)) / own) * worth
        assert estimate == pytest.approx(truth, rel=1e-9)


def test_without_exploration_it_shows_the_order_of_its_mean():
    ranker = learned(Posterior(exploration=0.0, early_exploration=0.0), some_pages(50, seed=11))
    X = np.random.default_rng(12).normal(size=(6, FEATURES)).astype(np.float32)
    best = np.argsort(-X @ ranker.weights)[:PAGE].tolist()
    assert [list(ranker.rank(X)) for _ in range(20)] == [best] * 20


def test_with_given_weights_the_first_pages_are_in_their_order():
    start = [1e5, 0.0, 2e4]
    ranker = ranker_of(weights=start)
    rng = np.random.default_rng(13)
    X = [rng.normal(size=(6, FEATURES)).astype(np.float32) for _ in range(20)]
    assert [list(ranker.rank(x)) for x in X] == [np.argsort(-x @ np.array(start))[:PAGE].tolist() for x in X]
    for x in X[:10]:
        ranker.learn(page_of(ranker, x, [0, 1, 2, 3]), [0.0, 0.0, 0.0, 0.0])
    kept = [ranker.rank(x)[0] == np.argmax(x @ np.array(start)) for x in X]
    assert np.mean(kept) > 0.8


def test_before_anything_is_known_every_page_is_as_likely():
    ranker = ranker_of()
    X = np.random.default_rng(14).normal(size=(4, FEATURES)).astype(np.float32)
    shown = Counter(int(ranker.rank(X)[0]) for _ in range(1000))
    assert agrees(shown, dict.fromkeys(range(4), 0.25))


@pytest.mark.thorough
def test_it_explores_less_as_it_learns():
    X = np.random.default_rng(15).normal(size=(6, FEATURES)).astype(np.float32)

    def moved(pages):
        ranker = learned(Posterior(), some_pages(pages, seed=16))
        return len({tuple(ranker.rank(X)) for _ in range(200)})

    assert moved(3000) < moved(10)


# Learning


def test_without_a_level_a_page_without_clicks_teaches_nothing_but_what_features_look_like():
    ranker = learned(Posterior(level_shape=0.0), some_pages(5, seed=17))
    before = ranker.weights
    X = np.random.default_rng(18).normal(size=(6, FEATURES)).astype(np.float32)
    factor = ranker.model.root.copy()
    for clicks, documents in (([0.0] * 4, [0, 1, 2, 3]), ([1.0], [2])):
        ranker.model.pages[0] = 8  # The prior is not due.
        ranker.learn(page_of(ranker, X, documents), clicks)
        assert ranker.weights.tolist() == before.tolist()
        assert ranker.model.root.tobytes() == factor.tobytes()


def test_a_page_that_nobody_clicks_speaks_against_what_it_shows_more_of_than_its_candidates_have():
    ranker = learned(Posterior(), some_pages(5, seed=17))
    X = np.zeros((8, FEATURES), np.float32)
    X[:4, 0], X[:4, 1] = 1.0, -1.0
    before = ranker.weights
    for _ in range(5):
        ranker.learn(page_of(ranker, X, [0, 1, 2, 3]), [0.0] * 4)
    moved = ranker.weights - before
    assert moved[0] < 0 < moved[1]


def test_a_wrong_direction_is_noticed_by_its_bad_pages():
    """People want a high first feature, and the model believes that a low one is better: on half of its queries all it
    shows is equally bad, on the others all candidates are. Where clicks fall says nothing then, in expectation; that
    the first get no more than the second does."""
    rng = np.random.default_rng(22)
    believed = {}
    for shape in (0.0, 1.0):
        learner = Posterior(level_shape=shape, exploration=0.0, early_exploration=0.0)
        ranker = ranker_of(learner, weights=[-1.0, 0.0, 0.0])
        for n in range(400):
            X = np.zeros((12, FEATURES), np.float32)
            X[:6, 0] = n % 2
            X[:, 1:] = rng.normal(size=(12, 2))
            ranker.learn(page_of(ranker, X, 6 + rng.permutation(6)[:PAGE]), rng.random(PAGE) < 0.2 * EXAMINED)
        believed[shape] = ranker.weights[0]
    assert believed[0.0] < -0.5
    assert believed[1.0] > 0.5 * believed[0.0]


def test_documents_between_pinned_ones_are_learned_from_with_their_own_ranks():
    pages = list(some_pages(40, seed=19, shown=2))
    ranker, other = ranker_of(), ranker_of()
    for X, documents, clicks in pages:
        ranker.learn(page_of(ranker, X, documents, np.array([1, 3])), clicks)
        other.learn(page_of(other, X, documents), clicks)
    untouched = np.log(Posterior().examination.at(PAGE))
    assert ranker.model.log_examination[2] == pytest.approx(untouched[2], abs=1e-9)
    assert other.model.log_examination[2] == pytest.approx(untouched[2], abs=1e-9)
    assert abs(ranker.model.log_examination[3] - untouched[3]) > 1e-3
    assert other.model.log_examination[3] == pytest.approx(untouched[3], abs=1e-9)
    assert ranker.model.rank.tolist() == [0, 1, 2, 3]


@pytest.mark.thorough
def test_what_is_old_is_forgotten_by_half_lives():
    """After a change of taste, 600 pages with a half-life of 200 have all but replaced the 2,000 before them."""

    def pages(sign, count, seed):
        rng = np.random.default_rng(seed)
        for _ in range(count):
            X = rng.normal(size=(6, FEATURES)).clip(-1, 1).astype(np.float32)
            documents = rng.permutation(6)[:PAGE]
            yield X, documents, (rng.random(PAGE) < EXAMINED * np.exp(sign * X[documents, 0] - 1)).astype(float)

    weights = []
    for half_life in (0.0, 200.0):
        ranker = learned(Posterior(half_life=half_life), [*pages(1.0, 2000, 20), *pages(-1.0, 600, 21)])
        weights.append(ranker.weights[0])
    assert weights[0] > 0.2
    assert weights[1] < -0.5


def test_what_it_cannot_afford_is_refused():
    Posterior().require_affordable(700, 10)
    with pytest.raises(SettingsError, match=r"10,000 features and pages of 10 are too many.*may be 2,000"):
        Posterior().require_affordable(10_000, 10)
    with pytest.raises(SettingsError, match="nothing has been learned yet"):
        Posterior().belief(ranker_of().model)
    with pytest.raises(SettingsError, match="Posterior: exploration must be a number, at least 0; got -1"):
        Posterior(exploration=-1)


@pytest.mark.parametrize("weight", [0.0, 0.04, 0.5])
def test_a_page_that_counts_for_less_brings_so_much_of_its_gradient_and_of_its_information(weight):
    pages = list(some_pages(5, seed=3))

    def after(weight):
        ranker = learned(Posterior(), pages[:4])
        X, documents, clicks = pages[4]
        ranker.learn(page_of(ranker, X, documents), clicks, weight=weight)
        root = ranker.model.root[:, : len(ranker.model.root)]
        mean = np.r_[ranker.model.level, ranker.model.log_examination[1:], ranker.weights * ranker.model.spread]
        return root.T @ root, mean

    (nothing, begun), (some, reached), (whole, end) = after(0.0), after(weight), after(1.0)
    np.testing.assert_allclose(some - nothing, weight * (whole - nothing), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(some @ (reached - begun), weight * whole @ (end - begun), rtol=1e-9, atol=1e-9)
    assert np.abs(end - begun).max() > 0
    assert np.abs(whole - nothing).max() > 0.01  # a page that counts for nothing makes it no surer
