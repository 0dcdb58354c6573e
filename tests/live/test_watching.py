"""Features that go missing, stand still or move away, and people who look differently: when alerts begin and end."""

import msgspec
import numpy as np
import pytest

from rankloop.live.watching import ACCEPTED, BLOCK, LOOKS_BLOCK, REFERENCE, REMEMBERED, KeptWatch, Watch
from rankloop.propensities.swaps import Swaps

NAMES = ("bm25", "price")


def pages(watch, count, seed=0, change=lambda X: X, outlying=(), at=0):
    """So many pages of eight candidates; `change` is made to each."""
    rng = np.random.default_rng(seed)
    for place in range(count):
        X = rng.normal(loc=[5.0, 100.0], scale=[1.0, 20.0], size=(8, 2)).astype(np.float32)
        watch.note_features(change(X), list(outlying), at + place)
    return watch


def with_price(value):
    def changed(X):
        return np.column_stack([X[:, 0], value(X[:, 1])])

    return changed


def told(watch):
    return [(period.kind, period.subject) for period in watch.open()]


@pytest.mark.parametrize(
    ("price", "kind"),
    [
        (lambda p: 0 * p, "missing"),
        (lambda p: 0 * p + 7, "constant"),
        (lambda p: 1000 * p, "shifted"),
        (lambda p: p + 400, "shifted"),
    ],
)
def test_a_feature_that_changes_is_told_after_a_block_and_until_it_is_back(price, kind):
    watch = pages(Watch(NAMES), REFERENCE + BLOCK)
    assert told(watch) == []
    pages(watch, BLOCK, seed=1, change=with_price(price), at=10_000)
    assert (kind, "price") in told(watch)
    assert watch.open()[0].started == 10_000 + BLOCK - 1
    pages(watch, BLOCK, seed=2, at=20_000)
    assert told(watch) == []
    assert watch.periods[-1].ended == 20_000 + BLOCK - 1


def test_what_stays_is_usual_after_a_while():
    watch = pages(Watch(NAMES), REFERENCE)
    pages(watch, ACCEPTED * BLOCK, seed=1, change=with_price(lambda p: 1000 * p))
    assert told(watch) == [("shifted", "price")]
    pages(watch, BLOCK, seed=2, change=with_price(lambda p: 1000 * p))
    assert told(watch) == []


@pytest.mark.thorough
def test_what_always_varies_a_little_or_seldom_is_no_alert():
    """A hundred stretches of ordinary pages, features that grow with time and one that hardly ever varies."""
    for seed in range(10):
        watch = pages(Watch(NAMES), REFERENCE + 10 * BLOCK, seed=seed)
        assert watch.periods == []
    watch, rng = Watch(("clock", "rare")), np.random.default_rng(3)
    for place in range(REFERENCE + 20 * BLOCK):
        clock = 1e6 + place + rng.random(8)
        rare = np.full(8, 0.0)
        rare[0] = rng.random() < 0.05
        watch.note_features(np.column_stack([clock, rare]), [], place)
    assert watch.periods == []


def test_outliers_last_for_their_block():
    watch = pages(Watch(NAMES), REFERENCE)
    pages(watch, BLOCK, outlying=[1])
    assert told(watch) == [("outlying", "price")]
    assert told(pages(watch, BLOCK)) == []


def looked(watch, swaps, curve, seed, blocks=1):
    rng, scores = np.random.default_rng(seed), np.zeros(3)
    for place in range(blocks * LOOKS_BLOCK):
        page = rng.permutation(3)
        clicks = (rng.random(3) < np.array(curve) * 0.6).astype(float)
        swaps.add(scores, page, clicks)
        watch.note_looks(swaps.moments, place)


def test_a_policy_that_hardly_swaps_is_no_sign_that_people_look_differently():
    """Settled models swap neighbours on few pages. If all of one is clicked on, its ratios have no variance."""
    watch, swaps = Watch(NAMES), Swaps(3)
    looked(watch, swaps, [1.0, 0.5, 0.3], seed=1, blocks=3)
    for place in range(3 * LOOKS_BLOCK):
        clicks = [1.0, 1.0, 1.0] if place == 7 else [0.0, 0.0, 0.0]
        swaps.add([0.0, 0.5, -30.0], [1, 0, 2], clicks)
        watch.note_looks(swaps.moments, place)
    assert watch.periods == []
    # The block waits for swaps that say something, and then does not.
    looked(watch, swaps, [1.0, 0.95, 0.9], seed=2)
    assert told(watch) == [("examination", "")]


def test_people_who_look_differently_are_told_once_and_then_usual():
    watch, swaps = Watch(NAMES), Swaps(3)
    looked(watch, swaps, [1.0, 0.5, 0.3], seed=1, blocks=3)
    assert watch.periods == []
    looked(watch, swaps, [1.0, 0.95, 0.9], seed=2)
    assert told(watch) == [("examination", "")]
    looked(watch, swaps, [1.0, 0.95, 0.9], seed=3)
    assert told(watch) == []


def test_a_watch_is_kept_bit_by_bit_and_goes_on_as_if_nothing_had_happened():
    one = pages(Watch(NAMES), REFERENCE + BLOCK // 2)
    looked(one, Swaps(3), [1.0, 0.5, 0.3], seed=1)
    again = Watch(NAMES, msgspec.convert(msgspec.msgpack.decode(msgspec.msgpack.encode(one.kept())), KeptWatch))
    for watch in (one, again):
        pages(watch, 2 * BLOCK, seed=4, change=with_price(lambda p: 0 * p))
    assert again.kept() == one.kept()
    assert told(again) == [("missing", "price")]


def test_what_has_ended_is_remembered_for_a_while():
    watch = Watch(NAMES)
    for at in range(REMEMBERED + 10):
        watch.begin("worse", at)
        watch.begin("worse", at)
        watch.end("worse", at)
    watch.begin("diverged", 999)
    assert len(watch.periods) == REMEMBERED + 1
    assert told(watch) == [("diverged", "")]
