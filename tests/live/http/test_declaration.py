"""What an endpoint declares is what is read and refused."""

import re

import pytest

from rankloop.live.errors import RequestError
from rankloop.live.http.app import ENDPOINTS
from rankloop.live.http.declaration import NUMBER, Endpoint, Parameter
from rankloop.live.http.statuses import STATUSES

LIMIT = Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 10, "default": 3})
DRY = Parameter("dry", {"type": "boolean", "default": False})
FORM = Parameter("form", {"type": "string", "enum": ["json", "onnx"]})
WHEN = Parameter("when", NUMBER, required=True)


@pytest.mark.parametrize(("parameter", "text", "value"), [
    (LIMIT, None, 3), (LIMIT, "1", 1), (LIMIT, "010", 10), (DRY, None, False), (DRY, "true", True),
    (DRY, "false", False), (FORM, None, None), (FORM, "onnx", "onnx"), (WHEN, str(2**53), 2**53),
])  # fmt: skip
def test_a_value_is_read_as_declared(parameter, text, value):
    assert parameter.read(text) == value


@pytest.mark.parametrize(("parameter", "text", "sentence"), [
    (LIMIT, "0", "limit must be a whole number from 1 to 10; got '0'"),
    (LIMIT, "11", "limit must be a whole number from 1 to 10"),
    (LIMIT, "٣", "limit must be a whole number"),
    (LIMIT, "+3", "limit must be a whole number"),
    (LIMIT, "9" * 5000, "got '" + "9" * 40 + "'"),
    (DRY, "True", "dry must be true or false; got 'True'"),
    (FORM, "xml", "form must be one of json, onnx; got 'xml'"),
    (WHEN, None, "when is missing; send ?when=…"),
])  # fmt: skip
def test_what_is_not_as_declared_is_refused_with_what_would_be(parameter, text, sentence):
    with pytest.raises(RequestError, match=re.escape(sentence)) as caught:
        parameter.read(text)
    assert caught.value.code == "invalid_request"


def test_an_endpoint_takes_the_parameters_that_it_declares_each_once_and_no_others():
    listed = Endpoint("GET", "/v1/models/{model}/x", "admin", dict, query=(LIMIT, DRY))
    assert listed.values({"model": "shop"}, [("limit", "2")]) == {"model": "shop", "limit": 2, "dry": False}
    for name in ("dryrun", "model"):
        with pytest.raises(RequestError, match=f"there is no parameter '{name}' here, only limit, dry"):
            listed.values({"model": "shop"}, [(name, "x")])
    with pytest.raises(RequestError, match="dry is given more than once; send it once"):
        listed.values({"model": "shop"}, [("dry", "true"), ("dry", "false")])
    with pytest.raises(RequestError, match="there is no parameter 'x' here, nor any other"):
        Endpoint("GET", "/v1/models/{model}", "admin", dict).values({"model": "m"}, [("x", "1")])


def test_what_everybody_may_ask_ignores_what_probes_append():
    assert Endpoint("GET", "/healthz", None, dict).values({}, [("x", "1"), ("x", "2")]) == {}


def test_every_code_that_is_declared_has_a_status():
    assert not {code for endpoint in ENDPOINTS for code in endpoint.refuses} - set(STATUSES)
    assert len({endpoint.name for endpoint in ENDPOINTS}) == len(ENDPOINTS)
