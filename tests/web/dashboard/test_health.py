"""Each way in which a part of the service can fail has its own sentence and its own tone."""

from types import SimpleNamespace

import pytest

from rankloop.web.dashboard import health

NOW = 1_000_000
MODEL = SimpleNamespace(id=7)


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


def test_a_store_that_does_not_answer_says_why_and_what_that_costs():
    assert health.store_state(None) == ("Store", "good", "healthy", "")
    down = health.store_state("no response for 1.5 s")
    assert (down.tone, down.word) == ("bad", "down")
    assert down.note.startswith("no response for 1.5 s. Until it recovers")


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
