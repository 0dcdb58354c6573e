"""The pictures of a report: those that lie beside it, or drawn in memory while a study has none that are up to date."""

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rankloop.studies import figures
from rankloop.studies.blocks import Block, Picture
from rankloop.web.studies.folders import file_of

_DRAWN_WIDTH = 1000
"""Pixels, where a picture does not say."""


class Drawn(NamedTuple):
    """A picture with its size in pixels, which keeps its place on the page before it is loaded."""

    content: bytes
    suffix: str
    width: int
    height: int


def kept(folder: Path, blocks: Sequence[Block]) -> dict[str, Drawn]:
    """The pictures that a report shows and that lie beside it."""
    found = {}
    for block in blocks:
        if isinstance(block, Picture):
            path = file_of(folder, f"figures/{block.name}.svg") or file_of(folder, f"figures/{block.name}.png")
            if path is not None:
                found[block.name] = _measured(path.read_bytes(), path.suffix)
    return found


def drawn(folder: Path, wanted: Sequence[figures.Figure], written: Path | None) -> dict[str, Drawn]:
    """The pictures of results; a file is taken only if it is newer than the results that were `written`."""
    return {one.name: _drawn(folder, one, written) for one in wanted}


def _drawn(folder: Path, figure: figures.Figure, written: Path | None) -> Drawn:
    path = file_of(folder, figure.path)
    if path is not None and written is not None and path.stat().st_mtime_ns >= written.stat().st_mtime_ns:
        return _measured(path.read_bytes(), ".svg")
    return _measured(figure.svg().encode(), ".svg")


def _measured(content: bytes, suffix: str) -> Drawn:
    width, height = _size_of_png(content) if suffix == ".png" else _size_of_svg(content)
    return Drawn(content, suffix, width, height)


def _size_of_png(content: bytes) -> tuple[int, int]:
    if len(content) < 24 or content[12:16] != b"IHDR":
        return _DRAWN_WIDTH, _DRAWN_WIDTH // 2
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def _size_of_svg(content: bytes) -> tuple[int, int]:
    found = re.search(rb'<svg[^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"', content[:4_000])
    if found is None:
        return _DRAWN_WIDTH, _DRAWN_WIDTH // 2
    return round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)  # points to pixels
