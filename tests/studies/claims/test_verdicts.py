"""Which tests are corrected together: those of one claim, on one collection, under one user."""

import pytest
from scipy import stats

from ..test_claims import OFFLINE, methods, record, runs, verdict, verdicts

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
