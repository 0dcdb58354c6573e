"""Every sentence of the paper can come out supported, contradicted and undecided, on runs made by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rankloop.studies.claims import SENTENCES, check
from rankloop.studies.records import Record, Results
from rankloop.studies.specification import load_study

STUDY = load_study("quick")
AT = [0, 1000, 2000, 3000, 5000, 10_000, 100_000, 1_000_000]


def settings_of(role):
    """A run's learner settings from what the claims call it."""
    if role.startswith("η="):
        return {"learner": "ROLTR", "reward": "ips+-", "discount": 0.0, "propensities": {"eta": float(role[2:])}}
    if role.startswith(("naive", "ips")):
        reward, _, discount = role.partition(" γ=")
        return {"learner": "ROLTR", "reward": reward, "discount": float(discount or 0), "propensities": {"eta": 1.0}}
    return {"learner": role}


def record(
    role, value, seed, *, user="noisy", grid="mine", collection="MSLR10K", label=None, ends=1_000_000, curve=None
):
    """A run whose curve (unless given), online nDCG and gradient variance all have one value."""
    at = [point for point in AT if point <= ends]
    settings = settings_of(role)
    return Record(
        key=f"{role}-{seed}", grid=grid, collection=collection, stands_for="mslr-web10k", is_published=False, fold=1,
        user=user, learner=settings["learner"], label=label or role, seed=seed, impressions=ends, online_ndcg=value,
        offline_ndcg=value, gradient_variance=value, clicks_per_page=1.0, offline_at=at,
        offline_curve=curve or [value] * len(at),
        online_curve=[value] * (len(at) - 1), weights=[], learning_seconds=1.0, evaluation_seconds=1.0,
        settings={"learner": settings}, manifest={},
    )  # fmt: skip


def runs(values, *, n=6, noise=0.001, users=("perfect", "noisy"), first_seed=1, **place):
    """Runs of several roles: value times (1 + noise)."""
    draws = np.random.default_rng(n)
    return [
        record(role, value * (1 + noise * float(draws.normal())), first_seed + i, user=user, **place)
        for user in users
        for role, value in values.items()
        for i in range(n)
    ]


def verdicts(records, number):
    return [verdict for verdict in check(Results(STUDY, records)) if verdict.number == number]


def verdict(records, number, user=None):
    [found] = [found for found in verdicts(records, number) if user in (None, found.user)]
    return found


def discounts(naive, ips):
    return {
        f"{reward} γ={discount}": value
        for reward, values in (("naive+", naive), ("ips+", ips))
        for discount, value in zip(("0", "0.3", "0.5", "1"), values, strict=True)
    }


def rewards(*values):
    return dict(zip(("naive+", "naive-", "naive+-", "ips+", "ips-", "ips+-"), values, strict=True))


def methods(*values):
    return dict(zip(("DBGD", "PMGD", "COLTR", "PDGD", "ROLTR", "MDPRank"), values, strict=True))


def etas(*values):
    return dict(zip(("η=0", "η=0.5", "η=1", "η=1.5", "η=2"), values, strict=True))


SLOWER = discounts((0.50, 0.48, 0.46, 0.44), (0.50, 0.46, 0.42, 0.30))
FASTER = discounts((0.44, 0.46, 0.48, 0.56), (0.40, 0.42, 0.44, 0.46))
OFFLINE = methods(0.30, 0.32, 0.35, 0.45, 0.45, 0.45)
ONLINE = methods(510.0, 540.0, 450.0, 580.0, 585.0, 700.0)
LEVEL_REWARDS = rewards(0.45, 0.30, 0.45, 0.45, 0.45, 0.45)
UNLIKE_REWARDS = rewards(0.35, 0.4502, 0.40, 0.45, 0.37, 0.45)
VARIANCE = discounts((1.0, 1.2, 1.5, 2.0), (10.0, 12.0, 15.0, 20.0))
ODD_VARIANCE = discounts((1.0, 1.2, 1.5, 1.1), (30.0, 32.0, 45.0, 33.0))

# sentence: values that support it, values that contradict it
CASES = {
    "1a": (SLOWER, FASTER),
    "1b": (SLOWER, FASTER | {"ips+ γ=0": 0.5}),
    "1c": (SLOWER, discounts((0.5, 0.4, 0.3, 0.2), (0.5, 0.48, 0.46, 0.44))),
    "1d": (SLOWER, SLOWER | {"ips+ γ=1": 0.499}),
    "1e": (SLOWER, FASTER),
    "2a": (VARIANCE, ODD_VARIANCE),
    "2b": (VARIANCE, ODD_VARIANCE),
    "3a": (rewards(0.40, 0.30, 0.42, 0.44, 0.35, 0.46), rewards(0.40, 0.30, 0.48, 0.44, 0.35, 0.46)),
    "3b": (rewards(0.40, 0.30, 0.42, 0.44, 0.35, 0.46), rewards(0.40, 0.30, 0.38, 0.44, 0.35, 0.46)),
    "3c": (LEVEL_REWARDS, UNLIKE_REWARDS),
    "3d": (UNLIKE_REWARDS, UNLIKE_REWARDS | {"ips-": 0.5}),
    "3e": (LEVEL_REWARDS, UNLIKE_REWARDS),
    "3f": (LEVEL_REWARDS, UNLIKE_REWARDS),
    "4a": (OFFLINE, methods(0.30, 0.32, 0.46, 0.45, 0.45, 0.45)),
    "4b": (OFFLINE, methods(0.30, 0.36, 0.35, 0.45, 0.45, 0.45)),
    "4c": (OFFLINE, methods(0.30, 0.32, 0.35, 0.42, 0.45, 0.45)),
    "5a": (methods(0.30, 0.32, 0.35, 0.42, 0.45, 0.45), methods(0.30, 0.32, 0.35, 0.45, 0.42, 0.45)),
    "5b": (methods(0.30, 0.50, 0.35, 0.42, 0.45, 0.45), OFFLINE),
    "6a": (ONLINE, methods(510.0, 540.0, 450.0, 600.0, 585.0, 700.0)),
    "6b": (ONLINE, methods(440.0, 540.0, 450.0, 580.0, 585.0, 700.0)),
    "6c": (ONLINE, methods(510.0, 590.0, 450.0, 580.0, 585.0, 700.0)),
    "7a": (OFFLINE, methods(0.30, 0.32, 0.35, 0.45, 0.40, 0.45)),
    "7b": (methods(0.30, 0.32, 0.35, 0.45, 0.40, 0.45), methods(0.30, 0.32, 0.35, 0.45, 0.46, 0.45)),
    "8a": (etas(0.45, 0.46, 0.45, 0.40, 0.35), etas(0.40, 0.46, 0.45, 0.40, 0.35)),
    "8b": (etas(0.45, 0.46, 0.45, 0.40, 0.35), etas(0.45, 0.44, 0.45, 0.40, 0.35)),
    "8c": (etas(0.45, 0.46, 0.45, 0.40, 0.35), etas(0.45, 0.46, 0.45, 0.47, 0.35)),
    "8d": (etas(0.45, 0.46, 0.45, 0.40, 0.35), etas(0.45, 0.46, 0.45, 0.47, 0.35)),
    "8e": (etas(0.45, 0.45, 0.45, 0.45, 0.40), etas(0.45, 0.45, 0.45, 0.45, 0.46)),
    "8f": (etas(0.45, 0.45, 0.45, 0.45, 0.40), etas(0.45, 0.45, 0.45, 0.40, 0.40)),
    "8g": (etas(0.40, 0.41, 0.42, 0.43, 0.44), etas(0.40, 0.41, 0.42, 0.43, 0.42)),
}  # fmt: skip


def test_every_sentence_has_a_case():
    assert set(CASES) | {"2c"} == {sentence.number for sentence in SENTENCES}


@pytest.mark.parametrize("number", CASES)
def test_runs_as_the_paper_says_support_it(number):
    for found in verdicts(runs(CASES[number][0]), number):
        assert found.verdict == "supported", found
        assert found.p < 0.05
        assert found.effect
        assert "6 pairs" in found.detail


@pytest.mark.parametrize("number", CASES)
def test_runs_that_say_the_opposite_contradict_it(number):
    for found in verdicts(runs(CASES[number][1]), number):
        assert found.verdict == "contradicted", found
        assert found.p < 0.05


@pytest.mark.parametrize("number", CASES)
def test_runs_without_a_difference_but_much_noise_decide_nothing(number):
    flat = dict.fromkeys(CASES[number][0], 0.45)
    flat |= {role: 5 * 0.45 for role in flat if number == "2b" and role.startswith("ips+")}
    for found in verdicts(runs(flat, n=5, noise=0.5), number):
        assert found.verdict == "undecided", found
        assert found.p > 0.01


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("number", CASES)
def test_two_runs_decide_nothing(number, side):
    for found in verdicts(runs(CASES[number][side], n=2), number):
        assert found.verdict == "undecided"
        assert found.p is None
        assert "too few runs (2; 3 are needed)" in found.detail


def test_noisy_clicks_are_compared_with_perfect_ones_seed_by_seed():
    calm = runs(VARIANCE, users=("perfect",))
    found = verdict(calm + runs({k: 2 * v for k, v in VARIANCE.items()}, users=("noisy",)), "2c")
    assert (found.verdict, found.user) == ("supported", "noisy vs. perfect")
    opposite = verdict(calm + runs({k: v / 2 for k, v in VARIANCE.items()}, users=("noisy",)), "2c")
    assert opposite.verdict == "contradicted"
    alone = verdict(calm, "2c")
    assert alone.verdict == "undecided"
    assert "no run under noisy clicks" in alone.detail


def test_a_large_p_is_never_evidence_that_methods_are_alike():
    unsure = runs(methods(0.30, 0.32, 0.35, 0.45, 0.45, 0.45), n=4, noise=0.1, users=("noisy",))
    found = verdict(unsure, "4c", "noisy")
    assert found.verdict == "undecided"
    assert "equivalence test" in found.detail


def test_a_difference_within_the_margin_is_alike_even_if_significant():
    tiny = runs(methods(0.30, 0.32, 0.35, 0.450, 0.453, 0.45), n=15, noise=0.0005, users=("noisy",))
    assert verdict(tiny, "4c", "noisy").verdict == "supported"


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


def test_the_first_impressions_are_judged_by_themselves():
    #        0, 1000, 2000, 3000, 5000, 10,000, 100,000, 1,000,000
    early = {
        "PMGD": [0.2, 0.35, 0.36, 0.37, 0.37, 0.37, 0.37, 0.37],
        "ROLTR": [0.2, 0.30, 0.32, 0.34, 0.40, 0.42, 0.43, 0.43],
        "PDGD": [0.2, 0.25, 0.28, 0.30, 0.33, 0.36, 0.47, 0.48],
        "COLTR": [0.2] * 8,
        "DBGD": [0.2] * 8,
    }
    draws = np.random.default_rng(0)
    records = [
        record(role, curve[-1], seed, curve=[value + 0.002 * float(draws.normal()) for value in curve])
        for role, curve in early.items()
        for seed in range(6)
    ]
    assert verdict(records, "5a").verdict == "supported"
    assert verdict(records, "5b").verdict == "supported"
    assert verdict(records, "4c", "noisy").verdict == "contradicted"


def test_missing_runs_are_named():
    found = verdict(runs(methods(0.3, 0.3, 0.3, 0.4, 0.4, 0.4)), "3a")
    assert (found.verdict, found.collection, found.user, found.p) == ("undecided", "", "", None)
    assert "no grid of the study compares ips+, ips+-" in found.detail
    partly = {role: value for role, value in OFFLINE.items() if role != "DBGD"}
    for found in verdicts(runs(partly), "4a"):
        assert found.verdict == "undecided"
        assert f"grid mine has no run of DBGD under {found.user} clicks" in found.detail


def test_one_contradicted_part_is_enough_even_if_others_are_missing():
    partly = {"COLTR": 0.46, "ROLTR": 0.45, "PDGD": 0.45}
    assert {found.verdict for found in verdicts(runs(partly), "4a")} == {"contradicted"}


def test_short_runs_say_nothing_about_100_000_impressions():
    for found in verdicts(runs(LEVEL_REWARDS, ends=10_000), "3f"):
        assert found.verdict == "undecided"
        assert "end at 10,000 impressions, short of 100,000" in found.detail


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


def test_verdicts_are_per_collection_and_user():
    both = runs(OFFLINE) + runs(methods(0.30, 0.36, 0.35, 0.45, 0.45, 0.45), collection="Istella")
    found = {(v.collection, v.user): v.verdict for v in verdicts(both, "4b")}
    assert found == {
        ("MSLR10K", "perfect"): "supported",
        ("MSLR10K", "noisy"): "supported",
        ("Istella", "perfect"): "contradicted",
        ("Istella", "noisy"): "contradicted",
    }


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


def test_an_empty_study_decides_nothing():
    found = check(Results(STUDY, []))
    assert [v.number for v in found] == [sentence.number for sentence in SENTENCES]
    assert {v.verdict for v in found} == {"undecided"}


def test_the_docs_list_every_sentence():
    text = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
    for sentence in SENTENCES:
        assert f"| {sentence.number} | {sentence.text} |" in text
