"""Late, erased, replayed: a model never becomes silently worse because its pages were drawn by another policy.

A small world of linear tastes. A model learns from 1,500 visits, on time. Then its log is folded again: with people
erased, with pages that come much later, in any order, with another learning rate.
"""

import msgspec
import numpy as np
import pytest

from rankloop.learners import DBGD, PDGD, PMGD, ROLTR, Posterior
from rankloop.live.as_drawn import page_as_drawn
from rankloop.live.events import Event
from rankloop.live.fold import Fold
from rankloop.live.models import cosine
from rankloop.live.settings import Guards, ModelSettings, stored_settings
from rankloop.live.staleness import foreign_weight, moved, weight_of

from .diary import FOR_ALL, Diary, page_of

FEATURES, CANDIDATES, PAGE, VISITS = 5, 12, 5, 1500
TASTE = np.array([2.0, -1.0, 1.0, 0.5, 0.0])
LOST = 0.03
"""How much worse than the live model a refolded one may be; collapsed ones lose .5 and more."""

Closed = list[tuple[Event, Event]]


def settings(learner, **more) -> ModelSettings:
    return ModelSettings(
        name="m", features=FEATURES, page_size=PAGE, seed=3, guards=FOR_ALL, scaling="none", learner=learner, **more
    )


def lived(learner, visits: int = VISITS) -> tuple[Fold, Closed]:
    """A model after so many visits, and what was closed, in order."""
    diary, rng = Diary(settings(learner)), np.random.default_rng(5)
    closed = []
    for _ in range(visits):
        X = rng.normal(size=(CANDIDATES, FEATURES)).astype(np.float32)
        shown = diary.show(X)
        examined = rng.random(PAGE) < 1.0 / np.sqrt(np.arange(1, PAGE + 1))
        attracted = rng.random(PAGE) < 1.0 / (1.0 + np.exp(2.0 - X[page_of(shown).page] @ TASTE))
        diary.close(shown, (examined & attracted).astype(float).tolist())
        closed.append((diary.events[-1], shown))
    return diary.fold, closed


def quality(fold: Fold) -> float:
    """How good the first document is, on queries nobody has seen: 1 for the best there is, 0 for one at random."""
    X = np.random.default_rng(6).normal(size=(200, CANDIDATES, FEATURES)).astype(np.float32)
    view, worth = fold.view(), X @ TASTE
    first = [int(np.argmax(view.scores(query))) for query in X]
    found = worth[np.arange(len(X)), first]
    return float(((found - worth.mean(1)) / (worth.max(1) - worth.mean(1))).mean())


def refolded(chosen: ModelSettings, closed: Closed) -> Fold:
    fold = Fold(chosen)
    for closing, shown in closed:
        fold.apply(closing, shown)
    return fold


def without(closed: Closed, share: float) -> Closed:
    """As if so many pages' people had been erased."""
    stays = np.random.default_rng(7).random(len(closed)) >= share
    return [pair for pair, there in zip(closed, stays, strict=True) if there]


def late(closed: Closed, share: float, by: int) -> Closed:
    """So many pages closed so many pages later."""
    places = np.arange(len(closed)) + by * (np.random.default_rng(8).random(len(closed)) < share)
    return [closed[place] for place in np.argsort(places, kind="stable")]


def shuffled(closed: Closed) -> Closed:
    return [closed[place] for place in np.random.default_rng(9).permutation(len(closed))]


CHANGES = {
    "one page in 200 erased": lambda closed: without(closed, 0.005),
    "5 % erased": lambda closed: without(closed, 0.05),
    "10 % late": lambda closed: late(closed, 0.1, VISITS // 3),
    "shuffled": shuffled,
}
LEARNERS = {
    "ROLTR": ROLTR(reward="ips-", learning_rate=0.1),
    "PDGD": PDGD(),
    "DBGD": DBGD(learning_rate=0.03),
    "PMGD": PMGD(learning_rate=0.1),
    "Posterior": Posterior(),
}


made_once = pytest.mark.xdist_group("lives")
"""For tests of `lives`: one worker leads them, for all."""


@pytest.fixture(scope="module")
def lives():
    return {name: lived(learner) for name, learner in LEARNERS.items()}


@pytest.mark.long
@made_once
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_log_folded_again_with_people_missing_or_pages_late_is_as_good(lives, name, change):
    live, closed = lives[name]
    anew = refolded(live.settings, CHANGES[change](closed))
    assert quality(live) > 0.85
    assert quality(anew) > quality(live) - LOST
    assert cosine(anew.ranker.weights, live.ranker.weights) > (0.999 if name == "Posterior" else 0.98)


@pytest.mark.long
@made_once
def test_the_order_of_pages_matters_least_to_a_posterior(lives):
    """It believes the same in the end, and is as sure: what a page says depends a little on where the mean stands."""
    live, closed = lives["Posterior"]
    anew = refolded(live.settings, shuffled(closed))
    one, other = (fold.settings.learner.belief(fold.ranker.model) for fold in (live, anew))
    assert np.abs(one.weights - other.weights).max() < 2.0 * one.weights_deviation.max()
    assert one.weights_deviation == pytest.approx(other.weights_deviation, rel=0.05)


@pytest.mark.long
@made_once
@pytest.mark.parametrize("factor", [0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("name", ["ROLTR", "PDGD"])
def test_a_replay_with_another_learning_rate_is_as_good(lives, name, factor):
    live, closed = lives[name]
    learner = msgspec.structs.replace(LEARNERS[name], learning_rate=factor * LEARNERS[name].learning_rate)
    anew = refolded(msgspec.structs.replace(live.settings, learner=learner), closed)
    assert quality(anew) > quality(live) - LOST


def literal_probability(scores, page) -> float:
    """Of a page, from the definition: each document among those that are left."""
    left, chance = list(range(len(scores))), 1.0
    for document in page:
        chance *= np.exp(scores[document]) / sum(np.exp(scores[other]) for other in left)
        left.remove(document)
    return float(chance)


@pytest.mark.parametrize("late_updates", ["current", "drawn"])
@pytest.mark.parametrize("length", [0.0, 0.1, 1.0, 3.0, 30.0])
def test_a_page_weighs_what_it_is_worth_to_todays_policy(late_updates, length):
    """From zero weights, where every page is as likely, to these."""
    chosen = settings(ROLTR(), late_updates=late_updates)
    diary, X = Diary(chosen), np.random.default_rng(1).normal(size=(CANDIDATES, FEATURES)).astype(np.float32)
    impression = page_of(diary.show(X))
    fold = Fold(chosen, (-length * X[impression.page[0]].astype(float)).tolist())
    page, _ = page_as_drawn(impression, 0, X, [0.0] * PAGE, chosen.learner, chosen.learner)
    ratio = literal_probability(fold.view().scores(X).astype(float), page.documents) / literal_probability(
        np.zeros(CANDIDATES), page.documents
    )
    expected = ratio if late_updates == "current" and ratio < 0.5 else 1.0
    if ratio ** (1.0 / PAGE) < 0.01:
        expected = 0.0
    apart = moved(chosen, fold.ranker, impression, page)
    assert np.exp(apart) == pytest.approx(ratio, rel=1e-4)
    assert weight_of(chosen, PAGE, apart) == pytest.approx(expected, rel=1e-4)
    assert foreign_weight(chosen, apart) == pytest.approx(min(1.0, ratio) if ratio >= 0.01 else 0.0, rel=1e-4)
    lenient = msgspec.structs.replace(chosen, guards=Guards(control=0.0, stale_below=0.0))
    assert weight_of(lenient, PAGE, apart) == 1.0
    assert foreign_weight(lenient, apart) == foreign_weight(chosen, apart)
    assert foreign_weight(chosen, None) == 0.0


def test_a_page_too_far_from_todays_policy_is_set_aside_and_counted():
    diary, X = Diary(settings(ROLTR())), np.random.default_rng(1).normal(size=(CANDIDATES, FEATURES))
    shown = diary.show(X.astype(np.float32))
    far = Fold(diary.settings, (-30.0 * X[page_of(shown).page[0]]).tolist())
    before = far.ranker.weights
    diary.close(shown, [1.0] + [0.0] * (PAGE - 1))
    assert far.apply(diary.events[-1], shown) == "stale"
    assert (far.ranker.weights == before).all()
    assert (far.version, far.fates) == (0, {"stale": 1})


def test_models_made_before_learn_as_they_did():
    """Otherwise their logs would not give the snapshots that were kept."""
    kept = msgspec.to_builtins(settings(ROLTR(), late_updates="current"))
    del kept["guards"]["stale_below"]
    then = stored_settings(msgspec.json.encode(kept))
    assert (then.guards.stale_below, then.late_updates) == (0.0, "current")
