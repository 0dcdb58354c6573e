"""Which runs a sentence speaks of, and what is measured on them."""

import math

import numpy as np
import pytest

from .made import LEVEL_REWARDS, OFFLINE, SLOWER, VARIANCE, methods, record, runs, verdict, verdicts


def test_a_tie_online_is_within_one_percent():
    paper = methods(1165.0, 1191.0, 1122.0, 1311.0, 1302.0, 1400.0)
    assert verdict(runs(paper), "6a", "perfect").verdict == "supported"
    assert verdict(runs(paper | {"PDGD": 1330.0}), "6a", "perfect").verdict == "contradicted"


def test_runs_without_shared_seeds_are_compared_by_welchs_test():
    apart = runs({"ROLTR": 0.45}, users=("noisy",)) + runs({"PDGD": 0.42}, users=("noisy",), first_seed=100)
    found = verdict(apart, "5a")
    assert found.verdict == "supported"
    assert found.detail.startswith("Welch's")
    assert "6 and 6 runs" in found.detail
    assert "g = " in found.effect


def test_pairs_see_what_welchs_test_cannot():
    levels = np.linspace(0.3, 0.5, 8)  # folds differ far more than methods do
    paired = [record("ROLTR", x + 0.01 + 0.0003 * (i % 2), i) for i, x in enumerate(levels)]
    paired += [record("PDGD", x, i) for i, x in enumerate(levels)]
    apart = [record("PDGD", x, 50 + i) for i, x in enumerate(levels)]
    assert verdict(paired, "5a").verdict == "supported"
    assert verdict(paired[:8] + apart, "5a").verdict == "undecided"


def test_missing_runs_are_named():
    found = verdict(runs(methods(0.3, 0.3, 0.3, 0.4, 0.4, 0.4)), "3a")
    assert (found.verdict, found.collection, found.user, found.p) == ("undecided", "", "", None)
    assert "no grid of the study compares ips+, ips+-" in found.detail
    partly = {role: value for role, value in OFFLINE.items() if role != "DBGD"}
    for found in verdicts(runs(partly), "4a"):
        assert found.verdict == "undecided"
        assert f"grid mine has no run of DBGD under {found.user} clicks" in found.detail


def test_short_runs_say_nothing_about_100_000_impressions():
    for found in verdicts(runs(LEVEL_REWARDS, ends=10_000), "3f"):
        assert found.verdict == "undecided"
        assert "end at 10,000 impressions, short of 100,000" in found.detail


@pytest.mark.thorough
def test_the_long_grid_answers_for_a_million_impressions_and_the_other_for_the_rest():
    short = runs(SLOWER, ends=100_000, grid="discount")
    long = runs({role: 0.5 for role in SLOWER if role.startswith("ips")}, ends=1_000_000, grid="long", noise=0.2)
    assert {found.verdict for found in verdicts(short + long, "1a")} == {"supported"}
    assert verdict(short + long, "1d").verdict == "supported"
    assert {found.verdict for found in verdicts(short + long, "1e")} == {"undecided"}
    assert all("grid long" in found.detail for found in verdicts(short + long, "1e"))


def test_a_grid_that_compares_nothing_of_a_sentence_is_no_evidence_for_it():
    assert [found.collection for found in verdicts(runs(SLOWER), "3b")] == [""]
    assert {found.collection for found in verdicts(runs(SLOWER), "3a")} == {"MSLR10K"}


@pytest.mark.thorough
def test_values_that_are_not_numbers_are_left_out():
    records = runs(VARIANCE)
    broken = [r for r in records if r.seed > 3] + [
        record(r.label, math.nan, r.seed, user=r.user) for r in records if r.seed <= 3
    ]
    assert {found.verdict for found in verdicts(broken, "2a")} <= {"supported", "undecided"}
    assert all("3 pairs" in found.detail for found in verdicts(broken, "2a"))
    nothing = [record(r.label, math.nan, r.seed, user=r.user) for r in records]
    assert all("have no gradient variance" in found.detail for found in verdicts(nothing, "2a"))


def test_a_second_setting_of_a_method_does_not_mix_with_the_first():
    tuned = runs({"ROLTR": 0.1}, label="ROLTR, tuned", users=("noisy",))
    found = verdict(runs({"ROLTR": 0.45, "PDGD": 0.42}, users=("noisy",)) + tuned, "5a")
    assert found.verdict == "supported"
