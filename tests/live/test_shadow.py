"""What a challenger would have earned, from pages that another policy drew: exact by enumeration, and sure at all
times."""

import itertools

import msgspec
import numpy as np
import pytest

from rankloop.learners import DBGD, ROLTR
from rankloop.live.events import Group, Impression
from rankloop.live.settings import ModelSettings
from rankloop.live.shadow import CLIP, Shadow, earned_in, examination_of
from rankloop.policies import log_probability
from rankloop.propensities import PowerLaw

RANKS, DOCUMENTS = 2, 4
MODEL = ModelSettings(name="m", features=1, page_size=RANKS, seed=1, learner=ROLTR())
DRAWN = np.array([1.0, 0.5, 0.0, -0.5], np.float32)
OTHER = np.array([-0.5, 1.0, 0.0, 0.7], np.float32)
APPEAL = np.array([0.2, 0.6, 0.4, 0.5])


def page_of(page, group=Group.LEARNED, **more):
    return Impression(
        query="", candidates=[str(place) for place in range(DOCUMENTS)], features=b"", scores=DRAWN.tobytes(),
        page=list(page), pinned=[], notes=b"", group=int(group), version=0, log_probability=None, displacement=0.0,
        **more,
    )  # fmt: skip


def value(scores, theta):
    """Clicks per page of a policy, literally: every page, times how likely it is."""
    return sum(
        np.exp(log_probability(scores, page)) * (theta * APPEAL[list(page)]).sum()
        for page in itertools.permutations(range(DOCUMENTS), RANKS)
    )


@pytest.mark.parametrize("rate", [0.0, 0.35], ids=["without a rate", "with a rate of clicks"])
def test_a_pages_difference_is_on_average_that_of_the_two_policies(rate):
    """Position-based people: whatever the rate of clicks that is taken off, the mean over all pages is exact."""
    theta = examination_of(MODEL, None)
    assert theta.tolist() == PowerLaw(1.0).at(RANKS).tolist()
    expected = 0.0
    for page in itertools.permutations(range(DOCUMENTS), RANKS):
        shadow = Shadow()
        shadow.clicks, shadow.looks = rate, 1.0
        clicks = (theta * APPEAL[list(page)]).tolist()
        shadow.note(MODEL, None, OTHER, page_of(page), MODEL, clicks, 0)
        expected += np.exp(log_probability(DRAWN, page)) * shadow.differences.sums[1].sum()
    assert expected == pytest.approx(value(OTHER, theta) - value(DRAWN, theta), abs=1e-9)


def test_what_is_cut_off_counts_as_average():
    """Of a document that the model all but never shows, the log says nothing: with a click on every look no clipping
    can make the challenger look worse or better."""
    never = np.array([8.0, 7.0, 6.0, -2.0], np.float32)
    shadow, theta = Shadow(), examination_of(MODEL, None)
    shadow.clicks, shadow.looks = 1.0, 1.0
    page = Impression(
        query="", candidates=list("abcd"), features=b"", scores=never.tobytes(), page=[0, 3], pinned=[], notes=b"",
        group=0, version=0, log_probability=None, displacement=0.0,
    )  # fmt: skip
    shadow.note(MODEL, None, np.array([0.0, 0.0, 0.0, 9.0], np.float32), page, MODEL, theta.tolist(), 0)
    assert shadow.weights < (theta * CLIP).sum()
    assert shadow.differences.sums[1].sum() == pytest.approx(0.0, abs=1e-12)


def drawn(rng):
    return rng.choice(DOCUMENTS, RANKS, replace=False, p=np.exp(DRAWN) / np.exp(DRAWN).sum())


def filled(pages, seed, appeal=APPEAL, scores=OTHER):
    """People of forty kinds look at pages that the model draws."""
    shadow, rng, theta = Shadow(), np.random.default_rng(seed), examination_of(MODEL, None)
    for place in range(pages):
        page = drawn(rng)
        clicks = (rng.random(RANKS) < theta * appeal[page]).astype(float).tolist()
        shadow.note(MODEL, None, scores, page_of(page.tolist()), MODEL, clicks, place % 40)
    return shadow


@pytest.mark.thorough
def test_a_better_order_is_found_and_its_interval_holds_the_truth():
    theta = examination_of(MODEL, None)
    found = filled(1_500, seed=1).found()
    truth = value(OTHER, theta) - value(DRAWN, theta)
    assert found.low < truth < found.high
    assert found.low > 0
    assert found.sure > 0.95
    assert found.sentence.startswith("Its pages would have earned more, estimated on 1,500 logged pages: +0.")


@pytest.mark.slow
def test_people_who_do_not_care_leave_it_undecided():
    """60 logs, looked at after 400 and 800 pages: with 5 % at most who are ever wronged, more than 8 of 60 happen once
    in 300 suites."""
    wronged = 0
    for seed in range(60):
        shadow, rng, theta = Shadow(), np.random.default_rng(seed), examination_of(MODEL, None)
        decided = False
        for place in range(800):
            page = drawn(rng)
            clicks = (rng.random(RANKS) < theta * 0.4).astype(float)
            weights = np.where(page == 1, 2.0, np.where(page == 0, 0.4, 1.0))
            shadow.add(weights * theta.sum() / (weights @ theta), theta, clicks, place % 40)
            if place in (399, 799):
                found = shadow.found()
                decided = decided or not found.low <= 0 <= found.high
        wronged += decided
    assert wronged <= 8


@pytest.mark.parametrize(
    ("pages", "people", "sentence"),
    [
        (0, 1, "No logged page says anything of it yet."),
        (50, 40, "Logged pages are worth"),
        (300, 5, "Too few people have seen logged pages: about 5, and it takes some 20."),
    ],
)
def test_what_is_too_little_is_said(pages, people, sentence):
    shadow, theta = Shadow(), examination_of(MODEL, None)
    for place in range(pages):
        shadow.add(np.ones(RANKS), theta, np.zeros(RANKS), place % people)
    found = shadow.found()
    assert found.difference is None
    assert found.sentence.startswith(sentence)


def test_pages_without_a_click_tell_nothing_however_many_they_are():
    """An interval of no width is not evidence."""
    shadow, theta = Shadow(), examination_of(MODEL, None)
    for who in range(500):
        shadow.add(np.ones(len(theta)), theta, np.zeros(len(theta)), who)
    found = shadow.found()
    assert (found.difference, found.low, found.sure) == (None, None, None)
    assert found.sentence == "Nobody clicked on 500 logged pages, so they cannot tell."


def test_models_with_actions_earn_value_and_others_clicks():
    shadow, theta, rng = Shadow(), examination_of(MODEL, None), np.random.default_rng(1)
    for who in range(400):
        shadow.add(rng.uniform(0.5, 1.5, RANKS), theta, rng.random(RANKS) * 0.1, who)
    assert " clicks a page (" in shadow.found().sentence
    assert " value a page (" in shadow.found("value").sentence
    assert earned_in(MODEL) == "clicks"
    assert earned_in(msgspec.structs.replace(MODEL, actions={"click": 0.1, "buy": 1.0})) == "value"


def test_pages_that_say_nothing_are_counted_by_why():
    shadow = Shadow()
    compared = ModelSettings(name="m", features=1, page_size=RANKS, seed=1, learner=DBGD())
    shadow.note(MODEL, None, OTHER, page_of([0, 1], Group.CONTROL), MODEL, [0.0, 0.0], 0)
    shadow.note(MODEL, None, OTHER, page_of([0, 1], greedy=True), MODEL, [0.0, 0.0], 0)
    shadow.note(MODEL, None, OTHER, page_of([0, 1]), compared, [0.0, 0.0], 0)
    assert shadow.found().left_out == {
        "control group": 1,
        "shown without exploration": 1,
        "drawn by DBGD, whose pages have no probability for each rank": 1,
    }
    assert shadow.found().sentence.endswith("of 3 none was drawn with known probabilities.")


def test_sums_are_kept_bit_by_bit():
    shadow = filled(30, seed=2)
    from rankloop.live.shadow import KeptShadow

    again = Shadow(msgspec.convert(shadow.kept(), KeptShadow))
    assert again.kept() == shadow.kept()
