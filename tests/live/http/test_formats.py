"""The same request in JSON, as a base64 matrix, and as MessagePack gives the same answer, to the bit."""

import base64

import msgspec
import numpy as np
import pytest

from rankloop.live.service import Clicked, Ranked

from .running import MSGPACK

pytestmark = pytest.mark.xdist_group("live-http-exports")

X = np.array([[0.1, 2.0], [1 / 3, -1.0], [7e-9, 5.0], [1e6, 0.0]], np.float32)
IDS = ["a", "b", "c", "d"]


def bodies():
    """One request in every form there is: (form, body, whether it is packed)."""
    rows = X.astype(float).tolist()
    named = [dict(zip(["engine", "price"], row, strict=True)) for row in rows]
    block = X.astype("<f4").tobytes()
    yield "lists", {"candidates": [{"id": i, "features": r} for i, r in zip(IDS, rows, strict=True)]}, False
    yield "names", {"candidates": [{"id": i, "features": r} for i, r in zip(IDS, named, strict=True)]}, False
    yield "base64", {"ids": IDS, "matrix": base64.b64encode(block).decode()}, False
    yield "packed", {"candidates": [{"id": i, "features": r} for i, r in zip(IDS, rows, strict=True)]}, True
    yield "packed matrix", {"ids": IDS, "matrix": block}, True


def test_every_form_of_a_request_gives_the_same_pages_and_the_same_weights(app):
    learned = {}
    for form, body, packed in bodies():
        name = f"form-{form.replace(' ', '-')}"
        app.model(name, ["engine", "price"], page_size=3, scaling="running")
        pages = []
        for _ in range(4):
            more = body | {"query": "q", "client": "c", "pinned": {"d": 2}, "rest": True}
            path = f"/v1/models/{name}/rank"
            answer = app.pack(path, more) if packed else app.post(path, json=more)
            page = decoded(answer, Ranked, packed)
            report = {"impression": page.impression, "clicks": {page.ranking[0]: 0.75}, "close": False}
            answer = app.pack("/v1/clicks", report) if packed else app.post("/v1/clicks", json=report)
            assert decoded(answer, Clicked, packed).accepted == 1
            app.post(f"/v1/impressions/{page.impression}/close", json={"wait": True})
            pages.append((page.ranking, page.rest, page.group, page.version))
        learned[form] = pages, app.get(f"/v1/models/{name}").json()["weights"]
    assert any(learned["lists"][1])
    assert all(found == learned["lists"] for found in learned.values())


def decoded(answer, kind, packed):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == (MSGPACK if packed else "application/json")
    decode = msgspec.msgpack.decode if packed else msgspec.json.decode
    return decode(answer.content, type=kind)


@pytest.mark.parametrize("kind", ["application/msgpack", "application/x-msgpack", "application/vnd.msgpack"])
def test_messagepack_has_several_names(app, kind):
    answer = app.pack("/v1/models/shop/rank", {"ids": IDS, "matrix": X.tobytes()}, headers={"content-type": kind})
    assert (answer.status_code, answer.headers["content-type"]) == (200, MSGPACK)


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=1"])
def test_json_may_say_more_about_itself(app, kind):
    answer = app.post("/v1/clicks", content=b'{"reports": []}', headers={"content-type": kind})
    assert (answer.status_code, answer.json()) == (200, {"results": []})


def test_errors_are_json_whatever_was_spoken(app):
    answer = app.pack("/v1/models/shop/rank", {"ids": ["a"]})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/shop/snapshots", "/v1/models/shop/snapshots/2"])
def test_what_is_read_can_be_asked_for_in_messagepack_too(app, path):
    plain = app.get(path).json()
    packed = msgspec.msgpack.decode(app.get(path, headers={"content-type": MSGPACK}).content)
    if "state" in packed:
        packed["state"] = base64.b64encode(packed["state"]).decode()
    assert packed == plain
