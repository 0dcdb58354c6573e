"""The shapes that only HTTP answers with."""

import msgspec
from msgspec.structs import fields

from rankloop.live.descriptions import Model
from rankloop.live.http.answers import Error, ErrorDetail, NewModel, Readiness


def test_a_new_model_is_a_model_and_where_it_begins():
    assert {one.name for one in fields(NewModel)} == {one.name for one in fields(Model)} | {"start"}


def test_everything_that_is_refused_has_one_shape():
    assert msgspec.json.encode(Error(ErrorDetail("busy", "later"))) == b'{"error":{"code":"busy","message":"later"}}'


def test_a_service_is_ready_or_degraded_and_says_what_is_wrong():
    told = {"status": "degraded", "trouble": ["the store"]}
    assert msgspec.to_builtins(msgspec.convert(told, Readiness)) == told
