"""A large body means what a small one does, is refused in the same words, and becomes no more than memory holds."""

import json

import msgspec
import numpy as np
import pytest

from rankloop.live.errors import RequestError
from rankloop.live.http import large
from rankloop.live.http.bodies import SMALL
from rankloop.live.http.calls import JSON, MSGPACK, decoded
from rankloop.live.http.large import decoded_large
from rankloop.live.requests import ClicksBody, Limits, RankBody, checked_request
from rankloop.live.settings import ModelSettings, NewModelSettings
from rankloop.ubi import UbiQuery

LIMITS = Limits(candidates=2_000)
SHOP = ModelSettings(name="shop", features=3, seed=1)
PACK = {JSON: msgspec.json.encode, MSGPACK: msgspec.msgpack.encode}

both = pytest.mark.parametrize("media_type", [JSON, MSGPACK])


def page(count=2_000, **more):
    rows = np.random.default_rng(1).random((count, 3)).tolist()
    return {"query": "q", "client": "c", "candidates": [
        {"id": f"d{i}", "features": row if i % 2 else dict(zip(SHOP.names, row, strict=True))}
        for i, row in enumerate(rows)
    ], "pinned": {"d1": 1}, "rest": True} | more  # fmt: skip


@both
def test_a_page_is_what_it_is_when_decoded_whole(media_type):
    body = PACK[media_type](page())
    assert len(body) > SMALL
    whole, apart = decoded(RankBody, body, media_type), decoded_large(RankBody, body, media_type, LIMITS)
    assert (apart.query, apart.client, apart.pinned, apart.rest, apart.size) == ("q", "c", {"d1": 1}, True, None)
    one, other = (checked_request(read, SHOP, LIMITS, b"") for read in (whole, apart))
    assert one.candidates == other.candidates
    assert one.features.tobytes() == other.features.tobytes()


@both
def test_a_matrix_is_what_it_is_too(media_type):
    matrix = np.random.default_rng(1).random((2_000, 3), dtype=np.float32).tobytes()
    given = RankBody(ids=[f"d{i}" for i in range(2_000)], matrix=matrix)
    read = decoded_large(RankBody, PACK[media_type](given), media_type, LIMITS)
    assert (read.ids, bytes(read.matrix), read.candidates) == (given.ids, matrix, None)


@both
@pytest.mark.parametrize(("change", "sentence"), [
    ({"candidates": [{"id": "a", "features": [1.0, "x"]}]}, r"candidate 'a': features\[1\] must be a number; got text"),
    ({"candidates": [{"id": "a", "features": 1}]}, r"'a': features must be an object or a list; got a whole number"),
    ({"candidates": [{"id": "", "features": []}]}, r"candidates\[0\].id must be text, not empty"),
    ({"candidates": [{"id": "a"}]}, r"candidates\[0\]: `features` is missing"),
    ({"candidates": [{"id": "a", "features": [], "x": 1}]}, r"candidates\[0\]: unknown field `x`; use id, features"),
    ({"sise": 3}, r"unknown field `sise`; use query, client, network, candidates"),
    ({"candidates": [{"id": "a", "features": [0] * 10_001}]}, r"features must be a list, at most 10,000 items"),
])  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(media_type, change, sentence):
    body = PACK[media_type](page() | change)
    with pytest.raises(RequestError, match=sentence):
        decoded_large(RankBody, body, media_type, LIMITS)


@both
def test_more_candidates_than_are_ranked_are_not_decoded(media_type):
    many = {"candidates": [{"id": "a", "features": []}] * 100_000}
    with pytest.raises(RequestError, match=r"at most 2,000 are ranked at once; got 100,000|at most 2,000 items"):
        decoded_large(RankBody, PACK[media_type](many), media_type, LIMITS)
    with pytest.raises(RequestError, match=r"at most 2,000|a list, at most 2,000 items"):
        decoded_large(RankBody, PACK[media_type]({"ids": ["ab"] * 100_000}), media_type, LIMITS)


def test_megabytes_of_integers_are_refused_before_they_are_objects(monkeypatch):
    """16 MB of them used to block everybody for two seconds, and to take 1.5 GB."""
    monkeypatch.setattr(large, "VALUES", 50_000)
    packed = msgspec.msgpack.encode({"candidates": [{"id": str(i), "features": [1] * 10_000} for i in range(100)]})
    with pytest.raises(RequestError, match="at most 50,000 values one by one; send features as a matrix"):
        decoded_large(RankBody, packed, MSGPACK, LIMITS)
    written = json.dumps({"candidates": [1] * 60_000}).encode()
    with pytest.raises(RequestError, match="at most 50,000 values"):
        decoded_large(RankBody, written, JSON, LIMITS)


@both
def test_other_bodies_hold_fewer_values(media_type):
    for kind, body in ((ClicksBody, {"reports": [1] * 300_000}), (list[UbiQuery] | UbiQuery, [{}] * 300_000)):
        with pytest.raises(RequestError, match="at most 200,000 values one by one; send them in several requests"):
            decoded_large(kind, PACK[media_type](body), media_type, LIMITS)


def test_what_may_be_large_is_a_page_or_a_model():
    assert large.most_bytes(RankBody, Limits()) == large.most_bytes(NewModelSettings, Limits()) == 16 << 20
    assert large.most_bytes(ClicksBody, Limits()) == large.most_bytes(None, Limits()) == 4 << 20
    assert large.most_bytes(ClicksBody, Limits(body_bytes=1024)) == 1024


def test_a_large_page_is_ranked_as_a_small_one_is(app):
    rows = {f"d{i:05}": [float(i), 1.0] for i in range(5_000)}
    page = app.rank("shop", rows)
    assert len(page["ranking"]) == 3
    told = app.post("/v1/models/shop/rank", json={"candidates": [
        {"id": f"d{i:05}", "features": [1.0, 2.0, 3.0] if i == 4_000 else [1.0, 2.0]} for i in range(5_000)
    ]})  # fmt: skip
    assert told.status_code == 422
    assert "candidate 'd04000': this model has 2 features; got 3" in told.json()["error"]["message"]
