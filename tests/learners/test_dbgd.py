"""DBGD: how far it steps does not depend on how far it looks."""

import numpy as np
import pytest

from rankloop.learners import DBGD
from rankloop.online import OnlineRanker

X = np.random.default_rng(9).normal(size=(8, 6)).astype(np.float32)


@pytest.mark.parametrize("delta", [0.25, 1.0, 3.0])
def test_with_one_rival_a_step_is_as_long_as_the_rate_wherever_the_rival_lies(delta):
    ranker = OnlineRanker(DBGD(delta=delta, learning_rate=0.2), features=6, seed=3, page_size=5)
    lengths = []
    for i in range(30):
        before, page = ranker.weights, ranker.rank(X)
        ranker.learn(page, clicks=np.roll([0, 0, 1, 0, 1], i))
        lengths.append(np.linalg.norm(ranker.weights - before))
    moved = [length for length in lengths if length > 0]
    assert 3 < len(moved) < 30
    assert moved == pytest.approx([0.2] * len(moved), rel=1e-5)  # directions are float32
