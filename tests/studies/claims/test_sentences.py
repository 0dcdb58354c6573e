"""Every sentence of the paper can come out supported, contradicted and undecided, on runs made by hand."""

from pathlib import Path

import numpy as np
import pytest

from rankloop.studies.claims import SENTENCES, check
from rankloop.studies.records import Results

from .made import (
    LEVEL_REWARDS,
    OFFLINE,
    ONLINE,
    SLOWER,
    STUDY,
    VARIANCE,
    discounts,
    methods,
    record,
    rewards,
    runs,
    verdict,
    verdicts,
)


def etas(*values):
    return dict(zip(("η=0", "η=0.5", "η=1", "η=1.5", "η=2"), values, strict=True))


FASTER = discounts((0.44, 0.46, 0.48, 0.56), (0.40, 0.42, 0.44, 0.46))


UNLIKE_REWARDS = rewards(0.35, 0.4502, 0.40, 0.45, 0.37, 0.45)


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


def test_an_empty_study_decides_nothing():
    found = check(Results(STUDY, []))
    assert [v.number for v in found] == [sentence.number for sentence in SENTENCES]
    assert {v.verdict for v in found} == {"undecided"}


def test_the_docs_list_every_sentence():
    text = (Path(__file__).parents[3] / "docs" / "claims.md").read_text(encoding="utf-8")
    for sentence in SENTENCES:
        assert f"| {sentence.number} | {sentence.text} |" in text
