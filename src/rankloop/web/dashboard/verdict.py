"""Whether a model has learned something, in one sentence; and what it is still unsure about."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.display import listed, percent
from rankloop.errors import SettingsError
from rankloop.live.experiments import INCOMING, LEARNED, ExperimentReport
from rankloop.live.guard import FEWEST, LEAST, TRIAL, GroupComparison, Guard, compared
from rankloop.live.settings import Guards, ModelSettings
from rankloop.statistics.intervals import anytime_half_width, half_width
from rankloop.web.dashboard.plain_words import feature_name, unit_of

SURE = 0.95
"""Two orders that are alike are ever called better or worse with probability 1 − this at most."""
MOST_FEATURES = 300
"""A covariance of more takes too long for a look at a page."""
NAMED = 5
MOST_PATIENCE = 10.0
"""A difference that takes more than so many times the pages that there were is nothing to wait for."""
STEADY_PAGES = 1_000
STEADY_REACH = 0.15
"""Nobody says how long it takes before so many learned pages, or while the gain may be this much more or less: the
model still changes, and the number of pages goes as one over the gain's square."""


class Verdict(NamedTuple):
    """The answer to “does it help?”: in two or three words, as a number with its interval, and in a sentence."""

    tone: str
    """good, open or bad."""
    words: str
    text: str
    gain: float | None = None
    """Clicks per page gained over the engine's order, as a share of these; None if nobody can say yet."""
    low: float | None = None
    high: float | None = None
    """The 95 % confidence sequence; infinite where the control has too few clicks."""
    sure: float | None = None
    people: str = ""
    """How many are in control."""

    @property
    def interval(self) -> str:
        """The interval in words.

        >>> Verdict("good", "It helps", "…", 0.12, 0.04, 0.21).interval
        '+4.0 % to +21 %'
        """
        return "" if self.low is None or self.high is None else _reach(self.low, self.high)

    @property
    def bounded(self) -> bool:
        """Whether the interval has an end on both sides."""
        return self.high is not None and not math.isinf(self.high)

    @property
    def surely(self) -> str:
        """How sure one is, never quite."""
        return "" if self.sure is None else _sure(self.sure)


UNMEASURED = "Not measured"
EARLY, AGAIN = "Too early to say", "Measuring again"
"""Of a model that has not been compared yet, and of one whose comparison has started over."""
UNREAD = Verdict("open", "Unknown right now", "The store is down, and this model’s numbers have not been read yet.")


def judged(settings: ModelSettings, guard: Guard) -> Verdict:
    """What is said of a model, by its kept comparison. Of a challenger there is none, as nobody sees its pages."""
    if other := settings.challenges:
        text = f"It learns in shadow: nobody sees its pages. The experiments page of {other} says how it is doing."
        return Verdict("open", f"Challenger of {other}", text)
    return verdict(guard, settings.guards, unit_of(settings))


def by_experiment(found: Verdict, experiment: ExperimentReport | None) -> Verdict:
    """What is said of a model that has no control group, while an experiment holds its order against the engine's."""
    if found.words != UNMEASURED or experiment is None or {arm.name for arm in experiment.arms} != {INCOMING, LEARNED}:
        return found
    text = experiment.verdict[:1].upper() + experiment.verdict[1:].replace("the incoming order", "the engine’s order")
    text = text.replace("The incoming order", "The engine’s order")
    if experiment.better is None:
        return Verdict("open", "Not clear yet", text)
    if experiment.better == LEARNED:
        return Verdict("good", "Yes, people prefer it", text)
    return Verdict("bad", "No, people prefer the engine’s order", text)


def verdict(guard: Guard, guards: Guards, unit: str = "clicks") -> Verdict:
    """The learned order against the engine's: what the guard's own comparison, between people, says in either
    direction. The interval of the ratio leaves out 1 exactly if one is 95 % sure. `unit`: what is counted."""
    if guards.control == 0:
        return Verdict("open", UNMEASURED, "This model has no control group, so its gain cannot be measured.")
    if not guards.compares:
        return Verdict(
            "open",
            UNMEASURED,
            "This model has no guard, so people are not counted and its gain cannot be measured.",
        )
    learned, control = guard.learned, guard.incoming
    if guard.is_on:
        return Verdict(
            "bad",
            "No, it hurts",
            "Worse than the engine’s order, beyond chance, so most people see the engine’s now. "
            f"The rest try it: {learned.pages} of {TRIAL} pages.",
        )
    early = AGAIN if guard.since else EARLY
    if not learned.pages and not control.pages:
        most = pages_to_compare(guard, guards)
        takes = f"about {most:,} pages in all" if most else f"{LEAST} pages in each order"
        return Verdict("open", early, f"No pages to compare yet. A comparison takes {takes}.")
    for group, sums in (("control", control), ("learned", learned)):
        if sums.pages < LEAST:
            few = f"Not enough {group} pages yet to compare: {sums.pages} of at least {LEAST}."
            return Verdict("open", early, few)
    if few := few_people(guard):
        return Verdict("open", early, f"Not enough people with {few} yet to compare.")
    return _verdict_of(guard, compared(learned, control, guard.learned_people, guard.incoming_people), unit)


def few_people(guard: Guard) -> str:
    """Whose pages are those of too few people, and how many these are; nothing if there are enough."""
    for group, people in (("control", guard.incoming_people), ("learned", guard.learned_people)):
        if people.parts < FEWEST:
            return f"{group} pages (about {people.count} of more than {FEWEST})"
    return ""


def pages_to_compare(guard: Guard, guards: Guards) -> int | None:
    """About how many more pages until both orders have enough of them; None if they have, or never will.

    >>> pages_to_compare(Guard(), Guards(control=0.05))
    1000
    """
    if not 0 < guards.control < 1:
        return None
    missing = max((LEAST - guard.incoming.pages) / guards.control, (LEAST - guard.learned.pages) / (1 - guards.control))
    return rounded_up(math.ceil(round(missing, 6))) if missing > 0 else None


def rounded_up(number: int) -> int:
    """To two digits, upwards.

    >>> rounded_up(12_345), rounded_up(7)
    (13000, 7)
    """
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


def _verdict_of(guard: Guard, found: GroupComparison, unit: str) -> Verdict:
    count = guard.incoming_people.count
    people = f"about {count}" if count else "hundreds of"
    value, low, high = found.ratio()
    gained = f"{_change(value, low, high, unit)}, with {people} people in the control group"
    tone, words, text = "open", "No clear difference yet", f"No clear difference from the engine’s order yet: {gained}."
    if found.sure >= SURE:
        better = found.learned > found.incoming
        tone, words = ("good", "Yes, it helps") if better else ("bad", "No, it hurts")
        text = f"{'Better' if better else 'Worse'} than the engine’s order: {gained}; {_sure(found.sure)} sure."
    if math.isinf(value):
        return Verdict(tone, words, text, sure=found.sure, people=people)
    return Verdict(tone, words, text, value - 1, low - 1, high - 1, found.sure, people)


def _change(value: float, low: float, high: float, unit: str) -> str:
    if math.isinf(value):
        return "too few clicks to say how much"
    return f"{signed_share(value - 1)} {unit} ({_reach(low - 1, high - 1)})"


def _reach(low: float, high: float) -> str:
    return f"at least {signed_share(low)}" if math.isinf(high) else f"{signed_share(low)} to {signed_share(high)}"


def signed_share(share: float) -> str:
    """A gain or loss, in percent.

    >>> signed_share(0.123), signed_share(-0.05)
    ('+12 %', '−5.0 %')
    """
    return f"{'+' if share >= 0 else '−'}{percent(abs(share))}"


def _sure(probability: float) -> str:
    """Never quite certain.

    >>> _sure(0.9765), _sure(0.99999)
    ('97 %', '99.9 %')
    """
    if probability >= 0.999:
        return "99.9 %"
    return f"{math.floor(100 * probability)} %"


def pages_to_go(guard: Guard, guards: Guards) -> int | None:
    """About how many more pages until the difference is clear, if it stays as it is; None if nobody can say, as long
    as the estimate has not steadied.

    Standard errors fall as 1/√pages: the fewest pages with which the confidence sequence would leave out zero.
    """
    found = verdict(guard, guards)
    if found.tone != "open" or found.low is None or found.high is None or guard.learned.pages < STEADY_PAGES:
        return None
    if not (found.high - found.low) / 2 < STEADY_REACH:
        return None
    one = compared(guard.learned, guard.incoming, guard.learned_people, guard.incoming_people)
    difference = abs(one.learned - one.incoming)
    error = math.sqrt(one.learned_variance + one.incoming_variance)
    pages = int(guard.learned.pages + guard.incoming.pages)
    for grown in map(float, np.geomspace(1.0, MOST_PATIENCE, 200)):
        if difference > anytime_half_width(error / math.sqrt(grown), one.pages * grown):
            return math.ceil((grown - 1) * pages)
    return None


def sure_of(settings: ModelSettings, model: Any) -> NDArray[np.bool_] | None:
    """Of which weights the direction is known (95 %); None if the method does not say."""
    if len(settings.names) > MOST_FEATURES:
        return None
    try:
        belief = settings.learner.belief(model)
    except SettingsError:
        return np.zeros(len(settings.names), bool)
    return None if belief is None else np.abs(belief.weights) > half_width(1.0) * belief.weights_deviation


def unsure(settings: ModelSettings, model: Any) -> str | None:
    """The features whose weights may as well be zero, those that might count most first; None if nobody knows."""
    if len(settings.names) > MOST_FEATURES:
        return None
    try:
        belief = settings.learner.belief(model)
    except SettingsError:
        return "It has learned nothing yet, and is unsure about every feature."
    if belief is None:
        return None
    reach = half_width(1.0) * belief.weights_deviation
    might = (np.abs(belief.weights) + reach) * belief.spread
    names = [
        feature_name(settings.names[i])
        for i in np.argsort(-might, kind="stable")
        if abs(belief.weights[i]) <= reach[i] and might[i] > 0
    ]
    if not names:
        return "It is sure of the direction of every weight (95 %)."
    some = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f"Unsure whether more or less is better, for {len(names)} of {len(settings.names)} features: {listed(some)}."
