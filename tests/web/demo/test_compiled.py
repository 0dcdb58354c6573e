"""What is written in C is asked directly; what acts when it is imported is not."""

import sys
import types

import pytest

from rankloop.web.demo.compiled import NEVER_IMPORTED, documents_of, documents_of_module, import_compiled


def test_only_modules_written_in_c_are_imported():
    assert import_compiled("math").__name__ == "math"
    assert import_compiled("sys") is sys
    for name in ("json", "this", "no_such_module_anywhere", ".relative"):
        assert import_compiled(name) is None
    assert "this" not in sys.modules


@pytest.mark.parametrize("name", sorted(NEVER_IMPORTED))
def test_what_acts_when_it_is_imported_is_left_alone(name):
    before = name in sys.modules
    assert import_compiled(name) is None
    assert (name in sys.modules) == before


def test_builtins_go_by_their_own_name_and_bring_their_methods():
    found = {one.id: one for one in documents_of(str, "builtins", "str")}
    assert found["str"].kind == "class"
    assert (found["str.split"].kind, found["str.split"].signature) == ("method", "split(sep=None, maxsplit=-1)")
    assert not [id for id in found if "__" in id]
    assert {one.kind for one in documents_of(complex, "builtins", "complex") if one.id.endswith(".real")} == {
        "property"
    }


def test_data_and_functions_of_python_are_no_documents():
    assert list(documents_of(3.14, "math", "pi")) == []
    assert list(documents_of(lambda: None, "sys", "excepthook")) == []


def test_a_replaced_hook_is_described_by_the_librarys_own():
    module = types.ModuleType("made", "Made up. For a test.")
    module.__len__, module.len, module._hidden = len, lambda: None, len
    found = {one.id: one for one in documents_of_module(module)}
    assert set(found) == {"made", "made.len"}
    assert found["made"].summary == "Made up."
    assert found["made.len"].text == len.__doc__
