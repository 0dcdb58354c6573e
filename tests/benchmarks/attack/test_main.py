"""A little of the attack: honest traffic is measured with and without it, and what was acknowledged is in the log."""

import pytest
from benchmarks.attack.attackers import KINDS
from tests.patience import PATIENCE, PATIENT

from benchmarks.attack import __main__ as attack
from rankloop.live.stores import opened
from rankloop.live.tokens import Signer

from ...live.serving import free_port


@pytest.mark.long
@pytest.mark.process
@pytest.mark.xdist_group("bench")
def test_honest_traffic_is_measured_beside_an_attack_and_nothing_is_lost(tmp_path):
    figures = attack.measure(
        tmp_path / "log.db", 3.0, rate=20.0, share=0.1, warm_up=0.5, port=free_port(), command=PATIENT,
        patience=PATIENCE,
    )  # fmt: skip
    assert set(figures) == {"quiet", "attacked", "attackers", "lost"}
    for phase in (figures["quiet"], figures["attacked"]):
        assert 0 < phase["p50"] <= phase["p99"] <= phase["worst"]
        assert phase["pages"] > 0
    gone = figures["lost"]
    assert gone["acknowledged_clicks"] > 0
    assert (gone["missing_pages"], gone["missing_clicks"]) == (0, 0)
    assert set(figures["attackers"]) == set(KINDS)
    assert sum(sum(told.values()) for told in figures["attackers"].values()) > 0
    text = attack.table(figures)
    assert "| 99 of 100 pages within | " in text
    assert " 0 are missing in the log" in text


def test_what_was_acknowledged_and_is_not_in_the_log_is_missing(tmp_path):
    with opened(str(tmp_path / "log.db")) as store:
        store.add_secret(b"k" * 32, 0)
        name = Signer(store.secrets()).sign(1, 7, 1)
    found = attack.lost(tmp_path / "log.db", attack.Acknowledged({name}, {name: "d1"}))
    assert found == {"acknowledged_pages": 1, "acknowledged_clicks": 1, "missing_pages": 1, "missing_clicks": 1}


def test_figures_from_a_machine_that_had_other_work_say_so():
    busy = {"load_before": 6.7, "machine": {"cores": 2}}
    assert "busy with other things (load 6.7 on 2 cores)" in attack.caution(busy)[0]
    assert attack.caution(busy | {"load_before": 0.1}) == []
