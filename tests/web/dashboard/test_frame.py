"""What pages share: a model's address, and where the service is as a browser has it."""

import types

import pytest
from starlette.requests import Request

from rankloop.web.dashboard.frame import TABS, Frame, place_of


def request(host):
    headers = [(b"host", host.encode())]
    return Request({"type": "http", "scheme": "https", "headers": headers, "path": "/", "query_string": b""})


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("search.example:8080", "https://search.example:8080"),
        ("[::1]:8080", "https://[::1]:8080"),
        ('evil"><script>', "http://localhost:8080"),
        ("", "http://localhost:8080"),
    ],
)
def test_a_command_names_the_service_as_the_browser_does_unless_that_is_no_name(host, address):
    assert Frame.address(None, request(host)) == address


def test_the_first_tab_is_the_models_own_address():
    assert next(iter(TABS)) == ""
    assert place_of(types.SimpleNamespace(settings=types.SimpleNamespace(name="a.b"))) == "/models/a.b"
