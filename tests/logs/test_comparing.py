"""How far two states of a model are apart on logged pages, against literal definitions."""

import pytest

from rankloop.learners import Posterior
from rankloop.live.events import Kind
from rankloop.live.fold import Fold
from rankloop.live.orders import Orders
from rankloop.logs.comparing import (
    ANEW,
    HELD_OUT,
    MOST_PAGES,
    NOW,
    Difference,
    HeldOut,
    compare,
)
from rankloop.logs.replay.estimating import Evaluation, Value
from rankloop.logs.replay.folding import live_at
from rankloop.offpolicy import Estimate

from .writing import Log, model_settings


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        (Orders(100, 0.99, 0.5, 0.99, 0.98), "Hardly anything changes"),
        (Orders(100, 0.85, 0.2, 0.99, 0.98), "Some pages change"),
        (Orders(100, 0.99, 0.5, 0.99, 0.1), "Much changes"),
        (None, "No page is left to compare orders on"),
    ],
)
def test_what_changes_is_said_in_words(orders, said):
    unknown = "what it does to clicks per page cannot be estimated"
    assert Difference(False, 0.1, 0.01, 1.0, orders, None).conclusion == f"{said}; {unknown}."
    assert Difference(True, 0.0, 0.0, 1.0, orders, None).conclusion == "Nothing changes."


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.1, 0.2, "clicks per page cannot be told apart"),
        (0.1, 0.2, "it would get more clicks per page"),
        (-0.2, -0.1, "it would get fewer clicks per page"),
    ],
)
def test_and_what_clicks_do(low, high, said):
    estimate = Estimate("SNIPS", (low + high) / 2, low, high, 0.1, 90.0, 100, None, 1.0)
    value = Value(f"{ANEW} − {NOW}", "examination model", "self-normalised", estimate)
    found = Difference(False, 0.1, None, None, None, Evaluation(100, {}, [], [], [value]))
    assert found.conclusion.endswith(f"; {said}.")


def test_the_newest_pages_are_held_out(log, store):
    held_out = HeldOut(store, store.models()[0])
    closings = [event.offset for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,))]
    assert [event.offset for event, _ in held_out.pages()] == closings[-round(HELD_OUT * 60) :]
    assert held_out.since == closings[-round(HELD_OUT * 60) - 1]
    assert all(shown.kind == Kind.SHOWN for _, shown in held_out.pages())
    assert MOST_PAGES >= 100


@pytest.mark.parametrize("learner", [None, Posterior()], ids=["ROLTR", "Posterior"])
def test_clicks_are_estimated_for_both_states_as_they_were_before_the_pages_they_are_judged_by(store, learner):
    settings = model_settings(**({} if learner is None else {"learner": learner}))
    log = Log.filled(store, settings, impressions=400)
    model = store.models()[0]
    held_out = HeldOut(store, model)
    now, then = log.fold, live_at(store, model, held_out.since).fold.view()
    assert then.version < now.version
    other = Fold(settings, (-now.ranker.weights).tolist())
    found = compare(now, other, (then, other.view()), held_out)
    assert not found.same_bits
    assert found.cosine == pytest.approx(-1)
    assert found.orders.pages == found.evaluation.impressions == 120
    values = {
        value.policy: value.estimate for value in found.evaluation.values if value.estimator == "examination model"
    }
    assert set(values) == {NOW, ANEW}
    differences = [value.policy for value in found.evaluation.differences]
    assert f"{ANEW} − {NOW}" in differences
    if learner is None:
        assert values[NOW].value > 0
        assert "impressions' worth of evidence" in values[ANEW].reason  # this log cannot tell of the reverse order


def test_a_state_is_the_same_as_itself_and_an_empty_log_says_nothing(store):
    log = Log(store)
    held_out = HeldOut(store, store.models()[0])
    found = compare(log.fold, Fold(log.settings), None, held_out)
    assert found.same_bits
    assert (found.distance, found.cosine, found.orders, found.evaluation) == (0.0, None, None, None)
