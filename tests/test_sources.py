"""Results are keyed by the sources that compute them: no more of them, and no fewer."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankloop

KEYS = """
import json
import os
from rankloop.studies.records import key_of
from rankloop.studies.specification import cells, parse
study = parse('''
name = "small"
collections = ["tiny"]
users = ["noisy"]
repeats = 1
grids = [{ name = "a", learners = [{ learner = "ROLTR" }, { learner = "PDGD" }] }]
''', "small")
print(json.dumps({cell.label: key_of(cell, "content") for cell in cells(study)}))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package to edit."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(Path(rankloop.__file__).parent, folder / "rankloop", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def keys(folder, *edited):
    """The keys of the same two runs, with lines added to these modules."""
    before = {path: (folder / "rankloop" / path).read_bytes() for path in edited}
    for path, source in before.items():
        (folder / "rankloop" / path).write_bytes(source + b"\nCHANGED = True\n")
    try:
        done = subprocess.run(
            [sys.executable, "-c", KEYS], cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        for path, source in before.items():
            (folder / "rankloop" / path).write_bytes(source)
    return json.loads(done.stdout)


def test_a_key_changes_with_the_sources_that_compute_the_run_and_with_no_others(copied):
    first = keys(copied)
    assert len(set(first.values())) == 2
    assert keys(copied, "cli/app.py", "web/site.py", "live/service.py", "studies/report.py") == first
    gradient = keys(copied, "learners/roltr.py")
    assert gradient["ROLTR"] != first["ROLTR"]
    assert gradient["PDGD"] == first["PDGD"]
    shared = keys(copied, "kernels/draws.py")
    assert not {*shared.values()} & {*first.values()}


@pytest.mark.parametrize("module", ["loop.py", "evaluation.py", "users/position_based.py", "rankers/linear.py"])
def test_what_every_run_goes_through_is_in_every_key(copied, module):
    from rankloop.sources import sources_of

    assert Path(rankloop.__file__).parent / module in sources_of("rankloop.simulation", "rankloop.users.position_based")
