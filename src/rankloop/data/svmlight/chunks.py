"""A text file of any size as chunks of whole lines, unpacked where it is gzip.

One buffer serves all chunks; what is left of a line at its end moves to the front of the next. A
file that cannot be opened, read or unpacked is a `DataError`.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.data.svmlight.scanner import PADDING
from rankloop.errors import DataError

LONGEST_LINE = 64 << 20  # bytes

Progress = Callable[[int], None]


class Chunk(NamedTuple):
    """Whole lines: bytes[start:stop], with a line break at the end and padding behind."""

    bytes: NDArray[np.uint8]
    start: int
    stop: int
    last: bool

    def line_end(self, at: int) -> int:
        """The position of the line break that ends the line at `at`."""
        step = 1 << 16
        while not len(found := np.flatnonzero(self.bytes[at : at + step] == 10)):
            at += step
        return at + int(found[0])


def chunks(path: Path, progress: Progress | None, size: int) -> Iterator[Chunk]:
    """The file as chunks of whole lines, about `size` bytes each; gone at the next step.

    `progress` is called with the number of bytes of the file that have been read.
    """
    with _open(path) as (raw, stream):
        buffer, held, first = bytearray(size + PADDING), 0, True
        while True:
            got = _fill(path, stream, memoryview(buffer)[held : len(buffer) - PADDING])
            held, last = held + got, held + got < len(buffer) - PADDING
            if progress:
                progress(raw.tell())
            if last:
                buffer[held : held + 1] = b"\n"  # the last line may come without its line break
            stop = held + 1 if last else buffer.rfind(b"\n", 0, held) + 1
            start = 3 if first and buffer.startswith(b"\xef\xbb\xbf") else 0
            if stop:
                first = False
                yield Chunk(np.frombuffer(buffer, np.uint8), start, stop, last)
                if last:
                    return
                buffer[: held - stop] = buffer[stop:held]
                held -= stop
            elif len(buffer) >= LONGEST_LINE:
                raise DataError(
                    f"{path}: no line break in {LONGEST_LINE >> 20} MB; this is not SVMlight text. "
                    f"Give plain text, one document a line."
                )
            else:
                buffer = buffer[:held] + bytes(len(buffer) + PADDING)


@contextmanager
def _open(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The raw file and the stream of its text, unpacked where it is gzip; errors as sentences."""
    try:
        raw = path.open("rb", buffering=0)
        magic = raw.read(2)
        raw.seek(0)
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; give a file.") from None
    except FileNotFoundError:
        raise DataError(f"{path} does not exist. Check the path.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    with raw:
        if magic == b"\x1f\x8b":
            yield raw, gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[misc]
        elif path.suffix == ".gz":
            raise DataError(f"{path} is named .gz but is not gzip. Rename or download it again.")
        else:
            yield raw, raw


def _fill(path: Path, stream: IO[bytes], target: memoryview) -> int:
    """Read until the target is full or the file ends; how many bytes came."""
    filled = 0
    try:
        while filled < len(target):
            got = stream.readinto(target[filled:])  # type: ignore[attr-defined]
            if not got:
                break
            filled += got
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the gzip data is broken or cut short ({error}). Download it again.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    return filled
