"""The pictures of a report: those that lie beside it, or drawn in memory while a study has none that are up to date."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rankloop.studies import figures
from rankloop.studies.blocks import Block, Picture
from rankloop.web.studies.folders import file_of


class Drawn(NamedTuple):
    """A picture, and what it is: `.svg` or `.png`."""

    content: bytes
    suffix: str


def kept(folder: Path, blocks: Sequence[Block]) -> dict[str, Drawn]:
    """The pictures that a report shows and that lie beside it."""
    images = {}
    for block in blocks:
        if isinstance(block, Picture):
            path = file_of(folder, f"figures/{block.name}.svg") or file_of(folder, f"figures/{block.name}.png")
            if path is not None:
                images[block.name] = Drawn(path.read_bytes(), path.suffix)
    return images


def drawn(folder: Path, wanted: Sequence[figures.Figure], written: Path | None) -> dict[str, Drawn]:
    """The pictures of results; a file is taken only if it is newer than the results that were `written`."""
    return {one.name: _drawn(folder, one, written) for one in wanted}


def _drawn(folder: Path, figure: figures.Figure, written: Path | None) -> Drawn:
    path = file_of(folder, figure.path)
    if path is not None and written is not None and path.stat().st_mtime_ns >= written.stat().st_mtime_ns:
        return Drawn(path.read_bytes(), ".svg")
    return Drawn(figure.svg().encode(), ".svg")
