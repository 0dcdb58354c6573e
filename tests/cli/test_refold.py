"""`rankloop log refold` as people type it: how much would change is said before anything does."""

import json
import re

import pytest

from rankloop.cli import refold as command
from rankloop.learners import Posterior
from rankloop.logs.trimming import compact

from ..logs.writing import DAY, Log, blob, change, model_settings


@pytest.fixture
def erased(store, address, rankloop):
    log = Log.filled(store, impressions=40)
    rankloop("log", "erase", address, "--client", "ann")
    return log


def test_what_would_change_is_shown_and_nothing_served_without_agreement(erased, store, address, rankloop):
    before = store.last_offset()
    code, out, _ = rankloop("log", "verify", address)
    assert code == 0
    assert "what was erased may still be in the weights of shop" in out
    code, out, _ = rankloop("log", "refold", address, "--model", "shop")
    assert code == 1
    assert "nothing is wrong" in out
    assert re.search(r"its weights would move by \S+, \S+% of their length, cosine", out)
    assert re.search(r"\n(Hardly anything|Some pages|Much) changes?; .*clicks per page.*\.\n", out)
    assert "logged pages: the first result stays on" in out
    assert "Kendall's τ" in out
    assert "clicks per page, estimated on" in out
    assert "nothing was changed" in out
    assert store.last_offset() == before
    code, out, _ = rankloop("log", "refold", address, "--model", "shop", "--json")
    found = json.loads(out)
    assert (code, found["refolded"], found["verified"]["problems"]) == (1, None, [])
    assert found["difference"]["orders"]["pages"] == 9


def test_how_many_pages_count_as_in_another_order_is_said(store, address, rankloop):
    Log.filled(store, model_settings(learner=Posterior(), scaling="robust"), impressions=40)
    _, out, _ = rankloop("log", "refold", address, "--model", "shop")
    assert "another order" not in out
    rankloop("log", "erase", address, "--client", "ann")
    _, out, _ = rankloop("log", "refold", address, "--model", "shop", "--json", "--yes")
    redrawn = json.loads(out)["refolded"]["redrawn"]
    assert redrawn > 0
    _, out, _ = rankloop("log", "refold", address, "--model", "shop")
    assert f"{redrawn} of them would have had another order without what was erased; their documents count as" in out


def test_that_new_weights_may_still_reflect_what_was_erased_is_said_before_and_after(store, address, rankloop):
    log = Log.filled(store, impressions=40)
    compact(address, 0.0, log.at + DAY)
    log.visit(10)
    log.snapshot()
    _, out, _ = rankloop("log", "refold", address, "--model", "shop")
    assert "what was erased" not in out
    rankloop("log", "erase", address, "--client", "ann")
    code, out, _ = rankloop("log", "refold", address, "--model", "shop")
    assert code == 1
    assert "go on from a state that may have learned from what was erased" in out
    code, out, _ = rankloop("log", "refold", address, "--model", "shop", "--forget", "--yes")
    assert code == 0
    assert "they may still reflect what was erased; only a new model certainly does not" in out
    assert "what was erased may still be in the weights of shop" in rankloop("log", "verify", address)[1]


def test_with_agreement_it_is_served_and_older_states_go_when_that_is_agreed_too(erased, store, address, rankloop):
    code, out, _ = rankloop("log", "refold", address, "--model", "shop", "--yes")
    assert code == 0
    assert "shop goes on from them" in out
    assert "4 snapshots that may have learned from what was erased are kept" in out
    code, out, _ = rankloop("log", "refold", address, "--model", "shop", "--forget")
    assert code == 0
    assert "the weights equal those being served, bit for bit" in out
    assert "4 snapshots, damaged or with the old weights, were forgotten" in out
    assert "may still be in" not in rankloop("log", "verify", address)[1]


def test_a_state_that_cannot_be_read_is_not_said_to_be_served(store, address, rankloop):
    Log.filled(store, impressions=40)
    change(store, "UPDATE snapshots SET state = " + blob(store, b"\xc1"))
    code, out, _ = rankloop("log", "refold", address, "--model", "shop")
    assert code == 0
    assert "the kept state cannot be read" in out
    assert "bit for bit" not in out
    assert "shop goes on from them" in out


@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_somebody_is_asked(erased, store, address, rankloop, monkeypatch, answer):
    asked = []
    monkeypatch.setattr(command, "_at_a_terminal", lambda: True)
    monkeypatch.setattr(command.typer, "confirm", lambda question: asked.append(question) or answer)
    before = store.last_offset()
    code, _, _ = rankloop("log", "refold", address, "--model", "shop")
    assert asked == ["serve the new weights?"]
    assert code == (0 if answer else 1)
    assert store.last_offset() == before + answer
