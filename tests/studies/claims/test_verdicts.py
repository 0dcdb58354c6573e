"""Which tests are corrected together: those of one claim, on one collection, under one user."""

import numpy as np
import pytest
from scipy import stats

from rankloop.studies.claims import check
from rankloop.studies.records import Results

from .made import OFFLINE, ONLINE, STUDY, methods, record, runs, verdict, verdicts

# PMGD above COLTR: the opposite of what the paper says in 4b.
OPPOSITE = methods(0.30, 0.36, 0.35, 0.45, 0.45, 0.45)


@pytest.mark.parametrize("first", ["perfect", "noisy"])
def test_what_happens_under_one_user_says_nothing_about_the_other(first):
    second = {"perfect": "noisy", "noisy": "perfect"}[first]
    both = runs(OFFLINE, users=(first,)) + runs(OPPOSITE, users=(second,))
    found = {one.user: one for one in verdicts(both, "4b")}
    assert found[first].verdict == "supported"
    assert found[second].verdict == "contradicted"
    # Each is what it would be without the other's runs, to the last digit of p.
    assert found[first] == verdict(runs(OFFLINE, users=(first,)), "4b", first)
    assert found[second] == verdict(runs(OPPOSITE, users=(second,)), "4b", second)


def test_what_happens_on_one_collection_says_nothing_about_another():
    both = runs(OFFLINE, users=("noisy",)) + runs(OPPOSITE, users=("noisy",), collection="Istella")
    found = {one.collection: one for one in verdicts(both, "4b") if one.user == "noisy"}
    assert found["MSLR10K"] == verdict(runs(OFFLINE, users=("noisy",)), "4b", "noisy")
    assert (found["MSLR10K"].verdict, found["Istella"].verdict) == ("supported", "contradicted")


def test_correction_can_cost_a_contradiction_too():
    losses = [-0.02, 0.0, -0.016, -0.012, -0.004, -0.01]
    believed = [record("η=1", 0.40, seed) for seed in range(6)]
    worse = [record("η=0.5", 0.40 + loss, seed) for seed, loss in enumerate(losses)]
    few = verdict(believed + worse, "8b")
    assert few.verdict == "contradicted"
    alone = stats.ttest_1samp(losses, 0).pvalue
    assert alone <= few.p < 0.05
    others = [record(f"η={eta}", 0.40 + loss, seed) for eta in (0, 1.5, 2) for seed, loss in enumerate(losses)]
    many = verdict(believed + worse + others, "8b")
    assert many.verdict == "undecided"
    assert many.p > 0.05 > few.p


def test_p_is_corrected_over_the_tests_of_a_claim():
    alone = verdict(runs({"ROLTR": 0.451, "PDGD": 0.450}, users=("noisy",), noise=0.002), "5a")
    assert "Holm" not in alone.detail
    noisy = methods(0.30, 0.32, 0.35, 0.45, 0.45, 0.45)
    found = [v for v in check(Results(STUDY, runs(noisy))) if v.number.startswith("4") and v.user == "noisy"]
    assert all("Holm-corrected over the 9 tests of claim 4" in v.detail for v in found)


def test_a_comparison_that_two_sentences_share_is_one_test():
    # 6a has 4 comparisons, 6b 4 and 6c 6, but COLTR against ROLTR and against PDGD are in both 6b and 6c.
    found = [v for v in check(Results(STUDY, runs(ONLINE))) if v.number.startswith("6")]
    assert all("Holm-corrected over the 12 tests of claim 6" in v.detail for v in found)


@pytest.mark.slow
def test_without_any_difference_a_directional_verdict_is_rare():
    draws = np.random.default_rng(7)
    decided = 0
    for _ in range(200):
        null = [
            record(role, 0.45 + 0.01 * float(draws.normal()), seed)
            for role in ("η=0.5", "η=1", "η=1.5", "η=2")
            for seed in range(5)
        ]
        decided += any(v.verdict != "undecided" for number in ("8b", "8c", "8d") for v in verdicts(null, number))
    assert decided <= 20  # at most 5 % are expected, 10 of 200; 20 is three standard deviations above


def test_correction_can_cost_a_verdict():
    gains = [0.02, -0.004, 0.016, 0.012, 0.004, 0.01]
    believed = [record("η=1", 0.40, seed) for seed in range(6)]
    better = [record("η=0.5", 0.40 + gain, seed) for seed, gain in enumerate(gains)]
    few = verdict(believed + better, "8b")
    assert few.verdict == "supported"
    assert few.p == pytest.approx(stats.ttest_1samp(gains, 0).pvalue)  # the smaller p of the two tests comes first
    others = [record(f"η={eta}", 0.40 + gain, seed) for eta in (0, 1.5, 2) for seed, gain in enumerate(gains)]
    many = verdict(believed + better + others, "8b")
    assert many.verdict == "undecided"
    assert many.p > few.p


def test_one_contradicted_part_is_enough_even_if_others_are_missing():
    partly = {"COLTR": 0.46, "ROLTR": 0.45, "PDGD": 0.45}
    assert {found.verdict for found in verdicts(runs(partly), "4a")} == {"contradicted"}


def test_verdicts_are_per_collection_and_user():
    both = runs(OFFLINE) + runs(methods(0.30, 0.36, 0.35, 0.45, 0.45, 0.45), collection="Istella")
    found = {(v.collection, v.user): v.verdict for v in verdicts(both, "4b")}
    assert found == {
        ("MSLR10K", "perfect"): "supported",
        ("MSLR10K", "noisy"): "supported",
        ("Istella", "perfect"): "contradicted",
        ("Istella", "noisy"): "contradicted",
    }
