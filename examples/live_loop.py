"""The live loop in twenty lines: somebody else's candidates, somebody else's clicks, one ranker that learns."""

import numpy as np

import rankloop as rl

ranker = rl.OnlineRanker(rl.ROLTR(), features=4, seed=1, page_size=5)
draws = np.random.default_rng(1)
taste = np.array([2.0, -1.0, 0.0, 0.5])  # what people want; the ranker has to find out

for visit in range(3_000):
    candidates = draws.random((30, 4))
    page = ranker.rank(candidates)
    seen = draws.random(len(page)) < 1 / np.arange(1, len(page) + 1)
    liked = draws.random(len(page)) < 1 / (1 + np.exp(2 - 3 * candidates[page] @ taste))
    ranker.learn(page, clicks=seen & liked)
    if (visit + 1) % 1_000 == 0:
        print(f"after {visit + 1:,} visits: weights {ranker.weights.round(2)}")
