"""Plain Python in the place of compiled code: the same queries, the same draws, the same clicks, the same learning."""

import warnings

import numpy as np
import pytest

import rankloop as rl
from rankloop import plain
from rankloop.errors import DivergenceError, SettingsError
from rankloop.kernels.draws import USER, stream_key, uniform
from rankloop.loop import draw_query
from rankloop.plain import Draws, PlainPythonWarning, by_name

from .proofs import small

DATA = small.collection()
NOISY = np.array([0.4, 0.6, 0.7, 0.8, 0.9])
IMPRESSIONS = 400

pytestmark = pytest.mark.filterwarnings("ignore::rankloop.plain.PlainPythonWarning")


def noisy(grades, draws):
    """The position-based noisy person, as one would write it down."""
    return draws.uniforms(len(grades)) < NOISY[grades] / np.arange(1, len(grades) + 1)


QUERIES = []
"""What the plain learner was asked."""


class PlainROLTR:
    """ROLTR with its default settings, step by step, from the paper's equations."""

    def __init__(self, features=DATA.features, rate=0.01):
        self.weights = np.zeros(features)
        self.rate = rate

    def scores(self, X):
        return X.astype(np.float64) @ self.weights

    def rank(self, X, draws, page_size, query):
        QUERIES.append(query)
        perturbed = self.scores(X) - np.log(-np.log(draws.uniforms(len(X))))
        return np.argsort(-perturbed, kind="stable")[:page_size]

    def learn(self, X, page, clicks):
        ranks = np.arange(1, len(page) + 1)
        examined, weight = 1.0 / ranks, 1.0 / np.log2(ranks + 1)
        reward = clicks * (weight / examined + weight * (1 - examined) / examined) - (1 - clicks) * weight
        remaining = np.ones(len(X), bool)
        gradient = np.zeros(len(self.weights))
        scores = self.scores(X)
        for document, value in zip(page, reward, strict=True):
            chances = np.where(remaining, np.exp(scores), 0.0)
            gradient += value * (X[document] - (chances / chances.sum()) @ X)
            remaining[document] = False
        self.weights = self.weights + self.rate * gradient


def run(learner, user, impressions=IMPRESSIONS, **options):
    return rl.simulate(learner, user, DATA, impressions, seed=3, **{"evaluate_every": 100} | options)


@pytest.fixture(scope="module")
def compiled():
    return run(rl.ROLTR(), rl.users.noisy())


def test_draws_are_those_of_compiled_code():
    key = np.uint64(stream_key(np.uint64(5), USER, 7))
    assert Draws(5, USER, 7).uniforms(4).tolist() == [uniform(key, k) for k in range(4)]
    assert Draws(5, USER, 7).uniform(3) == uniform(key, 3)
    first, again, next_one = (Draws(5, USER, i).generator().normal() for i in (7, 7, 8))
    assert first == again != next_one


def test_a_person_in_plain_python_clicks_as_the_compiled_one_and_teaches_the_same_bits(compiled):
    mine = run(rl.ROLTR(), noisy)
    assert mine.clicks.tolist() == compiled.clicks.tolist()
    assert mine.online_curve.tolist() == compiled.online_curve.tolist()
    assert mine.offline_curve.tolist() == compiled.offline_curve.tolist()
    assert mine.checkpoints.tolist() == compiled.checkpoints.tolist()
    assert mine.weights.tolist() == compiled.weights.tolist()


@pytest.mark.parametrize("user", [noisy, rl.users.noisy()], ids=["plain", "compiled"])
def test_a_learner_in_plain_python_sees_the_same_queries_and_learns_the_same(compiled, user):
    mine = PlainROLTR()
    QUERIES.clear()
    found = run(mine, user)
    drawn = [draw_query(np.uint64(3), i, DATA.train.queries) for i in range(IMPRESSIONS)]
    assert DATA.train.query_ids[drawn].tolist() == QUERIES
    assert not mine.weights.any()  # a copy has learned: the same call gives the same run
    assert found.clicks.tolist() == compiled.clicks.tolist()
    assert found.online_curve.tolist() == compiled.online_curve.tolist()
    assert found.offline_curve == pytest.approx(compiled.offline_curve, abs=1e-12)
    # Compiled scores are in single precision, about 1e-7 of their size.
    assert found.weights == pytest.approx(compiled.weights, rel=1e-4, abs=1e-6)
    assert found.checkpoints.shape == compiled.checkpoints.shape


@pytest.mark.parametrize("late", ["current", "drawn"])
def test_late_updates_come_late(late):
    options = {"delay": 3, "late_scores": late, "impressions": 60}
    mine, expected = run(rl.ROLTR(), noisy, **options), run(rl.ROLTR(), rl.users.noisy(), **options)
    assert mine.weights.tolist() == expected.weights.tolist()
    slow = PlainROLTR()
    found = run(slow, noisy, **options | {"late_scores": "current"})
    expected = run(rl.ROLTR(), rl.users.noisy(), **options | {"late_scores": "current"})
    assert found.weights == pytest.approx(expected.weights, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"delay": 3}, {"delay": 3, "late_scores": "drawn"}], ids=str)
@pytest.mark.parametrize("learner", [rl.Posterior(), rl.Posterior(half_life=20.0)], ids=str)
def test_a_method_that_remembers_documents_meets_the_same_ones_beside_a_plain_person(learner, options):
    mine, expected = run(learner, noisy, 400, **options), run(learner, rl.users.noisy(), 400, **options)
    assert mine.online_curve.tolist() == expected.online_curve.tolist()
    assert mine.weights.tolist() == expected.weights.tolist()


@pytest.mark.parametrize("learner", [rl.MDPRank(), rl.Oracle(), rl.FixedWeights()], ids=str)
def test_methods_that_know_or_want_less_than_clicks_meet_a_plain_person(learner):
    mine, expected = run(learner, noisy, 50), run(learner, rl.users.noisy(), 50)
    assert mine.online_curve.tolist() == expected.online_curve.tolist()
    assert mine.offline_curve.tolist() == expected.offline_curve.tolist()


class Alphabet:
    """Ranks by row, and learns nothing: the least that a learner can be."""

    def rank(self, X):
        return np.arange(len(X))

    def learn(self):
        pass


def test_the_least_that_a_learner_can_be():
    found = run(Alphabet(), noisy, 50)
    rows = rl.Split.of(-np.arange(len(DATA.test.grades))[:, None], DATA.test.grades, small_queries(DATA.test))
    assert found.offline_curve[:, 1] == pytest.approx(rl.evaluate([1.0], rows))
    assert found.weights.shape == (0,)
    assert repr(found).startswith("Run(Alphabet, noisy, small, 50 impressions")
    assert found.settings["learner"] == {"learner": "Alphabet", "python": f"{__name__}.Alphabet"}


def small_queries(split):
    return np.repeat(np.arange(split.queries), np.diff(split.offsets))


def test_everything_that_can_be_asked_for_is_given_by_name():
    asked = {}

    class Curious(Alphabet):
        def rank(self, **given):
            asked["rank"] = given
            return np.arange(len(given["X"]))

        def learn(self, X, page, clicks, grades, draws, documents, query, impression):
            asked["learn"] = (X, page, clicks, grades, documents, query, impression)

    def person(grades, page, documents, query, impression, X, patience=3):
        asked["user"] = (grades, page, documents, query, impression, X)
        return np.ones(len(grades))

    run(Curious(), person, 1, evaluate_every=0)
    X, page, clicks, grades, documents, query, impression = asked["learn"]
    assert DATA.train.features[documents].tolist() == X.tolist()
    assert DATA.train.grades[documents[page]].tolist() == grades.tolist() == asked["user"][0].tolist()
    assert clicks.tolist() == [1.0] * len(page)
    assert (query, impression) == asked["user"][3:5] == (asked["rank"]["query"], 0)
    assert asked["rank"]["page_size"] == 10
    with pytest.raises(ValueError, match="read-only"):
        X[0, 0] = 1.0


def test_attributes_of_documents_are_found_by_their_rows():
    price = np.arange(len(DATA.train.grades), dtype=float)

    def frugal(documents, page):
        return price[documents[page]] == price[documents[page]].min()

    assert run(Alphabet(), frugal, 20).clicks.tolist() == [1] * 20


@pytest.mark.parametrize(
    ("learner", "user", "sentence"),
    [
        (Alphabet(), lambda grades, mood: grades, "user <lambda> can be given grades, draws, page, .*it asks for mood"),
        (Alphabet(), lambda grades: [2.0] * len(grades), "user <lambda>: clicks must lie between 0 and 1"),
        (Alphabet(), lambda grades: None, "user <lambda> returned nothing; it must return one click value per rank"),
        (Alphabet(), lambda grades: [1.0], "user <lambda>: clicks must have one value per shown document"),
        (Alphabet, noisy, "simulate: learner is Alphabet itself, which has to be called"),
        (Alphabet(), None, "simulate: user must be a user model"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_sentence(learner, user, sentence):
    with pytest.raises(SettingsError, match=sentence):
        run(learner, user)


@pytest.mark.parametrize(
    ("verb", "does", "sentence"),
    [
        ("rank", lambda X: [0, 0], "Alphabet.rank: page must hold different indices"),
        ("rank", lambda X: [0.5] * len(X), "Alphabet.rank: page must hold different indices"),
        ("rank", lambda X: [len(X)] * len(X), "Alphabet.rank: page must hold different indices"),
        ("rank", lambda X: None, "Alphabet.rank returned nothing; it must return indices into X, best first"),
        ("rank", lambda X: [0], "Alphabet.rank: the page must hold [0-9]+ documents; got 1"),
        ("scores", lambda X: X, "Alphabet.scores must give one number per row"),
        ("scores", lambda X: ["a"] * len(X), "Alphabet.scores must give one number per row; got .'a', "),
        ("scores", lambda X: [[1.0], [1.0, 2.0]], "Alphabet.scores must give one number per row"),
    ],
)
def test_what_a_learner_may_not_answer_is_told_in_a_sentence(verb, does, sentence):
    wrong = Alphabet()
    setattr(wrong, verb, does)
    with pytest.raises(SettingsError, match=sentence):
        run(wrong, noisy)


@pytest.mark.parametrize("score", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("every", [100, 0])
@pytest.mark.filterwarnings("error")
def test_a_learner_whose_scores_are_no_numbers_has_diverged_whether_or_not_it_is_measured(score, every):
    lost = Alphabet()
    lost.scores = lambda X: np.full(len(X), score)
    why = "left the range of float32; " if score == 1e300 else "are infinite or NaN: look at `scores`, or "
    sentence = f"Alphabet diverged by impression [0-9]+: its scores {why}take smaller steps or scale the features"
    with pytest.raises(DivergenceError, match=sentence):
        run(lost, noisy, evaluate_every=every)


def test_weights_that_are_numbers_are_named_where_scores_are_none():
    lost = Alphabet()
    lost.weights = [0.0, 1.0]
    lost.scores = lambda X: np.full(len(X), np.nan)
    with pytest.raises(DivergenceError, match="its scores are infinite or NaN, though its weights are not: look at"):
        run(lost, noisy)


def test_a_learner_whose_weights_are_no_numbers_has_diverged():
    lost = Alphabet()
    lost.weights = [0.0, np.inf]
    with pytest.raises(DivergenceError, match="Alphabet diverged by impression 0: its weights are not finite"):
        run(lost, noisy)


@pytest.mark.parametrize("weights", [[np.zeros(3), np.zeros((3, 2))], {"first": 1.0}, "none"])
def test_weights_that_are_no_list_of_numbers_are_nobody_elses_affair(weights):
    layered = Alphabet()
    layered.weights = weights
    assert run(layered, noisy, 20).weights.shape == (0,)


@pytest.mark.parametrize("verb", ["rank", "learn"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_a_learner_raises_because_it_diverged_is_told_as_that_and_all_else_is_its_own(verb):
    def fail(X):
        broken.weights = weights
        raise ZeroDivisionError("theirs")

    broken = Alphabet()
    broken.__class__ = type("Alphabet", (Alphabet,), {"__deepcopy__": lambda self, memory: self})
    setattr(broken, verb, fail)
    weights = np.array([np.nan])
    with pytest.raises(DivergenceError, match="Alphabet diverged by impression 0: its weights") as caught:
        run(broken, noisy, evaluate_every=0)
    assert str(caught.value.__cause__) == "theirs"
    weights = broken.weights = np.zeros(1)
    with pytest.raises(ZeroDivisionError, match="theirs"):
        run(broken, noisy, evaluate_every=0)


@pytest.mark.parametrize("option", [{"weights": [0.0] * 5}, {"gradient_variance": True}])
def test_options_of_compiled_learners_are_refused(option):
    with pytest.raises(SettingsError):
        run(Alphabet(), noisy, **option)
    if "gradient_variance" in option:
        with pytest.raises(SettingsError, match="the variance of the gradient is recorded by the compiled loop only"):
            run(rl.ROLTR(), noisy, **option)


def test_the_cost_is_told_once():
    plain.warn_of_cost.cache_clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(Alphabet(), noisy, 1)
        run(Alphabet(), noisy, 1)
    assert [one.category for one in told] == [PlainPythonWarning]
    assert "impressions a second" in str(told[0].message)
    assert told[0].filename == __file__


def test_compiled_runs_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(rl.FixedWeights(), rl.users.noisy(), 5)


def test_settings_may_make_a_learner_or_a_person_in_plain_python(compiled):
    class Roltr(rl.learners.Learner, frozen=True):
        learning_rate: float = 0.01

        def model(self, features, page_size, seed, weights=None):
            return PlainROLTR(features, self.learning_rate)

    class Noisy(rl.users.User, frozen=True):
        def compiled(self, page_size, split=None):
            return noisy

    found = run(Roltr(), Noisy())
    assert found.clicks.tolist() == compiled.clicks.tolist()
    assert found.settings["learner"] == {"learner": "Roltr", "learning_rate": 0.01}
    with pytest.raises(SettingsError, match="OnlineRanker: Roltr is written in plain Python, which only simulations"):
        rl.OnlineRanker(Roltr(), features=3, seed=1)


def test_a_function_may_take_anything_and_gets_everything():
    assert by_name("x", lambda **anything: None, ("a", "b")) == ("a", "b")
    assert by_name("x", lambda b, c=1: None, ("a", "b")) == ("b",)
