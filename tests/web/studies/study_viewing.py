"""Small studies that are really run, made to look half-finished, and shown by a viewer of their own."""

import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE, wait_until
from tests.preloaded import Started

from rankloop.cli.run import run

HOSTILE = '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">{{ 7*7 }} & "q" \\'
FOLDER = '<b onclick="x">bold & "co"'
SMALL = """\
name = {name!r}
title = {title!r}
question = {question!r}
claims = true
impressions = 200
repeats = 3
evaluate_every = 50
users = ["perfect", "noisy"]
collections = [{{ data = "tiny", label = {label!r} }}]
[[grids]]
name = {grid!r}
learners = [
  {{ learner = "ROLTR" }},
  {{ learner = "PDGD", label = {label!r} }},
]
"""


def run_study(folder: Path, *, name="small", title="A small study", question="Does it learn?", label="PDGD", grid="g"):
    """Run a study of twelve runs into a folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{folder.name[:10]}.toml"
    words = {"name": name, "title": title, "question": question, "label": label, "grid": grid}
    file.write_text(SMALL.format_map({key: Literal(value) for key, value in words.items()}), encoding="utf-8")
    run(str(file), workers=1, out=folder)
    file.unlink()
    return folder


class Literal(str):
    """A string that prints itself as TOML."""

    def __repr__(self):
        return '"' + self.replace("\\", "\\\\").replace('"', '\\"') + '"'


def half_way(folder: Path) -> list[tuple[Path, bytes]]:
    """Make a finished study one that is running: half of its runs, no summary. The other half, to be given back."""
    for name in ("results.parquet", "curves.parquet", "report.html", "report.md", "tables.tex"):
        (folder / name).unlink()
    shutil.rmtree(folder / "figures")
    runs = sorted((folder / "runs").iterdir())
    taken = [(path, path.read_bytes()) for path in runs[::2]]
    for path, _ in taken:
        path.unlink()
    return taken


@contextmanager
def viewer(root: Path):
    """`rankloop report ROOT --serve` in a process of its own; its address."""
    with tempfile.TemporaryDirectory(prefix="rankloop-said-") as folder:
        said = Path(folder) / "errors"
        words = ("report", str(root.absolute()), "--serve", "--port", "0", "--no-browser")
        process = Started(words, Path(folder), Path(folder) / "output", said)

        def address():
            found = re.search(r"http://127\.0\.0\.1:\d+", said.read_text() if said.exists() else "")
            assert found or process.poll() is None, said.read_text()
            return found and found[0]

        try:
            yield wait_until(address, "the viewer says where it is")
        finally:
            process.terminate()
            process.wait(PATIENCE)
