"""Real people: a week of a fashion site under two policies at once (Open Bandit Data, Saito et al., 2021).

Each policy's log tells what the other one would have earned, and the other one's own log tells whether that is true.
A row is one position of one impression; the value is the click rate per row.
"""

import numpy as np
import pytest
from pyarrow import csv

from rankloop.offpolicy import Rules, estimate, evidence, on_policy

CAMPAIGNS = ["all", "men", "women"]
RULES = {method: Rules(method=method) for method in ("plain", "self-normalised")}


class Log:
    def __init__(self, folder, policy, campaign):
        columns = ["item_id", "position", "click", "propensity_score"]
        table = csv.read_csv(
            folder / "OpenBandit-sample" / policy / campaign / f"{campaign}.csv",
            convert_options=csv.ConvertOptions(include_columns=columns),
        )
        self.items, position, clicks, self.propensities = (table[name].to_numpy() for name in columns)
        self.positions, self.clicks = position - 1, clicks.astype(float)
        self.value = estimate(on_policy(self.clicks[:, None]))


def weights_for_random(bts, items):
    """1/items over the logged propensity: exact, row by row, however the logged policy drifted."""
    return 1 / items / bts.propensities


def weights_for_bts(random, bts, items):
    """How often the other log shows an item at a position, over how often chance does.

    Thompson sampling learns all week, so its propensities move, and one is logged only when an item is shown. But what
    that log earned is the click rate of the mixture that it showed: the shares in its rows. A pair that it never
    showed has share 0.
    """
    shares = np.zeros((3, items))
    np.add.at(shares, (bts.positions, bts.items), 1)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares[random.positions, random.items] / random.propensities


@pytest.fixture(params=CAMPAIGNS)
def both(request, shared_data):
    random, bts = (Log(shared_data, policy, request.param) for policy in ("random", "bts"))
    items = int(random.items.max()) + 1
    to_bts = evidence("bts from random", weights_for_bts(random, bts, items), random.clicks)
    to_random = evidence("random from bts", weights_for_random(bts, items), bts.clicks)
    return request.param, (to_bts, bts.value), (to_random, random.value)


def overlap(a, b):
    return a.low <= b.high and b.low <= a.high


def agree(a, b):
    """Two independent estimates of one value, closer than 1.96 standard errors of their difference.

    Of correct estimates, one pair in twenty is not; the logs are files, so those that agree always do.
    """
    return abs(a.value - b.value) <= 1.96 * np.hypot(a.standard_error, b.standard_error)


@pytest.mark.slow
@pytest.mark.parametrize("method", RULES)
def test_the_random_log_tells_what_thompson_sampling_earns(both, method):
    _, (log, truth), _ = both
    found = estimate(log, RULES[method])
    assert found.effective_sample_size > 2000
    assert found.low <= truth.value <= found.high
    assert agree(found, truth)


@pytest.mark.slow
@pytest.mark.parametrize("method", RULES)
def test_the_learned_log_tells_what_chance_earns_or_says_that_it_cannot(both, method):
    campaign, _, (log, truth) = both
    found = estimate(log, RULES[method])
    if campaign == "men":
        # Weights up to 178: the truth, itself ± 0.0013, lies at the interval's upper end.
        assert found.effective_sample_size > 500
        assert overlap(found, truth)
        assert agree(found, truth)
    elif campaign == "all":
        assert "rewarded impressions' worth of evidence" in found.reason
    else:
        # One row with propensity 0.000001 would weigh more than all the others.
        assert found.reason.startswith("only 2 of 10,000 impressions' worth of evidence")


@pytest.mark.thorough
def test_random_propensities_are_one_over_the_items(shared_data):
    for campaign, items in zip(CAMPAIGNS, (80, 34, 46), strict=True):
        assert Log(shared_data, "random", campaign).propensities == pytest.approx(np.full(10_000, 1 / items))
