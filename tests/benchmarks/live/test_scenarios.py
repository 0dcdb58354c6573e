"""The load that the benchmarks send is the load they say, and everything sent is answered, kept and learned from."""

import numpy as np
import pytest
from benchmarks.live.__main__ import page
from benchmarks.live.generator import Load
from benchmarks.live.scenarios import grow, measure, serving
from tests.patience import PATIENT, wait_until

from rankloop.live.events import Kind
from rankloop.live.stores import opened

from ...live.serving import free_port

LOAD = Load("m", candidates=5, features=3, rate=100, seconds=1.0, report=10)


@pytest.mark.long
@pytest.mark.xdist_group("bench")
def test_a_load_is_answered_logged_and_learned_from(tmp_path):
    with serving(tmp_path / "log.db", free_port(), PATIENT) as service:
        row = measure(service, "5 × 3", LOAD)
        assert row.rejected == 0
        # The benchmark measures how far behind learning is; here it need only get there.
        wait_until(
            lambda: service.get("/v1/models/m")["fates"].get("learned", 0) >= row.lag, "what was sent is learned"
        )
        assert 0 < row.p50 <= row.p95 <= row.p99 <= row.worst
    with opened(str(tmp_path / "log.db")) as store:
        # Two seconds of warm-up at the same rate, then the load.
        assert len(store.events(0, 1_000, kinds=(Kind.SHOWN,), model=1)) == 300
    text = page([row], [("5 × 3", row, row)], [(0.1, 200.0), (0.2, 200.0)])
    assert f"| 5 × 3 | 100/s | {row.achieved:,.0f}/s |" in text


def test_a_grown_log_goes_on_where_it_was_left(tmp_path):
    grow(tmp_path / "log.db", LOAD, 120)
    with serving(tmp_path / "log.db", free_port(), PATIENT) as service:
        measure(service, "5 × 3", LOAD._replace(seconds=0.2), warm_up=False)
    with opened(str(tmp_path / "log.db")) as store:
        numbers = [event.number for event in store.events(0, 1_000, kinds=(Kind.SHOWN,), model=1)]
    assert len(numbers) == len(set(numbers)) == 140
    assert np.all(np.diff(numbers) > 0)
