"""Compile what many tests run, once and before the workers start: `python -m tests.warming`.

Kernels are compiled for the kinds of learner and user that they are run with, on first use, and kept on disk until a
kernel's source changes. Two workers that need the same one at the same time would both compile it.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import rankloop as rl
from rankloop.kernels.compiler import cache_folder

LEARNERS = [
    (rl.COLTR(candidates=3), {}),
    (rl.PMGD(candidates=3), {}),
    (rl.ROLTR(), {"gradient_variance": True}),
    (rl.ROLTR(), {"delay": 3}),
    (rl.ROLTR(), {}),
    (rl.PDGD(), {}),
    (rl.DBGD(), {}),
    (rl.MDPRank(), {}),
    (rl.PDGD(ranker=rl.MLP(hidden=(16,))), {}),
    (rl.ROLTR(ranker=rl.MLP(hidden=(16,))), {}),
    (rl.Posterior(), {}),
    (rl.PairRank(), {}),
    (rl.PLRank(), {}),
    (rl.FixedWeights(), {}),
    (rl.Oracle(), {}),
]


def warm(place: int) -> None:
    """Run one learner, in simulation and as a service does."""
    learner, options = LEARNERS[place]
    data = rl.load("tiny")
    rl.simulate(learner, rl.users.noisy(), data, 20, seed=1, evaluate_every=10, **options)


def main() -> None:
    """Compile with all processors, unless it was done for these sources before."""
    done = cache_folder() / "warm"
    if done.exists():
        return
    print("compiling what the tests run (once)", file=sys.stderr, flush=True)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(warm, range(len(LEARNERS))))
    done.touch()


if __name__ == "__main__":
    main()
