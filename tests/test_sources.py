"""Results are keyed by the sources that compute them: no more of them, and no fewer."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.patience import PATIENCE

import rankloop
from rankloop import sources
from rankloop.learners import LEARNERS
from rankloop.sources import companions_of, fingerprint, fingerprint_of, modules_of, sources_of

KEYS = """
import json
import sys
from pathlib import Path
import rankloop
from rankloop import sources
from rankloop.studies.records import key_of
from rankloop.studies.specification import cells, parse
study = parse('''
name = "small"
collections = ["tiny"]
users = ["noisy"]
repeats = 1
grids = [{ name = "a", learners = [{ learner = "ROLTR" }, { learner = "PDGD" }] }]
''', "small")

def keys(*edited):
    # Of the same two runs, with lines added to these modules; the code that runs stays that of before.
    before = {path: path.read_bytes() for path in map(Path(rankloop.__file__).parent.joinpath, edited)}
    for path, source in before.items():
        path.write_bytes(source + b"\\nCHANGED = True\\n")
    sources.fingerprint.cache_clear()
    found = {cell.label: key_of(cell, "content") for cell in cells(study)}
    for path, source in before.items():
        path.write_bytes(source)
    return found

print(json.dumps([keys(*edited) for edited in json.loads(sys.argv[1])]))
"""


@pytest.mark.slow
def test_a_key_changes_with_the_sources_that_compute_the_run_and_with_no_others(tmp_path):
    package = Path(rankloop.__file__).parent
    shutil.copytree(package, tmp_path / "rankloop", ignore=shutil.ignore_patterns("__pycache__"))
    elsewhere = ("cli/app.py", "web/site.py", "live/service.py", "studies/report.py")
    edits = [(), elsewhere, ("learners/roltr.py",), ("kernels/draws.py",)]
    done = subprocess.run(
        [sys.executable, "-c", KEYS, json.dumps(edits)], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, untouched, gradient, shared = json.loads(done.stdout)
    assert len(set(first.values())) == 2
    assert untouched == first
    assert gradient["ROLTR"] != first["ROLTR"]
    assert gradient["PDGD"] == first["PDGD"]
    assert not {*shared.values()} & {*first.values()}


@pytest.mark.parametrize("method", LEARNERS)
def test_every_run_goes_through_these_rooms_and_no_others(method):
    learner = LEARNERS[method]
    package = Path(rankloop.__file__).parent
    found = {path.relative_to(package).as_posix() for path in sources_of("rankloop.simulation", learner.__module__)}
    seen = {"simulation.py", "loop.py", "evaluation.py", "metrics/formulas.py", "kernels/draws.py", "rankers/linear.py"}
    assert seen <= found
    assert not {path.partition("/")[0] for path in found} & {"cli", "web", "live", "studies", "logs", "engines"}


def test_code_from_outside_the_package_counts_with_what_it_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "constants_of_mine.py").write_text("STEP = 0.1\n")
    (tmp_path / "learner_of_mine.py").write_text(
        "import msgspec\nfrom constants_of_mine import STEP\nclass Mine(msgspec.Struct):\n    inner: object = None\n"
    )
    mine = importlib.import_module("learner_of_mine").Mine
    fingerprints = [fingerprint_of(rankloop.ROLTR()), fingerprint_of(mine())]
    for path, text in (("constants_of_mine.py", "STEP = 0.2\n"), ("learner_of_mine.py", "import constants_of_mine\n")):
        (tmp_path / path).write_text(text)
        fingerprint.cache_clear()
        fingerprints.append(fingerprint_of(mine()))
    assert len(set(fingerprints)) == 4
    assert fingerprint_of(mine(rankloop.PDGD())) not in fingerprints


SETTINGS_APART = """
from typing import NamedTuple
from rankloop.users import User

class ApartTables(NamedTuple):
    chance: float

class Apart(User, frozen=True):
    def compiled(self, page_size, split=None):
        return ApartTables(0.5)
"""
KERNELS_APART = """
from apart_settings import ApartTables
from rankloop.kernels import implements, kernel
from rankloop.users.contract import click

@implements(click, ApartTables)
@kernel
def never(user, shown, seed, impression, clicks):
    clicks[:] = 0.0
"""


def test_kernels_count_that_stand_in_a_module_which_the_settings_do_not_know(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "_companions", {})
    (tmp_path / "apart_settings.py").write_text(SETTINGS_APART)
    (tmp_path / "apart_kernels.py").write_text(KERNELS_APART)
    apart = importlib.import_module("apart_settings").Apart()
    fingerprints = [fingerprint_of(apart)]
    importlib.import_module("apart_kernels")
    fingerprints.append(fingerprint_of(apart))
    (tmp_path / "apart_kernels.py").write_text(KERNELS_APART.replace("0.0", "1.0"))
    fingerprint.cache_clear()
    fingerprints.append(fingerprint_of(apart))
    assert len(set(fingerprints)) == 3
    assert companions_of("apart_settings") == ["apart_kernels"]
    assert companions_of("rankloop.learners.roltr") == []


@pytest.mark.process
def test_what_has_no_file_shares_its_fingerprint_with_no_other_process():
    typed = type("Typed", (), {"__module__": "typed_at_a_prompt"})
    code = "from rankloop.sources import fingerprint; print(fingerprint('rankloop.simulation', 'typed_at_a_prompt'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert fingerprint_of(typed()) == fingerprint_of(typed()) != other


def test_a_run_names_its_sources():
    learner, user = rankloop.ROLTR(), rankloop.users.noisy()
    run = rankloop.simulate(learner, user, rankloop.load("tiny"), 10, seed=1, evaluate_every=0)
    assert run.manifest["sources"] == fingerprint_of(learner, user)


def test_a_module_in_a_folder_without_an_init_file_counts(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "chance.py").write_text("P = 0.0\n")
    (tmp_path / "namespaced_user.py").write_text("from parts import chance\nP = chance.P\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("namespaced_user")
    assert sources_of("namespaced_user") == {tmp_path / "namespaced_user.py", tmp_path / "parts" / "chance.py"}


def test_what_outside_code_takes_from_the_front_of_the_package_counts(tmp_path, monkeypatch):
    (tmp_path / "through_the_front.py").write_text(
        "import rankloop as rl\nfrom rankloop.rankers import Linear\nCROWD = [rl.users.noisy, rl.PMGD]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = {path.name for path in sources_of("through_the_front")}
    assert {"through_the_front.py", "pmgd.py", "position_based.py", "linear.py"} <= found
    assert not {"coltr.py", "cascades.py"} & found


def test_a_method_that_builds_on_another_counts_with_it(tmp_path, monkeypatch):
    (tmp_path / "own_method.py").write_text("from rankloop import ROLTR\nclass Mine(ROLTR, frozen=True): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("own_method").Mine()
    modules = set(modules_of(mine))
    assert {"own_method", "rankloop.learners.roltr"} <= modules
    assert "msgspec" not in modules  # installed, not edited
    assert {"roltr.py", "reinforce.py", "rewards.py"} <= {path.name for path in sources_of(*modules)}


def installed_in(folder, *files):
    """A distribution as `pip install --target` leaves it: packages, and beside them a record of what it brought."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    record = folder / "carried-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("".join(f"{file},,\n" for file in [*files, "carried-1.0.dist-info/RECORD"]))


def test_what_is_installed_in_a_folder_of_its_own_does_not_count(tmp_path, monkeypatch):
    # Such a package has compiled modules, without a source: they would share their fingerprint with no other process.
    (tmp_path / "method.py").write_text("import carried.compiled\nfrom carried_alone import nothing\nimport my_own\n")
    (tmp_path / "my_own.py").touch()
    installed_in(tmp_path, "carried/__init__.py", "carried/compiled.so", "carried_alone.py")
    monkeypatch.syspath_prepend(tmp_path)
    assert sources_of("method") == {tmp_path / "method.py", tmp_path / "my_own.py"}


def test_threads_walk_through_the_sources_one_after_the_other(monkeypatch):
    # To find a module means to import the packages around it, and two threads that import such packages at once can
    # stop one another: runs of a new process, side by side, then failed with Python's `_DeadlockError`.
    inside, most = [0], [0]

    def find(name):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        for _ in range(1000):
            time.sleep(0)  # others may go on
        inside[0] -= 1

    monkeypatch.setattr(sources, "_file", find)
    together = threading.Barrier(4)

    def ask(number):
        together.wait(PATIENCE)
        return fingerprint(f"asked.by.thread.{number}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(4)))
    assert most == [1]
