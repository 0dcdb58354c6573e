"""A model's settings as sentences: what they mean for the people who search, and for what it learns."""

import math
from typing import NamedTuple

from rankloop.display import counted, duration, percent
from rankloop.live.incoming import INCOMING
from rankloop.live.settings import IncomingOrder, ModelSettings, Weights

NAMED = 12


def feature_name(name: str) -> str:
    """A feature as people call it.

    >>> feature_name("price"), feature_name("_incoming")
    ('price', 'the engine’s order')
    """
    return "the engine’s order" if name == INCOMING else name


def unit_of(settings: ModelSettings) -> str:
    """What a page is worth is counted in."""
    return "value" if settings.has_actions else "clicks"


CLICK_THROUGH = "click-through"


def rate_of(settings: ModelSettings) -> str:
    """What a rank gets per impression."""
    return "value" if settings.has_actions else CLICK_THROUGH


class Said(NamedTuple):
    """One setting: a heading, and a sentence."""

    title: str
    text: str


def settings_in_words(settings: ModelSettings) -> list[Said]:
    """Everything that was decided when the model was made."""
    guards = settings.guards
    names = [feature_name(name) for name in settings.names[:NAMED]]
    more = len(settings.names) - len(names)
    said = [
        Said("What it looks at", f"{', '.join(names)}{f' and {more:,} more' if more else ''}."),
        Said("How it begins", _start(settings)),
        Said("How it learns", _learner(settings)),
        Said("Pages", f"A page shows {counted(settings.page_size, 'result')} at most."),
        Said("When a page counts", f"When it is closed, or {duration(settings.window)} after it was shown."),
        Said("How features are scaled", SCALING.get(str(settings.scaling), "By fixed numbers that were given.")),
        Said("If a feature is missing", _missing(settings)),
        Said("Control group", _control(settings)),
    ]
    if settings.has_actions:
        worth = ", ".join(f"{name} {value:g}" for name, value in settings.actions.items())
        said.append(Said("What people do is worth", f"{worth}. It learns to get pages of the highest value."))
    if guards.client_pages:
        said.append(
            Said(
                "What one visitor can teach it",
                f"No more than {counted(guards.client_pages, 'page')} and {percent(guards.client_share)} of what it "
                "learned from others, so that somebody who clicks all day counts for little.",
            )
        )
    else:
        said.append(Said("What one visitor can teach it", "There is no limit: every page of everybody counts."))
    if guards.one_sided:
        said.append(
            Said(
                "Visitors who click for one thing",
                "Anybody whose clicks follow one feature, page after page, counts less and less, as a bot should. "
                "What people do by chance is not held against them.",
            )
        )
    if guards.compares:
        less = "less value" if settings.has_actions else "fewer clicks"
        said.append(
            Said(
                "If it is worse",
                f"Once it gets {less} than the engine’s order, beyond chance, {percent(guards.falls_back)} of "
                "people get the engine’s order until it has proved itself again.",
            )
        )
    return said


SCALING = {
    "robust": "From the median of each query, in units that outliers do not move.",
    "query": "Within each query, from the smallest value to the largest.",
    "running": "By the mean and spread of everything seen so far.",
    "none": "Not at all: they are taken as they come.",
}


def _start(settings: ModelSettings) -> str:
    start = settings.start
    if isinstance(start, IncomingOrder):
        feature = settings.names[start.feature] if isinstance(start.feature, int) else start.feature
        by = f" (by {feature})" if feature else ""
        return f"In your engine’s order{by}, and leaves it step by step as clicks tell it to."
    if isinstance(start, Weights):
        return "With given weights, and goes on from there."
    return "From scratch: its first pages are shuffled widely."


def _learner(settings: ModelSettings) -> str:
    learner = settings.learner
    if learner.draws_weights:
        how = "explores only where it is unsure, and so less and less"
    elif learner.policy_temperature is not None and not math.isinf(learner.policy_temperature):
        how = "explores by chance: better results are more likely to be on top"
    else:
        how = "explores in its own way"
    return f"With {learner.name}, which {how}."


def _missing(settings: ModelSettings) -> str:
    if settings.missing is None:
        return "The request is refused, with the name of the feature."
    return f"It counts as {settings.missing:g}."


def _control(settings: ModelSettings) -> str:
    share = settings.guards.control
    if not share:
        return "Nobody, so whether the model helps cannot be measured."
    return f"{percent(share)} of people always get the engine’s order, to compare with."
