"""Files that appear whole or not at all, and locks that end with the process that holds them."""

import fcntl
import os
import secrets
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankloop.errors import DataError


@contextmanager
def written_whole(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """A path to write to; what is there takes the name `path` when the block ends well, and is gone when it does not.

    Until then whatever had that name stays. The name to write to is this caller's own, so two who write the same file
    never write into each other's. A file that is replaced keeps its mode; of a link, what it points to is replaced. A
    pipe or a device, such as /dev/stdout, cannot be replaced: it is written to as it is. A `private` file is read by
    nobody else, and is on disk before it takes its name.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "two.txt"
    >>> with written_whole(target) as partial:
    ...     _ = partial.write_text("a and b")
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('a and b', ['two.txt'])
    """
    target = Path(path)
    mode = _mode(target)
    if mode is not None and (not stat.S_ISREG(mode) or str(target).startswith(("/dev/std", "/dev/fd/", "/proc/"))):
        partial = target
    else:
        target = Path(os.path.realpath(target))
        partial = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        if target.is_dir():
            raise DataError(f"cannot write {target}: it is a folder; name a file in it")
        if private and partial != target:
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield partial
        if partial == target:
            return
        if private:
            with partial.open("rb") as file:
                os.fsync(file.fileno())
        elif mode is not None:
            partial.chmod(stat.S_IMODE(mode))
        partial.replace(target)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # it has its name by now, or was never there
            if partial != target:
                partial.unlink()


def _mode(path: Path) -> int | None:
    """What kind of file a name stands for, and who may do what with it; None if there is none."""
    try:
        return path.stat().st_mode
    except OSError:
        return None


def write_text(path: str | os.PathLike[str], pieces: Iterable[str]) -> Path:
    """A text file with the pieces one after the other, whole or not at all."""
    with written_whole(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)
    return Path(path)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock `path` inside the `with` block; without `wait`, False if another holds it.

    The file names its holder. It is gone afterwards, so nothing piles up.
    """
    handle = _acquire(path, wait)
    if handle is None:
        yield False
        return
    try:
        with suppress(OSError):  # on a full disk the lock holds all the same, without a name
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _acquire(path: Path, wait: bool) -> int | None:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            # The holder before may have removed the file by now: then this lock is on nothing.
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
