"""Judge a mutant: put it into a copy of the repository and see whether a test fails.

A copy lies in one place for all the mutants that pass through it, so that the machine code of kernels, which Numba
keeps by path, is compiled once. A mutant of a file with kernels gets a cache of its own, thrown away after it: the
package names its cache after the content of all such files, and would compile everything anew anyway.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from tests.mutants.patches import Mutant, content_of

_COMPILED = re.compile(r"^@(?:kernel|inlined_kernel|intrinsic|implements)\b|\bkernel\(", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
NO_TESTS, USAGE, PASSED = 5, 4, 0


class Outcome(NamedTuple):
    """How a run of pytest ended: did the tests pass, and if not, which failed first (or that they never ended)."""

    passed: bool
    first: str
    output: str


class Copy:
    """A copy of the repository, beside a link to the collections that the tests look for beside it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = folder / "rankloop"
        self._folder = folder
        self._proven = folder / "passed.txt"
        shutil.rmtree(self.root, ignore_errors=True)
        for name in listed(root):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)
        shared = root.parent / "shared"
        if shared.is_dir() and not (folder / "shared").is_symlink():
            (folder / "shared").symlink_to(shared.resolve())

    def test(self, tests: Sequence[str], select: str, seconds: float, compiled: str = "compiled") -> Outcome:
        """Run some tests, or with none named the whole suite, long tests included, up to the first that fails."""
        command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
        # A third of a short run is the start of a plugin that only the tests of the whole service use.
        command += ["--numprocesses=0", "-p", "no:schemathesis", *tests] if tests else []
        command += ["-m", "not crash"]
        command += ["-k", select] if tests and select else []
        environment = os.environ | {
            "PYTHONPATH": str(self.root / "src"),
            "NUMBA_CACHE_DIR": str(self._folder / compiled),
        }
        environment.pop("RANKLOOP_TEST_HOME", None)
        process = subprocess.Popen(
            command, cwd=self.root, env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return Outcome(False, f"no end within {seconds:g} s", "")
        finally:
            end_group(process)
            # What Hypothesis remembers of one mutant must not help against the next.
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
        if process.returncode in (NO_TESTS, USAGE):
            raise RuntimeError(f"pytest could not run {' '.join(tests)}:\n{output}")
        named = _FAILED.search(output)
        return Outcome(process.returncode == PASSED, named[1] if named else "", output)

    def unproven(self, tests: set[str], select: str) -> dict[str, str]:
        """Those of some tests that are not known to pass with these sources, each with what would be known of it."""
        sources = hashlib.sha256(content_of(self.root / "src"))
        known = self._proven.read_text().split() if self._proven.exists() else []
        found = {}
        for test in tests:
            digest = sources.copy()
            digest.update(f"{test} {select}".encode() + content_of(self.root / test))
            found[test] = digest.hexdigest()
        return {test: mark for test, mark in found.items() if mark not in known}

    def prove(self, tests: dict[str, str]) -> None:
        """Remember that these pass."""
        with self._proven.open("a") as file:
            file.writelines(f"{mark}\n" for mark in tests.values())

    def judge(self, mutant: Mutant, seconds: float, *, suite: bool) -> tuple[Outcome, str]:
        """The outcome of the tests tried first or, where they pass and `suite` is asked for, of all; and of which."""
        path = mutant.source(self.root)
        text, stat = path.read_text(encoding="utf-8"), path.stat()
        compiled = "compiled-for-mutant" if _COMPILED.search(text) else "compiled"
        try:
            path.write_text(mutant.applied(text), encoding="utf-8")
            self._forget(path)
            outcome = self.test(mutant.tests, mutant.select, seconds, compiled)
            if outcome.passed and suite:
                return self.test((), "", 10 * seconds, compiled), "the whole suite"
            return outcome, "related tests"
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            self._forget(path)
            shutil.rmtree(self._folder / "compiled-for-mutant", ignore_errors=True)

    def _forget(self, path: Path) -> None:
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def listed(root: Path) -> list[str]:
    """What belongs to the repository, new files too."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and (root / name).is_file()]


def end_group(process: "subprocess.Popen[str]") -> None:
    """End what a run of tests has started and left."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
