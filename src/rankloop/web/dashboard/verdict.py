"""Whether a model has learned something, in one sentence; and what it is still unsure about."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from rankloop.display import percent
from rankloop.errors import SettingsError
from rankloop.intervals import half_width
from rankloop.learners import Posterior
from rankloop.live.guard import LEAST
from rankloop.live.settings import ModelSettings
from rankloop.web.dashboard.examination import Sentence
from rankloop.web.dashboard.intervals import Estimate, Sums

SURE = 0.95
MOST_FEATURES = 300
"""A covariance of more takes too long for a look at a page."""
NAMED = 5


def gain(learned: Sums, control: Sums) -> Estimate:
    """learned/control − 1, with the 95 % interval of the logarithm of the ratio (delta method).

    >>> [round(value, 3) for value in gain(Sums(400, 480.0, 700.0), Sums(100, 100.0, 150.0))]
    [0.2, 0.036, 0.389]
    """
    if min(learned.shown, control.shown) < 2 or min(learned.total, control.total) <= 0:
        return Estimate(None)
    ratio = learned.mean / control.mean
    error = math.sqrt(sum(one.variance / one.shown / one.mean**2 for one in (learned, control)))
    reach = math.exp(half_width(error))
    return Estimate(ratio - 1, ratio / reach - 1, ratio * reach - 1)


def probability_better(learned: Sums, control: Sums) -> float:
    """That the learned order gets more clicks per page: normal, each group with its own variance, no prior opinion."""
    error = math.sqrt(learned.variance / learned.shown + control.variance / control.shown)
    difference = learned.mean - control.mean
    return NormalDist().cdf(difference / error) if error > 0 else 0.5 + 0.5 * math.copysign(difference != 0, difference)


def headline(learned: Sums, control: Sums, *, control_share: float) -> Sentence:
    """The learned order against the engine's."""
    if control_share == 0:
        return Sentence("open", "Nobody can say whether it helps: this model has no control group.")
    if control.shown < LEAST or learned.shown < LEAST:
        few, count = ("control", control.shown) if control.shown < LEAST else ("learned", learned.shown)
        return Sentence("open", f"Not enough {few} pages yet to compare: {count} of at least {LEAST}.")
    better = probability_better(learned, control)
    how_much = _change(gain(learned, control))
    sure = max(better, 1 - better)
    if sure < SURE:
        likely = f"{_sure(sure)} likely to be {'better' if better > 0.5 else 'worse'}"
        return Sentence("open", f"No clear difference from the engine’s order yet: {how_much}, {likely}.")
    if better > 0.5:
        return Sentence("good", f"Better than the engine’s order: {how_much}, {_sure(sure)} sure.")
    return Sentence("bad", f"Worse than the engine’s order: {how_much}, {_sure(sure)} sure.")


def _change(value: Estimate) -> str:
    if value.value is None or value.low is None or value.high is None:
        return "too few clicks to say how much"
    return f"{_signed(value.value)} clicks ({_signed(value.low)} to {_signed(value.high)})"


def _signed(share: float) -> str:
    return f"{'+' if share >= 0 else '−'}{percent(abs(share))}"


def _sure(probability: float) -> str:
    """Never quite certain.

    >>> _sure(0.8765), _sure(0.99999)
    ('87 %', '99.9 %')
    """
    if probability >= 0.999:
        return "99.9 %"
    return f"{math.floor(100 * probability)} %"


def unsure(settings: ModelSettings, model: Any) -> str | None:
    """The features whose weights may as well be zero, those that might count most first; None if nobody knows."""
    learner = settings.learner
    if not isinstance(learner, Posterior) or len(settings.names) > MOST_FEATURES:
        return None
    try:
        belief = learner.belief(model)
    except SettingsError:
        return "It has learned nothing yet, and is unsure about every feature."
    reach = half_width(1.0) * belief.weights_deviation
    might = (np.abs(belief.weights) + reach) * model.spread
    names = [
        settings.names[i]
        for i in np.argsort(-might, kind="stable")
        if abs(belief.weights[i]) <= reach[i] and might[i] > 0
    ]
    if not names:
        return "It is sure of the direction of every weight (95 %)."
    some = ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")
    return f"Unsure whether more or less is better, for {len(names)} of {len(settings.names)} features: {some}."
