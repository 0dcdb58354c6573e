"""How far two states of a model are apart on logged pages, against literal definitions."""

from itertools import combinations

import numpy as np
import pytest

from rankloop.learners import Posterior
from rankloop.live.events import Kind, decode
from rankloop.live.fold import Fold
from rankloop.logs.comparing import (
    ANEW,
    HELD_OUT,
    MOST_PAGES,
    NOW,
    Difference,
    HeldOut,
    Orders,
    compare,
    compare_orders,
)
from rankloop.logs.replay.estimating import Evaluation, Value
from rankloop.logs.replay.folding import live_at
from rankloop.offpolicy import Estimate

from .writing import Log, model_settings


def shown_pages(store):
    return [decode(event.kind, event.body) for event in store.events(0, 1_000_000, kinds=(Kind.SHOWN,))]


def literal(pages, u, v):
    """Shares and Kendall's τ from their definitions: pairs of candidates on which both orders agree, or not."""
    rows = []
    for page in pages:
        X, size = page.matrix("float32").astype(float), len(page.page)
        scores = X @ u, X @ v
        a, b = (sorted(range(len(X)), key=lambda i, s=s: -s[i]) for s in scores)
        pairs = [np.sign(a.index(i) - a.index(j)) * np.sign(b.index(i) - b.index(j)) for i, j in combinations(a, 2)]
        rows.append([
            a[0] == b[0], a[:size] == b[:size], len({*a[:size]} & {*b[:size]}) / size, sum(pairs) / len(pairs),
        ])  # fmt: skip
    return np.mean(np.array(rows, float), axis=0)


def test_orders_are_compared_as_defined(log, store):
    u, v = np.random.default_rng(3).normal(size=(2, 5))
    one, other = (Fold(log.settings, list(weights)).view() for weights in (u, v))
    pages = shown_pages(store)
    found = compare_orders(pages, "float32", one, other)
    assert found.pages == 60
    assert [found.same_first, found.same_page, found.shared, found.kendall] == pytest.approx(literal(pages, u, v))
    same = compare_orders(pages, "float32", one, one)
    assert (same.same_first, same.same_page, same.shared, same.kendall) == pytest.approx((1, 1, 1, 1))
    opposite = compare_orders(pages, "float32", one, Fold(log.settings, list(-u)).view())
    assert opposite.kendall == pytest.approx(-1)


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
