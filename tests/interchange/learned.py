"""A run to export, on a collection small enough to rank at once."""

import rankloop as rl

DATA = rl.load("tiny")
RUN = rl.simulate(rl.ROLTR(), rl.users.noisy(), DATA, impressions=500, seed=1)
