"""`rankloop demo`: what it says when the first page is there, and when it does not come."""

import pytest

from rankloop.cli import demo as module
from rankloop.web.demo import engine, serving


@pytest.fixture
def demo(rankloop, monkeypatch):
    """The command, with a demo that is ready at once, or never; and the addresses that a browser opened."""
    opened = []
    monkeypatch.setattr(engine, "Engine", lambda: "the library")
    monkeypatch.setattr(module, "open_browser", opened.append)

    def run(*words, answers=True):
        def run_demo(engine, store, port, seed, *, ready, say):
            assert engine == "the library"
            ready(f"http://127.0.0.1:{port}/demo", answers)

        monkeypatch.setattr(serving, "run_demo", run_demo)
        return *rankloop("demo", *words), opened

    return run


def test_when_the_page_is_there_its_address_is_told_and_opened(demo):
    code, out, _, opened = demo("--port", "0")
    assert code == 0
    [address] = opened
    assert f"The demo is at {address} (Ctrl-C stops it)" in out
    assert ":0/" not in address


def test_nothing_is_opened_unasked_or_where_no_page_came(demo):
    assert demo("--port", "0", "--no-browser")[3] == []
    code, out, said, opened = demo("--port", "0", answers=False)
    assert (code, out, opened) == (0, "", [])
    assert "did not come within" in said


def test_a_seed_that_is_none_is_refused_before_anything_is_read(rankloop):
    code, _, said = rankloop("demo", "--seed", "-1")
    assert code == 2
    assert "seed" in said
