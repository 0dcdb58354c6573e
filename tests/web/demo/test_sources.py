"""A module is told from its source alone, whatever it would do when it runs."""

import pytest

from rankloop.web.demo.sources import PassedOn, read_source


@pytest.fixture
def read(tmp_path):
    def read(text, name="pack.mod", file="mod.py"):
        (tmp_path / file).write_text(text)
        return read_source(tmp_path / file, name)

    return read


def test_reading_runs_nothing(read):
    source = read('"""Danger."""\nraise SystemExit\ndef f(): pass\n')
    assert (source.text, source.own_names) == ("Danger.", ["f"])


def test_what_stands_under_if_try_and_with_counts_and_the_documented_one_wins(read):
    source = read(
        "if x:\n    def f(a): pass\nelse:\n    def f(b):\n        'Do it.'\n"
        "try:\n    def g(): pass\nexcept OSError:\n    def h(): pass\nwith y:\n    def i(): pass\n"
    )
    assert source.own_names == ["f", "g", "h", "i"]
    assert (source.definitions["f"].signature, source.definitions["f"].text) == ("f(b)", "Do it.")


def test_members_are_called_without_self_and_private_ones_are_not_there(read):
    source = read(
        "class Box(dict):\n    def __init__(self, size, /): 'Make.'\n    def _inner(self): pass\n"
        "    @property\n    def full(self): pass\n    @staticmethod\n    def of(x, y): pass\n"
        "    @classmethod\n    async def new(cls, *, n=1) -> int: pass\n    def __len__(self): pass\n"
    )
    shown = {name: (one.kind, one.signature) for name, one in source.definitions.items()}
    assert shown == {
        "Box": ("class", "Box(size, /)"),
        "Box.__init__": ("method", "__init__(size, /)"),
        "Box.full": ("property", "full()"),
        "Box.of": ("method", "of(x, y)"),
        "Box.new": ("method", "new(*, n=1) -> int"),
    }


def test_methods_of_a_shared_instance_are_functions(read):
    source = read("class Random:\n    def choice(self, seq): 'Pick.'\n_inst = Random()\nchoice = _inst.choice\n")
    assert (source.definitions["choice"].kind, source.definitions["choice"].signature) == ("function", "choice(seq)")


@pytest.mark.parametrize(
    ("file", "line", "passed_on"),
    [
        ("mod.py", "from .inner import a as b", PassedOn("pack.inner", "a", "b")),
        ("mod.py", "from . import a", PassedOn("pack", "a", "a")),
        ("__init__.py", "from .inner import *", PassedOn("pack.mod.inner", "*", "*")),
        ("mod.py", "from os.path import join", PassedOn("os.path", "join", "join")),
    ],
)
def test_imports_are_resolved_from_where_the_file_lies(read, file, line, passed_on):
    assert read(line + "\n", file=file).passed_on == [passed_on]


@pytest.mark.parametrize(
    ("text", "exports"),
    [
        ("x = 1", None),
        ("__all__ = ['a']\n__all__ += ('b',)\n__all__.append('c')\n__all__.extend(['d'])", {"a", "b", "c", "d"}),
        ("__all__ = [n for n in dir()]", None),
        ("__all__ = []", set()),
    ],
)
def test_exports_are_known_where_they_are_plain_lists(read, text, exports):
    assert read(text + "\n").exports == exports
