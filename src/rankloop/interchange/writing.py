"""Text files that appear whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from rankloop.errors import DataError


def write_text(path: str | os.PathLike[str], pieces: Iterable[str]) -> Path:
    """Write the pieces one after the other; a file that is there stays until the new one is finished.

    >>> import tempfile
    >>> write_text(Path(tempfile.mkdtemp()) / "two.txt", ["a\\n", "b\\n"]).read_text()
    'a\\nb\\n'
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        if target.is_dir():
            raise DataError(f"cannot write {target}: it is a folder; name a file in it")
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
        partial.replace(target)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        if partial.exists():
            partial.unlink()
    return target
