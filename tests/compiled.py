"""Imported, this has run a kernel: what Numba prepares for a process's first one takes longer than most commands."""

import rankloop as rl

rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), 1, seed=1)
