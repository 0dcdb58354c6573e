"""Runs and folds end with the bits they always ended with.

`same_bits.json` holds digests that were taken before a rebuilding and must survive it. Bits depend on the processor
and on library versions, so the comparison is made on the kind of machine the digests come from, and nowhere else.
After a change that is meant to change results:  python -m pytest tests/live/test_same_bits.py --write-digests
"""

import hashlib
import json
import platform
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from tests.skipping import skip_here

import rankloop as rl

from .lively import lively
from .test_fold import LEARNERS as FOLDED

KEPT = Path(__file__).with_name("same_bits.json")
RUNS = {
    "ROLTR": (rl.ROLTR(), {}),
    "ROLTR naive-, discounted": (rl.ROLTR(reward="naive-", discount=0.5), {}),
    "ROLTR ips+, baseline": (rl.ROLTR(reward="ips+", baseline=True, decay=0.999), {}),
    "ROLTR late, current scores": (rl.ROLTR(), {"delay": 3}),
    "ROLTR late, drawn scores": (rl.ROLTR(), {"delay": 3, "late_scores": "drawn"}),
    "ROLTR gradient variance": (rl.ROLTR(discount=1.0), {"gradient_variance": True}),
    "PDGD": (rl.PDGD(decay=0.9999), {}),
    "DBGD": (rl.DBGD(), {}),
    "DBGD team draft": (rl.DBGD(interleaving="team-draft", initial="truncated-normal"), {}),
    "PMGD": (rl.PMGD(candidates=9), {}),
    "COLTR": (rl.COLTR(candidates=50), {}),
    "MDPRank": (rl.MDPRank(), {}),
    "Posterior": (rl.Posterior(), {}),
    "Posterior of an earlier default": (rl.Posterior(common_weight=0.0, merit_variance=0.05), {}),
    "FixedWeights": (rl.FixedWeights(), {}),
    "Oracle": (rl.Oracle(), {}),
}


def digest(*arrays) -> str:
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:24]


def digest_of_run(name: str) -> str:
    learner, options = RUNS[name]
    run = rl.simulate(learner, rl.users.noisy(), rl.load("tiny"), 3000, seed=11, evaluate_every=1000, **options)
    return digest(run.online_curve, run.offline_curve, run.clicks, run.weights, run.checkpoints, run.variance_curve)


def digest_of_fold(learner) -> str:
    fold = lively(learner, late_updates="current").fold
    return digest(fold.ranker.weights, np.array(sorted(map(str, fold.fates.items()))))


def this_kind_of_machine() -> dict[str, str]:
    features = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    versions = {name: metadata.version(name) for name in ("numpy", "numba", "llvmlite")}
    return {"processor": features.split(":")[1].strip(), "python": platform.python_version(), **versions}


@pytest.fixture(scope="module")
def kept(request):
    if request.config.getoption("--write-digests"):
        digests = {f"run {name}": digest_of_run(name) for name in RUNS}
        digests |= {f"fold {learner}": digest_of_fold(learner) for learner in FOLDED}
        KEPT.write_text(json.dumps({"machine": this_kind_of_machine(), "digests": digests}, indent=1) + "\n")
    document = json.loads(KEPT.read_text())
    if document["machine"] != this_kind_of_machine():
        skip_here(f"the digests come from another kind of machine: {document['machine']}")
    return document["digests"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_has_the_bits_it_always_had(kept, name):
    assert digest_of_run(name) == kept[f"run {name}"]


@pytest.mark.parametrize("learner", FOLDED, ids=str)
def test_a_fold_has_the_bits_it_always_had(kept, learner):
    assert digest_of_fold(learner) == kept[f"fold {learner}"]
