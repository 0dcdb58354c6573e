"""What changed and what to do: the most urgent thing first, each with the page where it can be done."""

import types

import numpy as np
import pytest

from rankloop.live.alerts import alert_of
from rankloop.live.events import Event, ExperimentStarted, Group, Kind, Restored, encode
from rankloop.live.guard import Guard
from rankloop.live.settings import Guards, IncomingOrder, ModelSettings
from rankloop.live.stores.rows import Snapshot
from rankloop.live.watching import Period
from rankloop.web.dashboard.advice import DAY, Apart, apart, changed, to_do
from rankloop.web.dashboard.health import State
from rankloop.web.dashboard.intervals import Sums
from rankloop.web.dashboard.reading import EMPTY
from rankloop.web.dashboard.trail import Known
from rankloop.web.dashboard.verdict import Verdict, verdict

from .test_verdict import compared

WELL = [State("Store", "good", "healthy"), State("Learner", "good", "healthy")]
SEEN = EMPTY._replace(ever={int(Group.LEARNED): {0: Sums(10, 5.0, 5.0)}})


def model(mode="learning", guarded=False, **more):
    settings = ModelSettings(name="shop", features=("bm25", "price"), **more)
    return types.SimpleNamespace(settings=settings, view=lambda: types.SimpleNamespace(mode=mode, guarded=guarded))


def told(reading=SEEN, states=WELL, guard=None, alerts=(), experiment=None, found=None, challengers=(), **more):
    one = model(**more)
    guard = guard or Guard()
    reading = reading._replace(guard=guard)
    said = verdict(guard, one.settings.guards)
    return to_do(one, reading, said, states, alerts, experiment, found=found, challengers=challengers)


def running(better):
    return types.SimpleNamespace(better=better)


def challenger(advice, low=None):
    return types.SimpleNamespace(name="shop-2", advice=advice, off_policy=types.SimpleNamespace(low=low))


@pytest.mark.parametrize(
    ("start", "gains", "text", "label", "address"),
    [
        (None, (None, 0.1, -0.2), "Few people see it now.", "before it got worse (version 1)", "roll-back?version=1"),
        (IncomingOrder(), (None, -0.2), "Few people see it now.", "the engine’s order (version 0)", "version=0"),
        (None, (None, -0.2, -0.3), "It never did better", "start anew in the engine’s order", "/new"),
        (None, (None, None), "roll back, or let it learn", "History", "/history"),
    ],
)
def test_nobody_is_sent_back_to_a_version_that_was_no_better(start, gains, text, label, address):
    """A model that began worse than the engine's order was sent back to its beginning, “before it got worse”."""
    states = [
        Known(place, place, Verdict("bad", "", "") if gain is None else Verdict("open", "", "", gain, -1, 1))
        for place, gain in enumerate(gains)
    ]
    reading = SEEN._replace(states=states, trail=states)
    found = told(reading=reading, guard=compared(0.5, 0.7), guarded=True, **({"start": start} if start else {}))
    assert text in found.text
    assert label in found.label
    assert found.address.endswith(address)


def test_what_queries_and_segments_say_is_told_apart():
    yes, no, open_ = (types.SimpleNamespace(verdict=verdict) for verdict in ("helps", "hurts", None))
    one = types.SimpleNamespace
    queries = one(queries=[one(query="a", contrast=yes), one(query="b", contrast=no)], new=no, known=open_)
    assert apart(queries, one(segments=[one(segment="de", contrast=no)])) == Apart(True, ("de",), ("b",), True)
    nothing = one(queries=[], new=open_, known=open_)
    assert apart(nothing, one(segments=[one(segment="de", contrast=open_)])) == Apart()


def test_whoever_has_an_experiment_is_not_told_to_start_one_and_is_told_when_it_is_decided():
    assert told().label == "Or start an experiment"
    assert told(experiment=running(None)).label == "See the experiment"
    for guard in (None, compared(0.7, 0.5)):
        decided = told(guard=guard, experiment=running("learned"))
        assert decided.text.startswith("Stop the experiment: it has a winner")
        assert decided.address == "/models/shop/experiments"
    assert "Few people see it now" in told(guard=compared(0.5, 0.7), guarded=True, experiment=running("incoming")).text


@pytest.mark.parametrize(
    ("given", "text", "address"),
    [
        ({"states": [State("Learner", "bad", "stopped", "Restart.")]}, "Learner stopped. Restart.", ""),
        (
            {"states": [State("Store", "bad", "down", "Bring it back.", "no connection")]},
            "Store down. Bring",
            "/service",
        ),
        ({"reading": EMPTY}, "Send it pages to rank.", "/models/shop/connect"),
        ({"guard": compared(0.5, 0.7)}, "roll back to an earlier version", "/models/shop/history"),
        ({"guard": compared(0.5, 0.7), "guarded": True}, "Few people see it now", "/models/shop/history"),
        ({"reading": EMPTY, "challenges": "main"}, "compare it with main", "/models/main/experiments"),
        ({"mode": "paused"}, "Resume it when you are ready.", "/models/shop/act/resume"),
        ({"mode": "paused", "alerts": [alert_of("shop", Period("diverged", "", 5))]}, "Roll back, then resume", ""),
        ({"guards": Guards(control=0.0)}, "Or create a new model with a control group.", "/models/shop/experiments"),
        ({"alerts": [alert_of("shop", Period("nameless", "", 5))]}, "Nothing bounds what one visitor can teach", ""),
        ({"guard": compared(0.7, 0.5)}, "Nothing.", "/models/shop/queries"),
        ({"guard": compared(0.7, 0.5), "found": Apart(told=True)}, "Nothing.", "/models/shop/queries#helps"),
        (
            {"guard": compared(0.7, 0.5), "found": Apart(True, ("phone",), ("red shoes",))},
            "Consider a model of its own for the segment phone: there it hurts, beyond chance.",
            "/models/shop/queries#segments",
        ),
        (
            {"guard": compared(0.53, 0.5), "found": Apart(True, ("phone", "de", "at"))},
            "Consider models of their own for the segments phone, de and 1 more: there it hurts",
            "/models/shop/queries#segments",
        ),
        (
            {"guard": compared(0.7, 0.5), "found": Apart(True, (), ("red shoes", "a" * 99))},
            f"Look at “red shoes” and “{'a' * 40}…”: there it hurts, beyond chance.",
            "/models/shop/queries?q=red%20shoes",
        ),
        ({"found": Apart(True, unseen=True)}, "Look at new queries: there it hurts", "/models/shop/queries#helps"),
        ({"challengers": [challenger("wait")]}, "Keep sending pages", "/models/shop/experiments"),
        ({"challengers": [challenger("interleave", low=-0.1)]}, "Keep sending pages", "/models/shop/experiments"),
        (
            {"guard": compared(0.7, 0.5), "challengers": [challenger("interleave", low=0.1)]},
            "Try the challenger shop-2 on some pages",
            "/models/shop/experiments#challengers",
        ),
        (
            {"challengers": [challenger("interleave", low=0.1), challenger("promote")]},
            "Promote the challenger shop-2: people prefer its order.",
            "/models/shop/experiments#challengers",
        ),
        ({}, "Keep sending pages: it takes about 1,000 more to compare.", "/models/shop/experiments"),
        (
            {"guard": compared(0.5, 0.5, 220, 0.05)},
            "Keep sending pages: it takes about 780 more to compare. In the control group (5 % of people) there are 11 "
            "of 50.",
            "/models/shop/experiments",
        ),
        (
            {"guard": compared(0.5, 0.5, 100, 0.8), "guards": Guards(control=0.8)},
            "about 150 more to compare. In the learned order (20 % of people) there are",
            "/models/shop/experiments",
        ),
        (
            {"guard": compared(2.0, 0.5, people=7)},
            "more people with control pages (about 7",
            "/models/shop/experiments",
        ),
        ({"guard": compared(0.53, 0.5, pages=8_000)}, "more pages: then this difference", "/models/shop/experiments"),
    ],
)
def test_the_next_step_is_named_and_has_a_page(given, text, address):
    found = told(**given)
    assert text in found.text
    assert found.address == address


@pytest.mark.parametrize(("learned", "control", "pages"), [(0.51, 0.5, 1_000), (0.55, 0.5, 2_000), (0.5, 0.5, 40_000)])
def test_while_the_estimate_is_unsteady_nobody_is_told_how_long_it_takes(learned, control, pages):
    """At page 300 it was ten times too many: too little is known, and the model still changes."""
    guard = compared(learned, control, pages=pages)
    found = verdict(guard, Guards())
    assert found.tone == "open"
    low, high = found.interval.split(" to ")
    assert told(guard=guard).text == f"Keep sending pages. It could still be anything from {low} to {high}."


def history(*steps):
    return [(Snapshot(1, place, place, at, b""), np.array(weights)) for place, (at, weights) in enumerate(steps)]


def test_what_moved_since_yesterday_is_named_and_what_did_not_is_not():
    now = 10 * DAY
    story = history((0, (0.0, 5.0)), (now - 2 * DAY, (1.0, 1.0)), (now - DAY // 2, (1.5, 1.0)), (now, (2.0, 1.001)))
    yesterday = "Since yesterday it learned to favour high <strong>bm25</strong> even more."
    assert changed(model(), SEEN._replace(history=story), now) == yesterday
    assert changed(model(), SEEN._replace(history=story[2:]), now) == yesterday.replace("yesterday", "the start")
    still = history((0, (1.0, 1.0)), (1, (1.0, 1.0)))
    assert changed(model(), SEEN._replace(history=still), 2) == "Since the start, no weight has moved much."
    assert changed(model(), SEEN, now) == "Nothing yet: 10 pages closed."


@pytest.mark.parametrize(
    ("before", "after", "learned"),
    [
        ((0.0, 0.0, 1.0), (0.0, -0.57, 1.0), "favour low <strong>price</strong>"),
        ((0.0, 0.0, 1.0), (0.4, -0.57, 1.0), "favour low <strong>price</strong> and high <strong>bm25</strong>"),
        ((0.0, -0.2, 1.0), (0.0, -0.57, 1.0), "favour low <strong>price</strong> even more"),
        ((0.0, -0.57, 1.0), (0.0, -0.2, 1.0), "rely less on <strong>price</strong>"),
        ((0.0, 0.5, 1.0), (0.0, -0.2, 1.0), "favour low <strong>price</strong> instead of high"),
        ((0.0, 0.0, 1.0), (0.0, -0.57, 0.7), "favour low <strong>price</strong> and rely less on <strong>the engine’s"),
        ((0.0, 0.0, 1.0), (0.0, 0.0, 1.5), "favour <strong>the engine’s order</strong> even more"),
        ((0.0, 0.0, 1.0), (0.0, 0.0, -1.5), "go against <strong>the engine’s order</strong>"),
    ],
)  # fmt: skip
def test_a_weight_below_zero_that_grew_counts_more_the_other_way(before, after, learned):
    """The strongest weight, −0.57 and once 0, was said to count less."""
    story = history((0, before), (1, after))
    assert learned in changed(model(start=IncomingOrder()), SEEN._replace(history=story), 2)


def test_what_may_as_well_be_chance_is_not_said_to_be_learned():
    """“It learned to favour high spam score”, of a model that was unsure about every feature."""
    story = history((0, (0.0, 0.0, 1.0)), (1, (0.4, -0.57, 1.0)))
    unsure = SEEN._replace(history=story, sure=np.array([False, False, True]))
    leaning = "Nothing for sure yet; leaning towards low <strong>price</strong> and high <strong>bm25</strong>."
    assert changed(model(start=IncomingOrder()), unsure, 2) == leaning
    one = changed(model(start=IncomingOrder()), unsure._replace(sure=np.array([True, False, True])), 2)
    assert one == "Since the start it learned to favour high <strong>bm25</strong>."


def test_what_a_rollback_undid_is_not_said_to_be_learned():
    """“Since yesterday it learned to favour low price”, of weights that had only gone back."""
    now = 10 * DAY
    story = history((0, (0.0, 5.0)), (now - 2 * DAY, (1.0, 1.0)), (now - 9, (3.0, 1.0)), (now - 5, (1.0, 1.0)))
    body = encode(Restored(1, b""))
    back = SEEN._replace(history=story, decisions=[Event(3, 1, Kind.ROLLED_BACK, 0, now - 5, b"", body)])
    assert changed(model(), back, now).startswith("Rolled back to version 1, <time")
    assert "learned" not in changed(model(), back, now)
    later = back._replace(history=[*story, *history(*[(0, (0, 0))] * 4, (now, (2.0, 1.0)))[-1:]])
    assert "Since the rollback it learned to favour high <strong>bm25</strong>" in changed(model(), later, now)
    assert "Since yesterday" in changed(model(), later, now + 2 * DAY)


def test_a_features_name_is_no_markup():
    one = types.SimpleNamespace(settings=ModelSettings(name="shop", features=("<b>", "price")))
    story = history((0, (0.0, 0.0, 1.0)), (1, (1.0, 0.0, 1.0)))
    assert "high <strong>&lt;b&gt;</strong>" in changed(one, SEEN._replace(history=story), 2)


def test_the_last_decision_is_named_for_a_week():
    event = Event(1, 1, Kind.PAUSED, 0, 1000, b"ops", b"")
    told = changed(model(), SEEN._replace(decisions=[event]), 2000)
    assert told.startswith("Paused learning by ops, <time datetime=")
    body = encode(ExperimentStarted(["incoming", "learned"], [0, 1], 1.0))
    started = Event(1, 1, Kind.EXPERIMENT_STARTED, 0, 1000, b"", body)
    assert changed(model(), SEEN._replace(decisions=[started]), 2000).startswith("Started an experiment, <time")
    assert "Paused" not in changed(model(), SEEN._replace(decisions=[event]), 8 * DAY)
