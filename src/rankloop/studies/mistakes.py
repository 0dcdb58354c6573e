"""What is wrong with somebody's own code, in one sentence with its file and line.

Of a kernel Numba tells it in fifty lines, most of them ours; of anything else Python would show a traceback.
"""

import re
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba.core.errors import NumbaError

from rankloop.errors import RankloopError, SettingsError
from rankloop.plugins import is_installed

_PACKAGE = Path(__file__).parents[1]
_PYTHON = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_VERBS = {"click", "show", "learn", "score", "score_several", "ascend"}  # what is written with @implements
# Numba nests what it says: what is wrong in a function that is called stands within what is wrong with the call.
_HEADING = re.compile(
    r"Failed in \w+ mode pipeline \(step: [^)]*\)\s*|Rejected as the implementation raised a specific error:\s*\w+: "
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # where Numba believes that it talks to a terminal
_UNFIT = re.compile(r"Cannot bind .* to signature '(\([^']*\))' due to \"TypeError: ([^\"]*)\"")
_NOT_FOUND = re.compile(r"No implementation of function Function\(<[\w-]+ (?:function )?(\w+)[^>]*>\) found")
_SIGNATURE = re.compile(r">>> (\w+)\((\w+)?.*")
_PLACE = re.compile(r'(?:at (\S+) \((\d+)\)|File "([^"]+)", line (\d+))')


@contextmanager
def in_one_sentence(about: str = "") -> Iterator[None]:
    """Say what goes wrong in somebody's own code inside the `with` block as people are told of any other mistake.

    `about` says what was being done. What is raised outside of anybody's own code goes on as it is.
    """
    prefix = f"{about}: " if about else ""
    try:
        yield
    except RankloopError as error:
        if not about:
            raise
        raise type(error)(f"{prefix}{error}") from error.__cause__
    except NumbaError as error:
        raise SettingsError(prefix + sentence(str(error))) from error
    except (Exception, SystemExit) as error:
        place = own_place(error)
        if place is None:
            raise
        raise SettingsError(f"{prefix}{type(error).__name__}: {error} ({place})") from error


def own_place(error: BaseException) -> str | None:
    """The file and line of somebody's own code that an exception came through last; None if there is none."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((f"{frame.filename}, line {frame.lineno}" for frame in frames if _is_own(frame.filename)), None)


def _is_own(file: str) -> bool:
    """Whether code belongs neither to this package, nor to Python, nor to what is installed, but for plugins."""
    path = Path(file)
    if is_installed(file):
        return True
    library = any(path.is_relative_to(folder) for folder in (_PACKAGE, *_PYTHON))
    return not (library or file.startswith("<frozen ") or {"site-packages", "dist-packages"} & set(path.parts))


def sentence(message: str) -> str:
    """Numba's message in one line: what is wrong, and in which file and line.

    >>> sentence("Failed in nopython mode pipeline (step: nopython frontend)\\nUnknown attribute 'x'\\n\\nat my.py (3)")
    "cannot be compiled: Unknown attribute 'x' (my.py, line 3)"
    """
    innermost = _HEADING.split(_COLOUR.sub("", message))[-1]
    what = next((line.strip() for line in innermost.splitlines() if line.strip()), "Numba does not say why")
    if "record.variance[row] = variance" in innermost:
        return "cannot be compiled: learn must return a number on every path, np.nan if it measures nothing"
    if (missing := _NOT_FOUND.match(what)) and (call := _SIGNATURE.search(innermost)):
        verb, kind = missing[1], call[2]
        what = f"there is no {verb} for {call[0].removeprefix('>>> ')}"
        if verb in _VERBS:
            return f"cannot be compiled: no {verb} is registered for {kind}; write it with @implements({verb}, {kind})"
    elif unfit := _UNFIT.match(what):
        what = f"the parameters {unfit[1]} do not fit the call: {unfit[2]}"
    place = _PLACE.search(innermost)
    where = f" ({place[1] or place[3]}, line {place[2] or place[4]})" if place else ""
    return f"cannot be compiled: {what}{where}"
