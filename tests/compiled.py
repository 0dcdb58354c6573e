"""Imported, this has run a kernel: what Numba prepares for a process's first one takes longer than most commands.
Nor does anybody look for garbage in what was imported, which would copy every page of it into every fork."""

import gc

import rankloop as rl

rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), 1, seed=1)
gc.freeze()
