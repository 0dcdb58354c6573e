"""What is public in a library becomes a document, once, under the name by which people import it."""

import os
import subprocess
import sys

import pytest

from rankloop.web.demo.library import library_digest, read_library

FILES = {
    "plain.py": '''
"""A plain module.  With a second sentence."""
__all__ = ["Box", "f"]
def f(a, b=1, *, c=None) -> int:
    """Add them."""
async def g(): pass
def _hidden(): """Not seen."""
class Box(dict):
    """Holds things."""
    def __init__(self, size, /): """Make it."""
    def __len__(self): return 0
    @property
    def size(self): """How many."""
    @size.setter
    def size(self, value): """Another."""
    @staticmethod
    def of(x, y): """From two."""
    def _inner(self): """Not seen."""
    class Lid:
        """Covers it."""
_shared = Box(1)
make = _shared.of
''',
    "dangerous.py": 'import nothing_like_this\nraise SystemExit("imported")\ndef stop():\n    """Never run."""\n',
    "_private.py": 'def offered():\n    """Lent out."""\n',
    "lender.py": "from _private import offered\nfrom plain import f as borrowed\n",
    "conditional.py": 'try:\n    import x\nexcept ImportError:\n    def either():\n        "Fallback."\n',
    "broken.py": "def f(:\n",
    "strange.py": b"a = \0\n",
    "pack/__init__.py": """
from .inner import *
from .inner import Second as Renamed
__all__ = ['First', 'Lazy', 'Renamed']
""",
    "pack/inner.py": 'class First:\n    def go(self): "Go."\nclass Second: pass\nclass Third: pass\n',
    "pack/lazy.py": "class Lazy: pass\n",
    "pack/tests/__init__.py": "def test_it(): pass\n",
    "pack/_secret.py": "def f(): pass\n",
    "elsewhere.py": "def f(): pass\n",
}


NAMES = ["plain", "dangerous", "_private", "lender", "conditional", "broken", "strange", "pack"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.lstrip("\n").encode())
    return read_library(folder, NAMES)


def test_a_thing_is_one_document_under_its_shortest_public_name(small):
    assert [document.id for document in small.documents] == [
        "conditional", "conditional.either", "dangerous", "dangerous.stop", "lender", "lender.offered",
        "pack", "pack.First", "pack.First.go", "pack.Lazy", "pack.Renamed",
        "pack.inner", "pack.inner.Third", "pack.lazy",
        "plain", "plain.Box", "plain.Box.Lid", "plain.Box.__init__", "plain.Box.of", "plain.Box.size",
        "plain.f", "plain.g", "plain.make",
    ]  # fmt: skip


def test_files_that_are_no_python_are_left_out_and_counted(small):
    assert small.unreadable == 2


def test_a_document_says_what_it_is_how_to_call_it_and_where_it_stands(small):
    known = {document.id: document for document in small.documents}
    f = known["plain.f"]
    assert (f.kind, f.name, f.module, f.signature) == ("function", "f", "plain", "f(a, b=1, *, c=None) -> int")
    assert (f.summary, f.text, f.depth, f.file, f.line) == ("Add them.", "Add them.", 1, "plain.py", 3)
    box = known["plain.Box"]
    assert (box.kind, box.signature, box.summary) == ("class", "Box(size, /)", "Holds things.")
    assert (known["plain.Box.size"].kind, known["plain.Box.size"].text) == ("property", "How many.")
    assert (known["plain.Box.of"].kind, known["plain.Box.of"].signature) == ("method", "of(x, y)")
    assert (known["plain.make"].kind, known["plain.make"].text) == ("function", "From two.")
    assert known["plain"].summary == "A plain module."
    assert known["lender.offered"].file == "_private.py"


@pytest.mark.parametrize(
    ("id", "kind", "signature"),
    [
        ("os.path.join", "function", "join(a, *p)"),
        ("os.getcwd", "function", "getcwd()"),
        ("collections.OrderedDict", "class", "OrderedDict(other=(), /, **kwds)"),
        ("collections.deque", "class", None),
        ("collections.abc.Mapping", "class", None),
        ("asyncio.gather", "function", "gather(*coros_or_futures, return_exceptions=False)"),
        ("concurrent.futures.ThreadPoolExecutor", "class", None),
        ("random.choice", "function", "choice(seq)"),
        ("sqlite3.connect", "function", None),
        ("str.split", "method", "split(sep=None, maxsplit=-1)"),
        ("math.sqrt", "function", "sqrt(x, /)"),
        ("itertools.chain", "class", None),
        ("len", "function", "len(obj, /)"),
        ("json", "module", "json"),
        ("pathlib.PurePath.name", "property", None),
    ],
)
def test_well_known_things_of_the_standard_library_are_there(engine, id, kind, signature):
    found = engine.document(id)
    assert found is not None
    assert found.kind == kind
    assert signature in (None, found.signature)


def test_the_standard_library_has_thousands_of_documents_and_none_is_private(engine):
    documents = list(engine.documents())
    ids = [document.id for document in documents]
    assert len(ids) > 8000
    assert ids == sorted(set(ids))
    parts = {part for id in ids for part in id.split(".")}
    assert not {part for part in parts if part.startswith("_") and not part.endswith("__")}
    assert not {"antigravity", "this", "idlelib", "turtledemo", "lib2to3", "tests", "posixpath", "_io"} & parts
    assert not [document.id for document in documents if " at 0x" in document.signature + document.text]


@pytest.mark.process
@pytest.mark.long
def test_every_process_reads_the_same_documents_and_imports_nothing_that_acts():
    program = """
import hashlib, sys, msgspec
from rankloop.web.demo.library import read_library
library = read_library()
acting = {"antigravity", "this", "readline", "tkinter", "_tkinter", "turtle", "idlelib", "pip"} & set(sys.modules)
print(hashlib.sha256(msgspec.msgpack.encode(library.documents)).hexdigest(), library.unreadable, sorted(acting))
"""
    # Two fresh ones: this process may have imported, and other tests have changed, what the library is made of.
    printed = set()
    for seed in ("12345", "54321"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        printed.add(done.stdout)
    [output] = printed
    assert output.split(maxsplit=2)[1:] == ["0", "[]\n"]


def test_the_digest_changes_with_any_source(tmp_path):
    (tmp_path / "json.py").write_text("a = 1\n")
    first = library_digest(tmp_path)
    assert library_digest(tmp_path) == first
    (tmp_path / "json.py").write_text("a = 11\n")
    assert library_digest(tmp_path) != first
