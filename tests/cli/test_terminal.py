"""What people see in a terminal, and what a program that reads it sees."""

import io
import json
import webbrowser

import pytest
from rich.console import Console

from rankloop.cli import terminal


@pytest.fixture
def piped(monkeypatch):
    """Standard error as a file."""
    written = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=written, highlight=False, width=200))
    return written


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser was asked to open."""
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.setattr(terminal.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return addresses


def test_steps_are_told_by_tenths_when_piped(piped):
    with terminal.progress_in_steps("measuring", 20) as advance:
        for step in range(20):
            advance(f"part {step}")
    lines = piped.getvalue().splitlines()
    assert lines[0] == "measuring: 20 to do"
    assert len(lines) == 11
    assert lines[-1] == "measuring: 20 of 20 done (part 19)"


def test_who_does_not_wait_long_hears_nothing(piped, monkeypatch):
    monkeypatch.setattr(terminal.time, "monotonic", lambda: 0.0)
    with terminal.progress_after_a_while("verifying") as update:
        update(1, 2)
    assert piped.getvalue() == ""


def test_who_waits_hears_a_line_every_ten_seconds(piped, monkeypatch):
    clock = iter([0.0, 3.0, 3.0, 5.0, 14.0, 14.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    with terminal.progress_after_a_while("verifying") as update:
        for done in (1_000, 2_000, 3_000):
            update(done, 4_000)
    assert piped.getvalue().splitlines() == ["verifying: 1,000 of 4,000", "verifying: 3,000 of 4,000"]


def test_json_alone_is_on_standard_output(piped, monkeypatch, capsys):
    monkeypatch.setattr(terminal.time, "monotonic", iter(range(0, 900, 30)).__next__)
    with terminal.progress_after_a_while("verifying", shown=False) as update:
        update(1, 2)
    terminal.print_json({"clicks": 3})
    assert json.loads(capsys.readouterr().out) == {"clicks": 3}
    assert piped.getvalue() == ""


def test_no_number_of_a_wide_table_is_cut():
    written = io.StringIO()
    narrow = Console(file=written, width=20, highlight=False, soft_wrap=True)
    made = terminal.table("name", "a long heading", "another long heading")
    made.add_row("a model with a long name", "1,234,567,890.123", "0.000000001")
    terminal.print_table(made, narrow)
    assert "1,234,567,890.123" in written.getvalue()
    assert "0.000000001" in written.getvalue()


def test_a_browser_is_opened_where_there_is_a_screen(opened, monkeypatch):
    terminal.open_browser("http://127.0.0.1:1")
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    terminal.open_browser("http://127.0.0.1:1")
    assert opened == ["http://127.0.0.1:1"]
