"""`rankloop serve`: what it refuses before anything is served, and what its options mean."""

import socket

import pytest

from rankloop.cli import main


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
