"""A query is known once it has been seen, however many came after it."""

import numpy as np

from rankloop.data.svmlight.seen import SeenQueries


def test_what_was_seen_before_the_set_grew_is_still_known():
    seen = SeenQueries()
    first = np.arange(-200, 200)
    assert seen.add(first) == -1
    # Far more than there was room for at the beginning, in several steps.
    for begin in range(1_000, 9_000, 1_000):
        assert seen.add(np.arange(begin, begin + 1_000)) == -1
    for known in (*first, 1_000, 8_999):
        assert seen.add(np.array([known])) == 0, f"query {known} was forgotten"
    assert seen.add(np.array([9_000, 9_001, 5_000])) == 2
