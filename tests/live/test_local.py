"""What counts as this machine, by the address that is meant and not by how it begins."""

import pytest

from rankloop.live.local import is_local, is_own_origin


@pytest.mark.parametrize("host", [
    "localhost", "LOCALHOST:80", "shop.localhost", "a.b.localhost:8080", "127.0.0.1", "127.0.0.1:8080", "127.1.2.3",
    "::1", "[::1]", "[::1]:8080", "localhost:",
])  # fmt: skip
def test_these_are_this_machine(host):
    assert is_local(host)


@pytest.mark.parametrize("host", [
    "", "[", "]", "[]", ":", ":80", "[::1", "::1]", "[localhost]", "0.0.0.0", "[::]", "192.168.1.5", "rankloop",
    "rankloop:80", "testserver", "127.0.0.1.evil.example", "127.evil.example:80", "localhost.evil.example",
    "evillocalhost", ".localhost", "evil.example:80.localhost", "evil.example/.localhost", "evil@localhost",
    "127.0.0.1:80:90", "127.0.0.1:x", "127.1", "localhost ",
])  # fmt: skip
def test_and_these_are_not(host):
    assert not is_local(host)


def test_a_page_is_of_this_site_if_it_has_its_host():
    assert is_own_origin("http://localhost:8080", "LocalHost:8080")
    assert is_own_origin("https://shop.example", "shop.example")
    for origin in ("null", "", "http://[", "http://localhost:3000", "ftp://localhost:8080", "http://localhost:8080/"):
        assert not is_own_origin(origin, "localhost:8080")
