"""Whether a model has learned something, and what it is unsure about, in words that the numbers carry."""

import numpy as np
import pytest

from rankloop.learners import ROLTR, Posterior
from rankloop.live.settings import ModelSettings
from rankloop.web.dashboard.intervals import Sums
from rankloop.web.dashboard.verdict import gain, headline, probability_better, unsure


def poisson(pages: int, mean: float) -> Sums:
    """Pages whose clicks have this mean and variance."""
    return Sums(pages, pages * mean, pages * (mean + mean * mean))


@pytest.mark.parametrize(
    ("learned", "control", "share", "tone", "text"),
    [
        (poisson(9_500, 0.56), poisson(500, 0.5), 0.05, "good", "Better than the engine’s order: +12 % clicks ("),
        (poisson(9_500, 0.4), poisson(500, 0.5), 0.05, "bad", "Worse than the engine’s order: −20 % clicks ("),
        (poisson(950, 0.52), poisson(50, 0.5), 0.05, "open", "No clear difference from the engine’s order yet: +4.0 %"),
        (poisson(95, 0.5), poisson(5, 0.5), 0.05, "open", "Not enough control pages yet to compare: 5 of at least 50."),
        (poisson(9, 0.5), poisson(91, 0.5), 0.9, "open", "Not enough learned pages yet to compare: 9 of at least 50."),
        (poisson(95, 0.5), Sums(), 0.0, "open", "Nobody can say whether it helps: this model has no control group."),
    ],
)  # fmt: skip
def test_the_headline(learned, control, share, tone, text):
    told = headline(learned, control, control_share=share)
    assert (told.tone, told.text[: len(text)]) == (tone, text)


def test_the_probability_and_the_interval_are_those_of_simulated_means():
    """Against 200,000 draws of both means: three digits of the one, and the 2.5 % quantiles of the other."""
    draw = np.random.default_rng(3)
    learned, control = poisson(40_000, 0.51), poisson(4_000, 0.5)
    one, other = (draw.normal(sums.mean, (sums.variance / sums.shown) ** 0.5, 200_000) for sums in (learned, control))
    assert probability_better(learned, control) == pytest.approx((one > other).mean(), abs=0.005)
    told = gain(learned, control)
    np.testing.assert_allclose([told.low, told.high], np.quantile(one / other - 1, [0.025, 0.975]), atol=0.005)


def test_nobody_is_ever_quite_sure():
    assert headline(poisson(9_500, 2.0), poisson(500, 0.5), control_share=0.05).text.endswith("99.9 % sure.")
    assert probability_better(Sums(60, 60.0, 60.0), Sums(60, 60.0, 60.0)) == 0.5


def test_without_clicks_there_is_no_relative_gain():
    assert gain(poisson(100, 0.5), Sums(100, 0.0, 0.0)).value is None


def test_a_posterior_names_the_features_that_it_cannot_tell_from_nothing():
    settings = ModelSettings(name="m", features=["a", "b", "c"], page_size=4, seed=1, learner=Posterior())
    model = settings.learner.model(3, 4, 1)
    assert unsure(settings, model) == "It has learned nothing yet, and is unsure about every feature."
    # As sure of every weight as one standard deviation of 0.1, features of spread 1.
    model.precision[0] = 1.0
    model.spread[:] = 1.0
    model.factor[:, : len(model.factor)] = 10.0 * np.eye(len(model.factor))
    model.ranker.weights[:] = 0.05, 1.0, -0.1
    assert unsure(settings, model) == "Unsure whether more or less is better, for 2 of 3 features: c, a."
    model.ranker.weights[:] = 1.0
    assert unsure(settings, model) == "It is sure of the direction of every weight (95 %)."


def test_other_methods_do_not_know_what_they_do_not_know():
    settings = ModelSettings(name="m", features=3, seed=1, learner=ROLTR())
    assert unsure(settings, settings.learner.model(3, 10, 1)) is None
