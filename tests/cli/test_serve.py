"""`rankloop serve`: what it refuses before anything is served, and what its options mean."""

import socket

import pytest

from rankloop.cli import main
from rankloop.cli.app import STORE
from rankloop.live import serving
from rankloop.live.requests import Limits
from rankloop.live.stores import open_store


def test_a_port_in_use_is_told_before_anything_is_served(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as left:
            main(["serve", "log.db", "--port", str(port)])
    assert left.value.code == 2
    assert (
        capsys.readouterr().err.strip()
        == f"rankloop: port {port} is in use by another program; choose another with --port"
    )


def test_options_are_the_limits_of_the_service(rankloop, tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(serving, "serve", lambda store, **options: asked.update(options, store=store))
    words = ("--no-learn", "--max-candidates", "7", "--max-body", "2048", "--rate", "2.5", "--port", "0")
    words += ("--keyless-rate", "1.5", "--keyless-connections", "9", "--max-bodies", "4096")
    assert rankloop("serve", tmp_path / "log.db", *words)[0] == 0
    assert asked["limits"] == Limits(
        candidates=7, body_bytes=2048, bodies_bytes=4096, rate=2.5, keyless_rate=1.5, keyless_connections=9
    )
    assert (asked["learn"], asked["host"], asked["store"]) == (False, "127.0.0.1", str(tmp_path / "log.db"))


def test_without_options_the_limits_are_those_of_a_service_anywhere(rankloop, monkeypatch):
    asked = {}
    monkeypatch.setattr(serving, "serve", lambda store, **options: asked.update(options, store=store))
    assert rankloop("serve")[0] == 0
    assert (asked["limits"], asked["learn"], asked["store"]) == (Limits(), True, STORE)


def test_a_model_whose_plugin_is_missing_is_one_sentence(tmp_path, rankloop):
    path = tmp_path / "shop.db"
    store = open_store(path)
    settings = b'{"name": "shop", "features": ["a"], "seed": 1, "learner": {"learner": "Nearest"}}'
    with store.transaction() as transaction:
        transaction.create_model("shop", settings, 1)
    store.close()
    code, _, said = rankloop("serve", path, "--port", "0")
    assert code == 2
    wanted = "the settings of model 'shop' cannot be read: learner.learner must be one of 'ROLTR'"
    assert wanted in " ".join(said.split())
    assert said.count("\n") <= 4
