"""Runs made by hand, and what the claims say about them."""

import numpy as np

from rankloop.studies.claims import check
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


SLOWER = discounts((0.50, 0.48, 0.46, 0.44), (0.50, 0.46, 0.42, 0.30))
OFFLINE = methods(0.30, 0.32, 0.35, 0.45, 0.45, 0.45)
ONLINE = methods(510.0, 540.0, 450.0, 580.0, 585.0, 700.0)
LEVEL_REWARDS = rewards(0.45, 0.30, 0.45, 0.45, 0.45, 0.45)
VARIANCE = discounts((1.0, 1.2, 1.5, 2.0), (10.0, 12.0, 15.0, 20.0))
