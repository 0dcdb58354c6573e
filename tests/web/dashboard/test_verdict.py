"""Whether a model has learned something, and what it is unsure about, in words that the numbers carry."""

import math
import re
from typing import NamedTuple

import numpy as np
import pytest

from rankloop.learners import ROLTR, Posterior
from rankloop.live.events import Group
from rankloop.live.experiments import INCOMING, LEARNED, Arm, ExperimentReport
from rankloop.live.guard import FEWEST, LEAST, Guard, KeptGuard, Sums
from rankloop.live.guard import compared as between
from rankloop.live.settings import Guards, ModelSettings
from rankloop.statistics.sequential import PARTS
from rankloop.web.dashboard.verdict import Verdict, by_experiment, judged, pages_to_go, signed_share, unsure, verdict

GUARDS = Guards()


def visited(guard: Guard, group: Group, clicks, who) -> Guard:
    """The same comparison after more pages, which are of these people."""
    for page, (count, person) in enumerate(zip(clicks, who, strict=True), 1):
        guard.note(group, float(count), page, page, int(person))
    return guard


def compared(learned: float, control: float, pages: int = 10_000, share: float = 0.2, people: int = 1_000) -> Guard:
    """Pages of so many people whose clicks have these means; all but the last are known together, as from a state."""
    draw, count = np.random.default_rng(3), round(pages * share)
    incoming, clicks = draw.poisson(control, count), draw.poisson(learned, pages - count)
    who = np.arange(pages) % people
    known = [summed(incoming, who[:count]), summed(clicks[:-1], who[: len(clicks) - 1])]
    (in_control, control_people), (of_learned, learned_people) = known
    guard = Guard(KeptGuard(False, 0, of_learned, in_control, learned_people, control_people))
    return visited(guard, Group.LEARNED, clicks[-1:], who[len(clicks) - 1 : len(clicks)])


def summed(clicks, who) -> tuple[Sums, bytes]:
    """Pages of one order as a state keeps them: in all, and by part of the people."""
    sums = np.zeros((3, PARTS))
    for row, values in zip(sums, (np.ones(len(clicks)), clicks, clicks * clicks), strict=True):
        np.add.at(row, who % PARTS, values)
    return Sums(len(clicks), *sums[1:].sum(axis=1).tolist()), sums.tobytes()


@pytest.mark.parametrize(
    ("guard", "guards", "tone", "text"),
    [
        (compared(0.7, 0.5), GUARDS, "good", "Better than the engine’s order: +4"),
        (compared(0.52, 0.5, 1_000), GUARDS, "open", "No clear difference from the engine’s order yet: "),
        (Guard(), GUARDS, "open", "No pages to compare yet. A comparison takes about 1,000 pages in all."),
        (compared(0.5, 0.5, 100, 0.05), GUARDS, "open", "Not enough control pages yet to compare: 5 of at least 50."),
        (compared(0.5, 0.5, 100, 0.91), GUARDS, "open", "Not enough learned pages yet to compare: 9 of at least 50."),
        (compared(2.0, 0.5, people=7), GUARDS, "open",
         "Not enough people with control pages (about 7 of more than 20) yet to compare."),
        (compared(0.5, 0.5), Guards(control=0), "open", "This model has no control group, so its gain cannot"),
        (compared(0.5, 0.5), Guards(falls_back=0), "open", "This model has no guard, so people are not counted"),
    ],
)  # fmt: skip
def test_the_verdict(guard, guards, tone, text):
    told = verdict(guard, guards)
    assert (told.tone, told.text[: len(text)]) == (tone, text)


def test_a_worse_order_is_called_so_while_the_guard_is_on():
    guard = compared(0.3, 0.5)
    assert guard.is_on
    told = verdict(guard, GUARDS)
    assert (told.tone, told.text[:44]) == ("bad", "Worse than the engine’s order, beyond chance")
    assert f"{guard.learned.pages} of 200 pages." in told.text


@pytest.mark.long
def test_orders_that_are_alike_are_hardly_ever_called_better_or_worse():
    """People of very different eagerness, 5 % of them in control, looked at every 500 pages.

    With pages as observations, 56 of 80 models had a verdict. At the promised 5 %, more than 10 of 80 would have
    probability 0.2 %; there is none (fixed seed).
    """
    draw, sure = np.random.default_rng(7), 0
    for people, pages in ((200, 2_500), (600, 4_000)):
        for _ in range(40):
            eager, is_control = draw.gamma(0.5, 1.4, people), draw.random(people) < 0.05
            who, key = draw.integers(people, size=pages), draw.integers(1 << 40, size=people)
            clicks, guard = draw.poisson(eager[who]), Guard()
            for page in range(pages):
                person = who[page]
                group = Group.CONTROL if is_control[person] else Group.LEARNED
                guard.note(group, float(clicks[page]), page + 1, page + 1, int(key[person]))
                if page % 500 == 499 and verdict(guard, GUARDS).tone != "open":
                    sure += 1
                    break
    assert sure <= 10


def test_a_control_group_that_happens_to_have_no_eager_people_is_not_proof():
    """A quarter of the people click on everything; that none of 22 in control does has probability 0.2 %, and is
    seen sooner or later by somebody with many models. Between themselves they differ by nothing."""
    guard, people = Guard(), np.arange(440)
    eager = np.where(people % 4 == 0, 4, 1)
    for _ in range(5):
        visited(guard, Group.LEARNED, eager, people)
        visited(guard, Group.CONTROL, np.ones(22), np.arange(22))
    assert guard.incoming_people.totals()[1] == 0.0
    assert verdict(guard, GUARDS).tone == "open"


def test_the_verdict_and_its_interval_are_one():
    """95 % sure, exactly where the interval leaves out zero."""
    numbers = {"open": 0, "good": 0}
    for gain in np.linspace(0.0, 0.4, 20):
        told = verdict(compared(0.5 * (1 + gain), 0.5, 2_000, people=300), GUARDS)
        low, high = re.search(r"\(([+−])[\d.,]+ % (?:to ([+−])[\d.,]+ %|or more)\)", told.text).groups()
        assert (told.tone == "good") == (low == high == "+"), told.text
        assert ("sure" in told.text) == (told.tone == "good")
        numbers[told.tone] += 1
    assert min(numbers.values()) > 2


def test_nobody_is_ever_quite_sure():
    assert verdict(compared(2.0, 0.5), GUARDS).text.endswith("99.9 % sure.")
    # As 44 people would, on average, these fill 37 of 128 parts.
    assert "about 44 people in the control group" in verdict(compared(0.5, 0.5, people=37), GUARDS).text
    assert "hundreds of people in the control group" in verdict(compared(0.5, 0.5), GUARDS).text


def test_without_clicks_there_is_no_relative_gain():
    guard = visited(Guard(), Group.CONTROL, np.zeros(LEAST), range(LEAST))
    visited(guard, Group.LEARNED, np.arange(100) % 9 == 0, range(100))
    assert guard.incoming_people.parts >= FEWEST
    assert "too few clicks to say how much" in verdict(guard, GUARDS).text


def test_a_posterior_names_the_features_that_it_cannot_tell_from_nothing():
    settings = ModelSettings(name="m", features=["a", "b", "c"], page_size=4, seed=1, learner=Posterior())
    model = settings.learner.model(3, 4, 1)
    assert unsure(settings, model) == "It has learned nothing yet, and is unsure about every feature."
    # As sure of every weight as one standard deviation of 0.1, features of spread 1.
    model.precision[0] = 1.0
    model.spread[:] = 1.0
    model.root[:, : len(model.root)] = 10.0 * np.eye(len(model.root))
    model.ranker.weights[:] = 0.05, 1.0, -0.1
    assert unsure(settings, model) == "Unsure whether more or less is better, for 2 of 3 features: c and a."
    model.ranker.weights[:] = 1.0
    assert unsure(settings, model) == "It is sure of the direction of every weight (95 %)."


def test_of_many_features_it_is_unsure_about_five_are_named_and_the_others_counted():
    settings = ModelSettings(name="m", features=8, page_size=4, seed=1, learner=Posterior())
    model = settings.learner.model(8, 4, 1)
    model.precision[0] = model.spread[:] = 1.0
    model.root[:, : len(model.root)] = 10.0 * np.eye(len(model.root))
    assert unsure(settings, model).endswith("for 8 of 8 features: f1, f2, f3, f4, f5 and 3 more.")


def test_other_methods_do_not_know_what_they_do_not_know():
    settings = ModelSettings(name="m", features=3, seed=1, learner=ROLTR())
    assert unsure(settings, settings.learner.model(3, 10, 1)) is None


def test_a_verdict_is_a_few_words_and_a_number_that_the_sentence_repeats():
    found = verdict(compared(0.7, 0.5), GUARDS)
    assert (found.tone, found.words) == ("good", "Yes, it helps")
    assert f"{signed_share(found.gain)} clicks ({found.interval})" in found.text
    assert found.low < found.gain < found.high
    assert found.surely in found.text
    assert verdict(compared(0.5, 0.7), GUARDS).words == "No, it hurts"
    assert verdict(Guard(), GUARDS)[:2] == ("open", "Too early to say")
    again = Guard()
    again.begin_anew(7)
    assert verdict(again, GUARDS)[:2] == ("open", "Measuring again")  # on the overview, too
    assert verdict(Guard(), Guards(control=0.0)).gain is None


def test_a_difference_that_stays_as_it_is_is_clear_after_as_many_pages_as_were_told():
    """Errors fall as one over the root of the pages: at that many the comparison is sure, a little before it is not."""
    part = compared(0.53, 0.5, pages=8_000)
    to_go = pages_to_go(part, GUARDS)
    assert verdict(part, GUARDS).tone == "open"
    assert to_go > 0
    now = between(part.learned, part.incoming, part.learned_people, part.incoming_people)

    def grown(times):
        less = {"learned_variance": now.learned_variance / times, "incoming_variance": now.incoming_variance / times}
        return now._replace(pages=now.pages * times, **less)

    assert grown(1 + to_go / 8_000).sure >= 0.95
    assert grown((1 + to_go / 8_000) / 1.05).sure < 0.95


def test_nobody_waits_for_what_is_known_or_will_never_be():
    assert pages_to_go(compared(0.7, 0.5), GUARDS) is None
    assert pages_to_go(Guard(), GUARDS) is None


class Beliefs(NamedTuple):
    weights: np.ndarray
    weights_deviation: np.ndarray
    spread: np.ndarray


class Believer(ROLTR, frozen=True):
    """A method of somebody else's that keeps a distribution."""

    def belief(self, model):
        return Beliefs(np.array([1.0, -0.5, 2.0]), np.array([0.1, 1.0, 0.2]), np.ones(3))


def test_what_it_is_unsure_about_is_asked_of_the_method_whichever_it_is():
    settings = ModelSettings(name="shop", features=["a", "b", "c"], learner=Believer(), seed=1)
    told = unsure(settings, settings.learner.model(3, 10, 1))
    assert told == "Unsure whether more or less is better, for 1 of 3 features: b."


def test_an_interval_without_an_end_says_at_least():
    found = Verdict("good", "Yes, it helps", "", 1.7, 0.19, math.inf)
    assert (found.interval, found.bounded) == ("at least +19 %", False)
    assert Verdict("good", "Yes, it helps", "", 0.6, 0.5, 0.8).bounded


def test_a_challenger_is_not_judged_by_pages_that_nobody_sees():
    settings = ModelSettings(name="next", features=("price",), challenges="shop")
    told = judged(settings, compared(0.7, 0.5))
    assert (told.tone, told.words, told.gain) == ("open", "Challenger of shop", None)
    assert judged(ModelSettings(name="shop", features=("price",)), compared(0.7, 0.5)).words == "Yes, it helps"


@pytest.mark.parametrize(
    ("better", "tone", "words"),
    [
        (None, "open", "Not clear yet"),
        (LEARNED, "good", "Yes, people prefer it"),
        (INCOMING, "bad", "No, people prefer the engine’s order"),
    ],
)
def test_without_a_control_group_a_running_experiment_is_the_answer(better, tone, words):
    """“Not measured”, beside 58 interleaved pages."""
    unmeasured = verdict(Guard(), Guards(control=0.0))
    arms = [Arm(INCOMING, 5.0, 0.45, None), Arm(LEARNED, 6.0, 0.55, None)]
    running = ExperimentReport(1, 0, None, 0.1, 58, 44, arms, "people chose …", better)
    found = by_experiment(unmeasured, running)
    assert (found.tone, found.words, found.text) == (tone, words, "People chose …")
    others = ExperimentReport(1, 0, None, 0.1, 58, 44, [arms[0], Arm("other", 6.0, 0.55, None)], "…", better)
    assert by_experiment(unmeasured, others) == by_experiment(unmeasured, None) == unmeasured
    measured = verdict(compared(0.7, 0.5), GUARDS)
    assert by_experiment(measured, running) == measured
