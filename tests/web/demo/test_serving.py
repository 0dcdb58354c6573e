"""Where the demo listens, and what it leaves behind."""

import socket
from pathlib import Path

import pytest

from rankloop.errors import SettingsError
from rankloop.web.demo import serving


def test_a_port_in_use_is_refused_with_the_way_out():
    with socket.socket() as taken:
        taken.bind((serving.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} is in use by another program"):
            serving.free_port(port)


def test_port_0_becomes_one_that_can_be_listened_on():
    port = serving.free_port(0)
    assert port > 0
    with socket.socket() as free:
        free.bind((serving.HOST, port))


def test_a_log_of_its_own_goes_with_the_demo_and_a_given_one_stays(tmp_path):
    with serving._log(None) as address:
        Path(address).write_text("a log")
    assert not Path(address).parent.exists()
    mine = tmp_path / "mine.db"
    mine.write_text("a log")
    with serving._log(str(mine)) as address:
        assert address == str(mine)
    assert mine.read_text() == "a log"
