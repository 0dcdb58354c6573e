"""The engine's order without its score: candidates' places are a feature that nobody sends."""

import base64
import math

import msgspec
import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.live.errors import RequestError
from rankloop.live.events import Impression, Kind, decode
from rankloop.live.exporting import leaving
from rankloop.live.fold import Fold
from rankloop.live.hits import RescoreBody, page_to_rank
from rankloop.live.incoming import INCOMING, places, sent, with_incoming
from rankloop.live.requests import Limits, RankBody, checked_request
from rankloop.live.settings import IncomingOrder, ModelSettings, stored_settings
from rankloop.live.start import settled, starting_point
from rankloop.rankers import MLP

from .diary import FOR_ALL, Diary, page_of
from .in_process import click, rank, running, told, weights

PRICES = [[120.0], [45.0], [60.0]]


def model(**more) -> ModelSettings:
    usual = {"name": "m", "features": ["price"], "start": "incoming", "seed": 1, "guards": FOR_ALL}
    return msgspec.convert(usual | more, ModelSettings)


def test_places_count_as_logarithms():
    assert places(4).tolist() == pytest.approx([-math.log(place) for place in (1, 2, 3, 4)])
    assert str(places(1)[0]) == "0.0"
    assert sent(("a", INCOMING, "b")) == ("a", "b")


@pytest.mark.parametrize("names", [("a", "b"), (INCOMING, "a", "b"), ("a", INCOMING, "b"), ("a", "b", INCOMING)])
def test_the_feature_stands_where_its_name_does(names):
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    whole = with_incoming(X, names)
    for column, name in enumerate(names):
        expected = {"a": X[:, 0], "b": X[:, 1], INCOMING: places(3)}[name]
        assert (whole[:, column] == expected).all()


def test_a_word_is_enough_and_is_kept_whole():
    settings = model()
    assert (settings.names, settings.sent, settings.start) == (("price", INCOMING), ("price",), IncomingOrder())
    assert stored_settings(msgspec.json.encode(settings)) == settings
    assert model(start={"from": "incoming"}) == settings
    assert model(start="zeros", features=["price", INCOMING]).names == settings.names, "with any start, if it is named"
    assert starting_point(settings).weights == [0.0, 1.0]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"features": [INCOMING]}, "must name one that is sent"),
        ({"start": {"from": "incoming", "sample": [[3.0, 1.0]]}}, "name the feature that they are"),
        ({"learner": {"learner": "ROLTR", "ranker": msgspec.to_builtins(MLP(hidden=(2,)))}}, "the weight of one"),
        ({"start": "engine"}, "start"),
    ],
)
def test_what_cannot_be_is_refused(more, why):
    with pytest.raises((SettingsError, msgspec.ValidationError), match=why):
        model(**more)


def requests():
    """The same candidates in all forms in which they can be sent."""
    ids = ["a", "b", "c"]
    rows = [{"id": name, "features": row} for name, row in zip(ids, PRICES, strict=True)]
    named = [{"id": name, "features": {"price": row[0]}} for name, row in zip(ids, PRICES, strict=True)]
    matrix = base64.b64encode(np.array(PRICES, "<f4").tobytes()).decode()
    yield from ({"candidates": rows}, {"candidates": named}, {"ids": ids, "matrix": matrix})


def test_whoever_sends_candidates_sends_no_places():
    for body in requests():
        asked = checked_request(msgspec.convert(body, RankBody), model(), Limits(), b"")
        assert asked.features[:, 0].tolist() == [120.0, 45.0, 60.0]
        assert asked.features[:, 1].tolist() == places(3).astype(np.float32).tolist()
    hits = [{"_id": name, "_source": {"price": row[0]}} for name, row in zip("abc", PRICES, strict=True)]
    _, body = page_to_rank(msgspec.convert({"hits": hits}, RescoreBody), model())
    assert checked_request(body, model(), Limits(), b"").features[:, 1].tolist() == asked.features[:, 1].tolist()


@pytest.mark.parametrize(
    ("features", "why"),
    [
        ([1.0, 0.0], "this model has 1 features; got 2"),
        ({"price": 1.0, INCOMING: 0.0}, f"{INCOMING!r} is computed from the order"),
    ],
)
def test_places_that_are_sent_are_refused(features, why):
    body = msgspec.convert({"candidates": [{"id": "a", "features": features}]}, RankBody)
    with pytest.raises(RequestError, match=why):
        checked_request(body, model(), Limits(), b"")


def test_the_first_page_is_the_engines_and_a_softmax_keeps_its_first():
    diary = Diary(model(page_size=5))
    X = with_incoming(np.random.default_rng(3).normal(size=(40, 1)), diary.settings.names)
    assert page_of(diary.show(X)).page == [0, 1, 2, 3, 4]
    settings = settled(model(learner=msgspec.to_builtins(ROLTR()), scaling="query", page_size=5))
    report = starting_point(settings)
    scaled = 1.0 + places(100) / math.log(100.0)
    kept = 1.0 / np.exp((scaled - 1.0) / settings.learner.temperature).sum()
    assert report.weights == pytest.approx([0.0, 1.0])
    assert (report.keeps_first, kept) == pytest.approx((0.9, 0.9), abs=1e-6)
    assert "100 candidates a query" in report.assumes


@pytest.mark.thorough
def test_what_the_order_is_worth_is_learned_as_any_weight():
    """People want what is cheap, and the engine's order is chance: its weight, about ½ at first, wears off."""
    rng, diary = np.random.default_rng(5), Diary(model(page_size=5))
    for _ in range(300):
        X = with_incoming(rng.normal(size=(20, 1)), diary.settings.names)
        shown = diary.show(X, client=rng.bytes(8))
        prices = X[page_of(shown).page, 0]
        diary.close(shown, (rng.random(5) < 0.6 / (1.0 + np.exp(2.0 * prices))).astype(float).tolist())
    price, order = diary.fold.ranker.weights
    # Pages show what is cheap, which nearly everybody clicks who looks, so the price's own weight stays moderate.
    assert price < -0.1
    assert abs(order) < 0.05


def test_an_export_says_that_the_engine_must_provide_it():
    diary = Diary(model())
    pages = [page_of(diary.show(with_incoming(np.array(PRICES), diary.settings.names)))]
    left = leaving(diary.settings, diary.fold.view(), pages, "onnx")
    assert left.model.feature_names == ("price", INCOMING)
    assert "place in the engine's order" in str(left)
    assert "must provide it" in str(left)


def test_the_same_bits_on_both_stores_after_a_restart_and_folded_again(address):
    settings = model(page_size=2)

    async def learn() -> np.ndarray:
        async with running(address, settings) as service:
            for visitor in range(12):
                page = await rank(service, np.array(PRICES), client=f"visitor {visitor}")
                clicked = await click(service, page.impression, ["d1"] if "d1" in page.ranking else [], close=True)
                assert clicked.closed
            await service.registry.get("m").applied(service.store.last_offset())
            return weights(service).copy()

    async def look() -> tuple[np.ndarray, Fold, list[Impression]]:
        async with running(address, settings) as service:
            anew, pages = Fold(settings), []
            for event in service.store.events(0, 1_000, kinds=(Kind.CLOSED,)):
                shown = service.store.event(decode(event.kind, event.body).shown)
                anew.apply(event, shown)
                pages.append(page_of(shown))
            return weights(service).copy(), anew, pages

    learned = told(learn())
    kept, anew, pages = told(look())
    assert anew.fates["learned"] == 12
    assert learned.tobytes() == kept.tobytes() == anew.ranker.weights.tobytes()
    assert all((page.matrix("float32")[:, 1] == places(3).astype(np.float32)).all() for page in pages)
