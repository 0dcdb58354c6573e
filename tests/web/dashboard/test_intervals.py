import numpy as np
import pytest
from scipy.stats import binom, binomtest

from rankloop.learners import PDGD, ROLTR
from rankloop.live.settings import ModelSettings
from rankloop.live.stores.contract import Tally
from rankloop.rewards import rewards
from rankloop.web.dashboard import intervals
from rankloop.web.dashboard.intervals import Estimate, Sums
from rankloop.web.dashboard.tallied import OVERS, by_group, by_time, over_named, reward, reward_of, step_of


def sums_of(values):
    return Sums(len(values), float(np.sum(values)), float(np.square(values).sum()))


@pytest.mark.parametrize(("clicks", "shown"), [(0, 1), (3, 10), (10, 10), (1, 5000)])
def test_click_through_has_wilsons_interval(clicks, shown):
    reference = binomtest(clicks, shown).proportion_ci(method="wilson")
    told = intervals.share(Sums(shown, float(clicks)))
    assert told == pytest.approx((clicks / shown, reference.low, reference.high), abs=1e-12)


def test_wilsons_interval_covers_the_truth_in_about_95_of_100_cases():
    # Exactly, over all outcomes of 50 pages; single p vary around 95 %, so the mean over p is looked at.
    told = [intervals.share(Sums(50, float(clicks))) for clicks in range(51)]
    shares = np.linspace(0.01, 0.99, 99)
    covered = [sum(binom.pmf(k, 50, p) for k, one in enumerate(told) if one.low <= p <= one.high) for p in shares]
    assert 0.94 < np.mean(covered) < 0.96
    assert min(covered) > 0.85


def test_a_mean_has_the_normal_interval_of_its_pages():
    clicks = np.random.default_rng(1).poisson(1.3, 400).astype(float)
    half = 1.96 * clicks.std(ddof=1) / 20
    assert intervals.mean(sums_of(clicks)) == pytest.approx(
        (clicks.mean(), clicks.mean() - half, clicks.mean() + half), rel=1e-4
    )


def test_a_difference_has_the_variance_of_both():
    draw = np.random.default_rng(2)
    one, other = draw.poisson(1.5, 300).astype(float), draw.poisson(1.0, 80).astype(float)
    told = intervals.difference(intervals.mean(sums_of(one)), intervals.mean(sums_of(other)))
    half = 1.96 * np.sqrt(one.var(ddof=1) / 300 + other.var(ddof=1) / 80)
    assert told == pytest.approx((one.mean() - other.mean(), told.value - half, told.value + half), rel=1e-4)


def test_too_little_is_not_made_into_an_interval():
    assert intervals.mean(Sums()) == Estimate(None)
    assert intervals.mean(Sums(1, 2.0, 4.0)) == Estimate(2.0)
    assert intervals.difference(Estimate(1.0, 0.5, 1.5), Estimate(None)) == Estimate(None)


def tallies_of(clicks, minute=0, group=0):
    """Of pages (pages, ranks), as the log adds them up."""
    ranks = {0: clicks.sum(axis=1)} | {rank + 1: clicks[:, rank] for rank in range(clicks.shape[1])}
    return [Tally(1, 1, minute, group, rank, *sums_of(values)[:3], 0.0) for rank, values in ranks.items()]


@pytest.mark.parametrize("learner", [ROLTR(), ROLTR(reward="naive+", clip=0.2), ROLTR(reward="ips-"), PDGD()])
def test_the_estimated_reward_is_the_mean_reward_of_the_pages(learner):
    settings = ModelSettings(name="shop", features=2, learner=learner, page_size=5)
    clicks = (np.random.default_rng(3).random((200, 5)) < 0.3).astype(float)
    worth = reward_of(settings)
    told = reward(by_group(tallies_of(clicks))[0], worth)
    assert told.value == pytest.approx((clicks * worth.click + (1 - clicks) * worth.skip).sum(axis=1).mean())
    if learner == ROLTR():
        pages = [rewards("ips+-", page, learner.propensities.at(5)).sum() for page in clicks]
        assert told.value == pytest.approx(np.mean(pages))


def test_the_rewards_interval_is_that_of_pages_whose_clicks_are_independent():
    settings = ModelSettings(name="shop", features=2, page_size=5)
    draw, worth = np.random.default_rng(4), reward_of(ModelSettings(name="shop", features=2, page_size=5))
    assert worth.name == settings.learner.reward
    attraction = np.array([0.5, 0.3, 0.2, 0.1, 0.05])
    told = [reward(by_group(tallies_of((draw.random((100, 5)) < attraction) * 1.0))[0], worth) for _ in range(400)]
    spread = np.std([one.value for one in told], ddof=1)
    # 400 repeats know a standard deviation to 4 %; three times that.
    assert np.mean([one.high - one.value for one in told]) / 1.96 == pytest.approx(spread, rel=0.12)


def test_points_of_a_chart_add_up_to_the_whole():
    draw = np.random.default_rng(5)
    tallies = [row for minute in range(40) for row in tallies_of(draw.random((3, 4)), minute)]
    steps = by_time(tallies, 5)
    assert list(steps) == list(range(0, 40, 5))
    whole = by_group(tallies)[0]
    for rank in range(5):
        assert sum(groups[0][rank].shown for groups in steps.values()) == whole[rank].shown == 120
        assert sum(groups[0][rank].total for groups in steps.values()) == pytest.approx(whole[rank].total)


def test_charts_have_few_enough_points_however_long_they_reach():
    for over in OVERS:
        for lasts in (0, 10, 100, over.minutes or 3650 * 1440):
            rows = [Tally(1, over.span, minute, 0, 0, 1, 0.0, 0.0, 0.0) for minute in (0, lasts)]
            assert lasts / step_of(rows, over) <= (60 if over.minutes else 530)


def test_the_finest_stretch_that_shows_all_of_a_model_is_chosen_unless_one_is_asked_for():
    chosen = [over_named(None, age).name for age in (1, 179, 181, 9 * 1440)]
    assert chosen == ["hours", "hours", "week", "all"]
    assert over_named("week", 1).name == "week"
    assert over_named("<script>", 1).name == "hours"
