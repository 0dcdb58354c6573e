"""How alike two orders of logged pages are, against literal definitions."""

from itertools import combinations

import msgspec
import numpy as np
import pytest

from rankloop.live.events import Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.orders import compare_orders

from ..logs.writing import Log


@pytest.fixture
def log(store):
    """A log with 60 learned pages."""
    return Log.filled(store, impressions=60)


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


@pytest.mark.parametrize(("candidates", "opposite"), [(1, 1), (2, -1), (3, -1)])
def test_short_pages_are_compared_too(store, candidates, opposite):
    page = shown_pages(Log.filled(store, impressions=10).store)[0]
    few = msgspec.structs.replace(
        page,
        candidates=page.candidates[:candidates],
        features=page.matrix("float32")[:candidates].tobytes(),
        page=list(range(candidates)),
    )
    up, down = (lambda page, sign=sign: sign * np.arange(len(page.candidates)) for sign in (1, -1))
    assert compare_orders([few], up, up).kendall == pytest.approx(1)
    assert compare_orders([few], up, down).kendall == pytest.approx(opposite)


def scoring(settings, weights):
    """By a model that has learned nothing else."""
    view = Fold(settings, list(weights)).view()
    return lambda page: view.scores_of(page, "float32")


def test_orders_are_compared_as_defined(log, store):
    u, v = np.random.default_rng(3).normal(size=(2, 5))
    one, other, reversed_one = (scoring(log.settings, weights) for weights in (u, v, -u))
    pages = shown_pages(store)
    found = compare_orders(pages, one, other)
    assert found.pages == 60
    assert [found.same_first, found.same_page, found.shared, found.kendall] == pytest.approx(literal(pages, u, v))
    same = compare_orders(pages, one, one)
    assert (same.same_first, same.same_page, same.shared, same.kendall) == pytest.approx((1, 1, 1, 1))
    opposite = compare_orders(pages, one, reversed_one)
    assert opposite.kendall == pytest.approx(-1)
