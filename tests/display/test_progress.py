"""A bar where somebody looks, lines where they are asked for, and silence elsewhere."""

import ast
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import rankloop
from rankloop.display import progress
from rankloop.display.progress import progress_bar


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nobody waits for a bar to appear, and every update is shown."""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN", 0.0)


def go(shown):
    with progress_bar("simulating", shown) as update:
        for done in range(41):
            update(done / 40, f"{done} of 40 runs")


def test_piped_output_has_a_line_for_each_tenth_if_asked(capsys):
    go(None)
    assert capsys.readouterr().err == ""
    go(True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("simulating: 100 %, 40 of 40 runs")
    assert "to go" in lines[0]


def test_a_terminal_shows_a_bar_that_is_gone_afterwards(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    go(None)
    assert "simulating" in terminal.getvalue()
    shown = len(terminal.getvalue())
    go(False)
    assert len(terminal.getvalue()) == shown


def test_a_notebook_shows_one_line_that_is_replaced(monkeypatch):
    shown = []

    class Handle:
        def update(self, content, raw):
            shown.append(content["text/html"])

    def display(content, raw, display_id):
        shown.append(content["text/html"])
        return Handle()

    monkeypatch.setattr(progress, "notebook_display", lambda: display)
    go(None)
    assert len(shown) == 42
    assert '<progress value="0.5000"' in shown[20]
    assert shown[-1] == ""
    assert not any("<script" in one for one in shown)


def test_a_notebook_is_known_by_its_kernel(monkeypatch):
    assert progress.notebook_display() is None
    fake = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", fake)
    assert progress.notebook_display() is None
    said = SimpleNamespace(display=print)
    fake.get_ipython = lambda: SimpleNamespace(kernel=1)
    monkeypatch.setattr(progress, "import_module", lambda name: said)
    assert progress.notebook_display() is print


def test_what_is_quick_shows_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE", 1e9)
    go(True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("terminal", "said"), [(True, "rankloop: compiling\n"), (False, "")])
def test_why_it_waits_is_said_at_a_terminal_only(monkeypatch, terminal, said):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stream)
    progress.say_why_it_waits("compiling")
    assert stream.getvalue() == said


@pytest.mark.thorough
def test_domain_code_prints_nothing():
    """Commands print, and what is shown of a long computation is shown here."""
    sources = Path(rankloop.__file__).parent
    printing = {
        path.relative_to(sources).parts[0]
        for path in sources.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }
    assert printing <= {"cli", "display"}
