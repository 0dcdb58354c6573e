"""The device's sources, and a fingerprint of them."""

import hashlib
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent / "cuda"


@cache
def fingerprint() -> str:
    """A short digest of the device's sources and of what plans and packs for it: part of a record's key."""
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.iterdir(), *SOURCES.parent.glob("*.py")]):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
