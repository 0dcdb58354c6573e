"""The files that pages load, read once: what is not among them does not exist, and nobody's request opens a file."""

import gzip
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
BORROWED = {"blocks.css": "rankloop.studies"}
"""Files that are among another room's assets, because what it writes must look the same without this one."""


class Asset(NamedTuple):
    """A file as it is sent."""

    content: bytes
    zipped: bytes
    mark: str
    """Of its content: its address changes with it."""
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """Every file, by its name below /static/."""
    own = dict(_below(files("rankloop.web") / "static"))
    borrowed = {name: files(room) / "assets" / name for name, room in BORROWED.items()}
    return {name: _read(name, file) for name, file in (own | borrowed).items()}


def address_of(name: str) -> str:
    """Where a page finds a file; the address changes with the content, so browsers may keep it for ever."""
    return f"/static/{name}?{assets()[name].mark}"


def _below(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{above}{entry.name}/")
        else:
            yield above + entry.name, entry


def _read(name: str, file: Traversable) -> Asset:
    content = file.read_bytes()
    media_type = MEDIA_TYPES.get(name.rsplit(".", 1)[-1], "application/octet-stream")
    mark = hashlib.sha256(content).hexdigest()[:12]
    return Asset(content, gzip.compress(content, 9), mark, f"{media_type}; charset=utf-8")
