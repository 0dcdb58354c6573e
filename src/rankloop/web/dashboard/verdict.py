"""Whether a model has learned something, in one sentence; and what it is still unsure about."""

import math
from typing import Any

import numpy as np

from rankloop.display import listed, percent
from rankloop.errors import SettingsError
from rankloop.learners import Posterior
from rankloop.live.guard import FEWEST, LEAST, TRIAL, GroupComparison, Guard, compared
from rankloop.live.settings import Guards, ModelSettings
from rankloop.statistics.intervals import half_width
from rankloop.web.dashboard.examination import Sentence

SURE = 0.95
"""Two orders that are alike are ever called better or worse with probability 1 − this at most."""
MOST_FEATURES = 300
"""A covariance of more takes too long for a look at a page."""
NAMED = 5


def headline(guard: Guard, guards: Guards) -> Sentence:
    """The learned order against the engine's: what the guard's own comparison, between people, says in either
    direction. The interval of the ratio leaves out 1 exactly if one is 95 % sure."""
    if guards.control == 0:
        return Sentence("open", "Nobody can say whether it helps: this model has no control group.")
    if not guards.compares:
        return Sentence("open", "Nobody can say how sure a difference is: people are only counted by a guard.")
    learned, control = guard.learned, guard.incoming
    if guard.is_on:
        trial = f"on trial, {learned.pages} of {TRIAL} pages so far"
        return Sentence(
            "bad", f"Worse than the engine’s order, beyond chance: most people see the engine’s now ({trial})."
        )
    for group, sums, people in (
        ("control", control, guard.incoming_people),
        ("learned", learned, guard.learned_people),
    ):
        if sums.pages < LEAST:
            return Sentence("open", f"Not enough {group} pages yet to compare: {sums.pages} of at least {LEAST}.")
        if people.parts < FEWEST:
            few = f"about {people.count}, and it takes more than {FEWEST}"
            return Sentence("open", f"Not enough people with {group} pages yet to compare: {few}.")
    found = compared(learned, control, guard.learned_people, guard.incoming_people)
    count = guard.incoming_people.count
    evidence = f"{_change(found)}, with {f'about {count}' if count else 'hundreds of'} people in control"
    if found.sure < SURE:
        return Sentence("open", f"No clear difference from the engine’s order yet: {evidence}.")
    better = found.learned > found.incoming
    tone, word = ("good", "Better") if better else ("bad", "Worse")
    return Sentence(tone, f"{word} than the engine’s order: {evidence}; {_sure(found.sure)} sure.")


def _change(found: GroupComparison) -> str:
    value, low, high = found.ratio()
    if math.isinf(value):
        return "too few clicks to say how much"
    reach = f"{_signed(low - 1)} or more" if math.isinf(high) else f"{_signed(low - 1)} to {_signed(high - 1)}"
    return f"{_signed(value - 1)} clicks ({reach})"


def _signed(share: float) -> str:
    return f"{'+' if share >= 0 else '−'}{percent(abs(share))}"


def _sure(probability: float) -> str:
    """Never quite certain.

    >>> _sure(0.9765), _sure(0.99999)
    ('97 %', '99.9 %')
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
    some = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f"Unsure whether more or less is better, for {len(names)} of {len(settings.names)} features: {listed(some)}."
