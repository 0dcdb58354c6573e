"""Each way in which a part of the service can fail has its own sentence and its own tone."""

from types import SimpleNamespace

import pytest

from rankloop.live.alerts import alert_of
from rankloop.live.watching import Period
from rankloop.web.dashboard import health

NOW = 1_000_000
MODEL = SimpleNamespace(id=7, damage=None)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(health, "now", lambda: NOW)


def service(*, alive=True, error="", folds=(7,), learns=True, shared=False):
    learner = SimpleNamespace(alive=alive, error=error, folds=lambda: dict.fromkeys(folds)) if learns else None
    return SimpleNamespace(learner=learner, store=SimpleNamespace(shared=shared))


@pytest.mark.parametrize(
    ("of", "waiting_since", "tone", "word"),
    [
        (service(), None, "good", "healthy"),
        (service(), NOW - health.SLOW, "good", "healthy"),
        (service(), NOW - health.SLOW - 1, "open", "behind"),
        (service(learns=False), None, "good", "in another process"),
        (service(folds=()), None, "good", "in another process"),
        (service(folds=()), NOW - health.SLOW - 1, "open", "behind"),
        (service(error="the disk is full"), None, "bad", "waiting"),
        (service(alive=False, error="the disk is full"), None, "bad", "stopped"),
    ],
)
def test_the_state_of_the_learner(of, waiting_since, tone, word):
    state = health.learner_state(of, MODEL, waiting_since)
    assert (state.part, state.tone, state.word) == ("Learner", tone, word)
    assert bool(state.note) == (tone != "good")
    assert state.why == (of.learner.error if word == "waiting" else "")


def test_a_learner_that_waits_for_a_store_that_is_down_has_no_trouble_of_its_own():
    store, learner = health.states(service(error="no connection"), "no connection", MODEL)
    assert (store.tone, store.why) == ("bad", "no connection")
    assert learner == ("Learner", "plain", "waiting for the store", "", "")


def test_a_model_whose_state_is_damaged_comes_before_the_store():
    damaged = SimpleNamespace(id=7, damage="its kept state is damaged; refold it")
    model, store, _ = health.states(service(), None, damaged)
    assert (model.part, model.tone, store.tone) == ("Model", "bad", "good")
    assert model.note.endswith("its kept state is damaged; refold it.")


def test_a_store_that_does_not_answer_says_why_and_what_that_costs():
    assert health.store_state(None) == ("Store", "good", "healthy", "", "")
    down = health.store_state("no response for 1.5 s")
    assert (down.tone, down.word) == ("bad", "down")
    assert down.note.startswith("Bring it back: until then, pages keep your engine’s order")
    assert down.why == "no response for 1.5 s"


def test_nothing_is_behind_where_nothing_waits_or_the_clock_went_back():
    assert [health.lag_seconds(since) for since in (None, NOW - 2500, NOW + 100)] == [0.0, 2.5, 0.0]


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (service(), None),
        (service(alive=False), "the learner has stopped"),
        (service(learns=False), "only ranks"),
        (service(learns=False, shared=True), None),
    ],
)
def test_a_decision_without_effect_is_not_offered(of, reason):
    assert (health.can_act(of) is None) if reason is None else (reason in health.can_act(of))


@pytest.mark.parametrize(("kind", "marked"), [("missing", True), ("worse", False), ("nameless", False)])
def test_a_model_with_an_alert_that_cannot_wait_is_marked(kind, marked):
    """A guard that came on has a mark of its own."""
    told = [alert_of("shop", Period(kind, "age", 5))]
    of = SimpleNamespace(alarms=SimpleNamespace(open=lambda: told))
    assert health.needs_attention(of, SimpleNamespace(settings=SimpleNamespace(name="shop"))) == marked
    assert not health.needs_attention(of, SimpleNamespace(settings=SimpleNamespace(name="other")))
