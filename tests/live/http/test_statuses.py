"""Every error that is raised has a status, and every status is that of an error that is raised."""

import ast
from pathlib import Path

import rankloop
from rankloop.errors import SettingsError
from rankloop.live.errors import RequestError, StateError, StoreError
from rankloop.live.http.statuses import CODES, STATUSES, code_of, status_of


def raised_codes():
    """The codes of all RequestErrors in the sources, as they are written there."""
    for path in Path(rankloop.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RequestError":
                code = node.args[0]
                if isinstance(code, ast.Constant):
                    yield code.value
    yield from (code_of(error) for error in (StateError("…"), StoreError("…"), SettingsError("…"), KeyError("…")))


def test_the_table_has_every_code_that_is_raised_and_no_other():
    assert set(raised_codes()) == set(STATUSES)
    assert len(STATUSES) == sum(map(len, CODES.values())), "a code has two statuses"


def test_an_error_without_a_code_of_its_own_has_a_status_too():
    assert status_of(RequestError("name_taken", "…")) == 409
    assert status_of(StoreError("…")) == 503
    assert status_of(StateError("…")) == 409
    assert status_of(SettingsError("…")) == 422
    assert status_of(KeyError("…")) == 500
    assert status_of(RequestError("nobody_knows", "…")) == 500
