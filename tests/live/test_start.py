"""Where a model begins: with given weights, or where the engine already is, within a stated budget."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, Posterior
from rankloop.live import start
from rankloop.live.ranking import Ranking
from rankloop.live.scaling import Fixed
from rankloop.live.settings import IncomingOrder, ModelSettings, Weights
from rankloop.live.start import settled, starting_point

from ..proofs import literal
from .diary import FOR_ALL, Diary, page_of, request

SAMPLE = ((9.0, 7.0, 4.0, 1.0), (3.0, 2.0, 1.0), (5.0, 4.5, 4.0, 2.0, 0.0))


def model(beginning, **more) -> ModelSettings:
    """A model of a policy with a temperature, unless another method is asked for."""
    first = {"features": ["engine", "price"], "seed": 1, "start": beginning, "learner": ROLTR(), "scaling": "query"}
    return ModelSettings(name="m", **(first | {"guards": FOR_ALL} | more))


def scaled(scores, scaling) -> list[float]:
    """A query's scores as the definition of each scaling has them."""
    if scaling == "query":
        return [(s - min(scores)) / (max(scores) - min(scores)) for s in scores]
    if scaling == "running":
        return ((np.array(scores) - np.mean(scores)) / np.std(scores)).tolist()
    return list(scores)


def first_stays_first(queries, weight, temperature=1.0) -> float:
    """The mean probability that the page begins with the engine's best, from plain exponentials."""
    kept = []
    for scores in queries:
        best = scores.index(max(scores))
        kept.append(float(literal.page_probability([weight * s for s in scores], [best], temperature)))
    return sum(kept) / len(kept)


def displaced(queries, weight, size, temperature=1.0) -> float:
    """Expected mean |rank shown − incoming rank|, over all pages there are."""
    means = []
    for scores in queries:
        order = sorted(range(len(scores)), key=lambda d: -scores[d])
        mean = 0.0
        for page in literal.all_pages(len(scores), size):
            moved = np.mean([abs(order.index(d) - rank) for rank, d in enumerate(page)])
            mean += float(literal.page_probability([weight * s for s in scores], page, temperature)) * moved
        means.append(mean)
    return sum(means) / len(means)


@pytest.mark.parametrize("scaling", ["query", "running", "none"])
@pytest.mark.parametrize(
    "learner", [ROLTR(), ROLTR(temperature=0.2), PDGD(), COLTR(candidates=3, temperature=2.0)], ids=str
)
def test_the_first_result_stays_first_nine_times_in_ten_on_the_sample(scaling, learner):
    report = starting_point(model(IncomingOrder("engine", sample=SAMPLE), scaling=scaling, learner=learner))
    weight, price = report.weights
    temperature = getattr(learner, "temperature", 1.0)
    queries = [scaled(scores, scaling) for scores in SAMPLE]
    assert price == 0.0
    assert report.keeps_first == pytest.approx(0.9, abs=1e-9)
    # The scaled scores that are ranked are float32.
    assert first_stays_first(queries, weight, temperature) == pytest.approx(0.9, abs=1e-6)
    assert "3 sample queries" in report.assumes


def test_without_a_sample_evenly_spaced_scores_stand_for_a_query():
    report = starting_point(model(IncomingOrder("engine")))
    weight = report.weights[0]
    masses = [math.exp(weight * (1 - place / 99)) for place in range(100)]
    assert masses[0] / sum(masses) == pytest.approx(0.9, abs=1e-6)
    assert "100 candidates" in report.assumes


@examples(30)
@given(
    st.lists(st.lists(st.integers(0, 50).map(float), min_size=2, max_size=8, unique=True), min_size=1, max_size=4),
    st.floats(0.55, 0.99),
)
def test_every_budget_that_is_possible_is_met(sample, wanted):
    assume(first_stays_first(sample, 0.0) < wanted)
    report = starting_point(model(IncomingOrder(0, wanted, tuple(map(tuple, sample))), scaling="query"))
    queries = [scaled(scores, "query") for scores in sample]
    assert first_stays_first(queries, report.weights[0]) == pytest.approx(wanted, abs=1e-5)


def test_fixed_scaling_is_that_of_the_engines_feature():
    scaling = Fixed((0.0, 3.0), (1.0, 2.0))
    report = starting_point(model(IncomingOrder("price", sample=SAMPLE), scaling=scaling))
    queries = [[(s - 3.0) / 2.0 for s in scores] for scores in SAMPLE]
    assert report.weights[0] == 0.0
    assert first_stays_first(queries, report.weights[1]) == pytest.approx(0.9, abs=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("keeps_first", [0.5, 0.9])
def test_the_expected_displacement_is_that_of_all_pages_and_of_the_first_pages_really_shown(size, keeps_first):
    settings = model(
        IncomingOrder("engine", keeps_first, sample=SAMPLE), page_size=size, learner=ROLTR(temperature=0.5)
    )
    report = starting_point(settings)
    queries = [scaled(scores, "query") for scores in SAMPLE]
    exact = displaced(queries, report.weights[0], size, 0.5)
    assert report.displacement == pytest.approx(exact, rel=1e-6)
    diary = Diary(settings)
    moved = [page_of(diary.show([[s, 0.0] for s in scores])).displacement for scores in SAMPLE for _ in range(600)]
    error = np.std(moved) / math.sqrt(len(moved))
    assert abs(np.mean(moved) - exact) < 4 * error  # a false-alarm rate of 6e-5, fixed seed


def test_the_displacement_of_long_pages_is_a_sample_close_to_what_is_exact(monkeypatch):
    exact = starting_point(model(IncomingOrder("engine"), page_size=20)).displacement
    monkeypatch.setattr(start, "EXACT_RANKS", 1)
    # 400 pages: four standard errors are a fifth of it, a false-alarm rate of 6e-5, and what is drawn is fixed.
    assert starting_point(model(IncomingOrder("engine"), page_size=20)).displacement == pytest.approx(exact, rel=0.2)


@pytest.mark.thorough
def test_the_first_page_begins_with_the_engines_first_nine_times_in_ten():
    settings = model(IncomingOrder("engine"), page_size=10)
    diary = Diary(settings)
    X = np.column_stack([np.linspace(7.0, 2.0, 100), np.random.default_rng(1).normal(size=100)])
    kept = sum(page_of(diary.show(X)).page[0] == 0 for _ in range(3000))
    # Four standard errors of a share of 0.9 among 3,000: a false-alarm rate of 6e-5, fixed seed.
    assert abs(kept / 3000 - 0.9) < 4 * math.sqrt(0.9 * 0.1 / 3000)


def test_given_weights_are_where_it_begins():
    settings = model(Weights((1.5, -2.0), keeps_first=None))
    report = starting_point(settings)
    assert (report.weights, report.keeps_first, report.displacement) == ([1.5, -2.0], None, None)
    assert Diary(settings).fold.ranker.weights.tolist() == [1.5, -2.0]


def test_a_method_that_begins_by_itself_does():
    fold = Diary(ModelSettings(name="m", features=5, seed=3, learner=DBGD())).fold
    assert np.linalg.norm(fold.ranker.weights) == pytest.approx(0.01, rel=1e-6)
    assert Diary(ModelSettings(name="m", features=5, seed=3)).fold.ranker.weights.tolist() == [0.0] * 5


@pytest.mark.parametrize("learner", [DBGD(), PMGD(candidates=3), FixedWeights(), Posterior()], ids=str)
def test_methods_without_a_temperature_of_their_own_begin_with_the_engines_order_and_promise_nothing(learner):
    settings = model(IncomingOrder("engine"), learner=learner)
    report = starting_point(settings)
    assert (report.keeps_first, report.displacement) == (None, None)
    assert learner.name in report.assumes
    fold = Diary(settings).fold
    assert fold.ranker.weights.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("beginning", "reason"),
    [
        (IncomingOrder("engine", sample=((1.0, 1.0 - 1e-6, 0.0),)), "no weight keeps the first result first"),
        (IncomingOrder("engine", 0.3, sample=((2.0, 1.0),)), "keeps_first must be at least 0.5.*got 0.3"),
        (IncomingOrder("engine", sample=((1.0,),)), "keeps_first must be at least 1,"),
        (IncomingOrder("engine", sample=((1.0, float("inf")),)), "finite numbers"),
        (IncomingOrder("engine", sample=((),)), "engine's scores of a query"),
    ],
)
def test_an_impossible_budget_is_a_sentence(beginning, reason):
    with pytest.raises(SettingsError, match=reason):
        starting_point(model(beginning, scaling="query"))


@pytest.mark.parametrize(("keeps_first", "reason"), [(0.0, "keeps_first"), (1.0, "keeps_first"), (1.5, "keeps_first")])
def test_a_budget_that_is_no_probability_is_refused(keeps_first, reason):
    with pytest.raises(SettingsError, match=reason):
        IncomingOrder("engine", keeps_first)


def test_a_feature_that_is_not_there_is_named():
    with pytest.raises(SettingsError, match="no feature 'bm25'; features are engine, price"):
        model(IncomingOrder("bm25"))
    with pytest.raises(SettingsError, match="no feature 2"):
        model(IncomingOrder(2))


def test_equal_best_scores_count_together():
    """Which of them the engine put first nobody can tell from their scores."""
    report = starting_point(model(IncomingOrder("engine", sample=((2.0, 2.0, 1.0),)), scaling="none"))
    weight = report.weights[0]
    best = 2 * math.exp(weight)
    assert best / (best + 1) == pytest.approx(0.9, abs=1e-9)


# The default: a posterior, and the engine's first results


def test_the_default_begins_in_the_engine_s_order_and_draws_from_its_first_results():
    settings = ModelSettings(
        name="m", features=["engine", "price"], page_size=3, seed=1, guards=FOR_ALL, start=IncomingOrder("engine")
    )
    diary = Diary(settings)
    X = np.column_stack([np.arange(40, 0, -1.0), np.random.default_rng(1).normal(size=40)])
    assert (
        np.argsort(-diary.fold.view().scores(diary.fold.view().scaler.apply(X)), kind="stable") == np.arange(40)
    ).all()
    shown = page_of(diary.show(X))
    assert len(shown.candidates) == 13, "three on the page, and ten more"
    assert starting_point(settings).weights == [1.0, 0.0]


def test_pages_reach_further_down_as_the_model_learns():
    start = IncomingOrder("engine")
    assert [start.reach(10, learned) for learned in (0, 50, 100, 1000)] == [20.0, 26.0, 34.0, 520.0]
    assert IncomingOrder("engine", caution=2.0).reach(10, 100) == 27.0
    assert IncomingOrder("engine", caution=0.0).reach(10, 0) == math.inf
    diary = Diary(ModelSettings(name="m", features=2, page_size=3, seed=1, guards=FOR_ALL, start=IncomingOrder(0)))
    X = np.random.default_rng(2).normal(size=(60, 2))
    for _ in range(60):
        shown = diary.show(X)
        diary.close(shown, [1.0, 0.0, 0.0])
    assert len(page_of(diary.show(X)).candidates) == int(13 + 6 + 1.44)


def test_what_is_pinned_or_asked_for_is_always_within_reach():
    settings = ModelSettings(name="m", features=2, page_size=3, seed=1, guards=FOR_ALL, start=IncomingOrder(0))
    X = np.random.default_rng(3).normal(size=(60, 2))
    shown = page_of(Diary(settings).show(X, pinned={50: 1}))
    assert len(shown.candidates) == 51
    assert shown.page[1] == 50
    rest = Ranking(settings).rank(Diary(settings).fold.view(), request(X, settings), 0, rest=True)
    assert sorted([*rest.impression.page, *rest.rest]) == list(range(60))
    assert rest.rest[-47:] == list(range(13, 60))


# Sharpness is a matter of the temperature

X = np.column_stack([np.linspace(7.0, 2.0, 20), np.random.default_rng(1).normal(size=20)]).astype(np.float32)


@pytest.mark.parametrize("learner", [ROLTR(), PDGD(floor=0.01)], ids=str)
@pytest.mark.parametrize("scaling", ["query", "robust"])
def test_the_same_policy_with_a_weight_of_1_takes_the_same_steps(learner, scaling):
    """Which count for more, beside a weight of 1."""
    sharp = model(IncomingOrder("engine", candidates=20), learner=learner, scaling=scaling)
    made = settled(sharp)
    weight = starting_point(sharp).weights[0]
    assert starting_point(made).weights == pytest.approx([1.0, 0.0])
    assert made.learner.temperature == pytest.approx(1.0 / weight)
    assert made.learner.learning_rate == pytest.approx(learner.learning_rate / weight)
    assert made.learner.floor == pytest.approx(learner.floor / weight)
    assert starting_point(made).keeps_first == pytest.approx(0.9)
    assert settled(made) == made
    before, after = Diary(sharp), Diary(made)
    for diary in (before, after):
        shown = diary.show(X)
        diary.close(shown, [0.0, 1.0] + [0.0] * 8)
        assert page_of(shown).page == page_of(before.events[0]).page
    assert page_of(before.events[0]).log_probability == pytest.approx(
        page_of(after.events[0]).log_probability, rel=1e-4
    )
    steps = [diary.fold.ranker.weights - starting_point(diary.settings).weights for diary in (before, after)]
    assert np.linalg.norm(steps[0]) > 0
    np.testing.assert_allclose(*steps, rtol=2e-3, atol=1e-9)  # scores are float32: of 66 and of 1


@pytest.mark.parametrize(
    "other",
    [
        model(IncomingOrder("engine"), learner=ROLTR(temperature=0.5)),
        model(IncomingOrder("engine"), learner=COLTR(candidates=3)),
        model(IncomingOrder("engine"), learner=Posterior()),
        model(IncomingOrder("engine"), learner=DBGD()),
        model(Weights((1.5, -2.0), keeps_first=None)),
        model(Weights((0.0, 0.0))),
        ModelSettings(name="m", features=2, seed=1, learner=ROLTR()),
    ],
    ids=["chosen", "COLTR", "Posterior", "DBGD", "no budget", "no order", "zeros"],
)
def test_where_there_is_nothing_to_settle_settings_stay(other):
    assert settled(other) == other


def learn(settings: ModelSettings, visits: int) -> tuple[float, Diary]:
    """People who want what is cheap, and find it anywhere: how often the first page began with the engine's first, and
    what became of the model."""
    diary, rng = Diary(settings), np.random.default_rng(4)
    kept = []
    for _ in range(visits):
        asked = np.column_stack([np.linspace(7.0, 2.0, 20), rng.normal(size=20)]).astype(np.float32)
        shown = diary.show(asked)
        page = page_of(shown).page
        kept.append(page[0] == 0)
        chance = 1.0 / (1.0 + np.exp(1.0 + 2.0 * asked[page, 1]))
        diary.close(shown, (rng.random(len(page)) < chance).astype(float).tolist())
    return float(np.mean(kept[:30])), diary


@pytest.mark.thorough
def test_a_policy_gradient_keeps_the_engines_order_at_first_and_learns_soon():
    """With its own default rate. Beside a weight of 50 it would have learned next to nothing by then."""
    sharp = model(IncomingOrder("engine", candidates=20), learner=ROLTR())
    ratios = []
    for chosen in (sharp, settled(sharp)):
        kept, diary = learn(chosen, 400)
        assert kept > 0.6
        weight, price = diary.fold.ranker.weights
        ratios.append(price / weight)
    assert abs(ratios[0]) < 0.1
    assert ratios[1] < -1.0


def test_given_weights_are_followed_as_sharply_as_asked_for():
    sample = ((3.0, 2.0, 0.5, -1.0), (1.0, 0.0, -0.5))
    made = settled(model(Weights((0.3, -0.1), 0.8, sample)))
    report = starting_point(made)
    assert report.weights == [0.3, -0.1]
    assert report.keeps_first == pytest.approx(0.8)
    temperature = made.learner.temperature
    assert first_stays_first([list(scores) for scores in sample], 1.0, temperature) == pytest.approx(0.8, abs=1e-6)
    assert made.learner.learning_rate == pytest.approx(0.01 * temperature * math.hypot(0.3, 0.1))
    assert "2 sample queries" in report.assumes
    unknown = starting_point(settled(model(Weights((0.3, -0.1)), scaling="none")))
    assert unknown.keeps_first == pytest.approx(0.9)
    assert "100 candidates" in unknown.assumes
    assert (unknown.displacement, report.temperature) == (pytest.approx(0.1, abs=0.1), temperature)


def test_a_posterior_begins_in_the_order_of_given_weights_and_says_how_strongly_it_believes_them():
    settings = model(Weights((0.3, -2.0)), learner=Posterior(), scaling="robust", page_size=20)
    diary = Diary(settings)
    view = diary.fold.view()
    greedy = np.argsort(-view.scores(view.scaler.apply(X)), kind="stable").tolist()
    assert page_of(diary.show(X)).page == greedy
    assert "as strongly as 50 pages of clicks" in starting_point(settings).assumes
    # And the next pages are close to it: clicks at random teach nothing yet.
    rng = np.random.default_rng(2)
    moved = []
    for _ in range(20):
        shown = diary.show(X)
        moved.append(page_of(shown).displacement)
        diary.close(shown, (rng.random(20) < 0.1).astype(float).tolist())
    assert np.mean(moved) < 1.5


@pytest.mark.parametrize("length", [1e30, 1e6, 1e-7])
def test_given_weights_out_of_proportion_are_told_as_such(length):
    """Not as a learning rate or a temperature, which nobody gave: they follow from the weights."""
    settings = model(Weights((0.0, length)))
    with pytest.raises(SettingsError, match="multiply them all by one number") as told:
        settled(settings)
    assert str(told.value).startswith(f"start: weights of length {length:.3g} are out of proportion")
    assert "keeps_first as null" in str(told.value)
    assert settled(model(Weights((0.0, length), keeps_first=None))).learner == ROLTR()


def test_a_sample_out_of_proportion_is_told_as_such():
    with pytest.raises(SettingsError, match="start: the sample's scores are out of proportion; bring features"):
        settled(model(IncomingOrder("engine", sample=((1e12, 0.0),)), scaling="none"))
