"""Threads compute what they are given, several at a time, and end with the block."""

import threading

from rankloop.engines import engine


def test_threads_run_beside_each_other_and_end():
    both = threading.Barrier(2)
    with engine("threads", 2) as threads:
        assert threads.slots == 2
        begun = [threads.submit(both.wait) for _ in range(2)]
        assert sorted(one.result() for one in begun) == [0, 1]
    assert not [one for one in threading.enumerate() if one.name.startswith("rankloop-run")]
