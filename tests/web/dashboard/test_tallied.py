"""What tallies say of rewards and of stretches of time is what the pages behind them say."""

import numpy as np
import pytest

from rankloop.learners import ROLTR
from rankloop.live.settings import ModelSettings
from rankloop.live.stores.rows import Tally
from rankloop.rewards import rewards
from rankloop.web.dashboard.tallied import OVERS, by_group, by_time, offered, over_named, reward, reward_of, step_of

from .summed import sums_of


def tallies_of(clicks, minute=0, group=0):
    """Of pages (pages, ranks), as the log adds them up."""
    ranks = {0: clicks.sum(axis=1)} | {rank + 1: clicks[:, rank] for rank in range(clicks.shape[1])}
    return [Tally(1, 1, minute, group, rank, *sums_of(values)[:3], 0.0) for rank, values in ranks.items()]


@pytest.mark.parametrize("learner", [ROLTR(), ROLTR(reward="naive+", clip=0.2), ROLTR(reward="ips-")])
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
    settings = ModelSettings(name="shop", features=2, page_size=5, learner=ROLTR())
    draw, worth = np.random.default_rng(4), reward_of(settings)
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
    assert over_named("hours", 9 * 1440).name == "hours"
    assert over_named("week", 9 * 1440).name == "week"
    # A longer stretch would show no more of a young model, in steps that are longer than its life.
    assert over_named("week", 1).name == over_named("all", 1).name == "hours"
    assert [over.name for over in offered(181)] == ["hours", "week"]
    assert over_named("<script>", 1).name == "hours"


def test_few_pages_are_drawn_in_longer_steps_so_that_there_is_a_line():
    hours = OVERS[0]
    at = lambda minutes: [Tally(1, 1, minute, 0, 0, 1, 0.0, 0.0, 0.0) for minute in minutes]  # noqa: E731
    assert step_of(at(range(60)), hours) == 1
    assert step_of(at(range(0, 60, 5)), hours) == 5
    assert step_of(at(range(0, 180, 25)), hours) == 30
    assert step_of(at([7]), hours) == 1
    assert step_of([], hours) == 1
