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
    images = {}
    for figure in wanted:
        path = file_of(folder, figure.path)
        is_new = path and written and path.stat().st_mtime_ns >= written.stat().st_mtime_ns
        images[figure.name] = Drawn(path.read_bytes() if path and is_new else figure.svg().encode(), ".svg")
    return images
