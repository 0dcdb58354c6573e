"""How far a page lies from the order of its scores, against sorting."""

import numpy as np
import pytest

from rankloop.policies.displacement import displacement_of_page


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_mean_distance_of_ranks_and_ties_stand_as_they_come(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=8).astype(np.float32)
    page = rng.permutation(8)[: rng.integers(1, 9)]
    order = sorted(range(8), key=lambda document: (-scores[document], document))
    wanted = np.mean([abs(order.index(document) - rank) for rank, document in enumerate(page)])
    assert displacement_of_page(scores, page) == pytest.approx(wanted)


def test_a_page_in_the_order_of_its_scores_has_not_moved():
    assert displacement_of_page(np.array([3.0, 1.0, 2.0], np.float32), np.array([0, 2, 1])) == 0.0
