"""Each way in which a part of the service can fail has its own sentence and its own tone."""

from types import SimpleNamespace

import pytest

from rankloop.live.fold import Fold
from rankloop.live.settings import Guards, ModelSettings
from rankloop.live.suspicion import Suspects, Suspicion
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
        (service(learns=False), None, "open", "elsewhere"),
        (service(folds=()), None, "open", "elsewhere"),
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


def fold_of(clients, **more) -> Fold:
    """A fold that has learned a page from each of these."""
    fold = Fold(ModelSettings(name="m", features=["price", "made"], seed=1, guards=Guards(control=0.0, **more)))
    fold.fates["learned"] = len(clients)
    for client in clients:
        fold.influence.note(client, fold.settings.guards)
    return fold


def test_a_model_that_is_never_told_who_it_is_says_that_it_has_no_protection():
    assert health.warnings(fold_of([b""] * 99)) == []
    assert health.warnings(fold_of([b""] * 100)) == [health.NAMELESS]
    assert health.warnings(fold_of([b""] * 100, client_pages=0)) == []
    assert health.warnings(fold_of([b""] * 80 + [bytes([n]) * 16 for n in range(20)])) == []


def test_features_with_values_that_are_mistakes_are_named():
    fold = fold_of([])
    fold.outliers["made"] = 3
    [warning] = health.warnings(fold)
    assert "made (3 pages)" in warning


def test_clients_who_may_be_steering_are_counted_with_what_to_type():
    fold = Fold(ModelSettings(name="shop", features=2, seed=1))
    known = [Suspicion("feature", "vendor", "more", ["hash:1", "hash:2"], 0.1, 0.5)]
    known += [Suspicion("document", name, "more", ["hash:2"], 0.1, 0.5) for name in ("secret-1", "secret-2")]
    assert health.warnings(fold, Suspects("shop", 100, 50, [])) == []
    [told] = health.warnings(fold, Suspects("shop", 100, 50, known))
    assert told == (
        "2 clients may be steering this model, for more vendor and one document: "
        "look with rankloop log suspects LOG --model shop"
    )
