"""What a simulation is asked for, and what its result is made of, wherever it is run."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.asked import OnDevice, asked_for, evaluation_points
from rankloop.errors import SettingsError
from rankloop.evaluation import measured


def test_settings_are_complete_and_the_person_fits_the_collection():
    data = rl.load("tiny")
    asked = asked_for(rl.ROLTR(), rl.users.noisy(), data, 250, 3, evaluate_every=100, metrics=["map"])
    assert asked.points == [0, 100, 200, 250] == evaluation_points(250, 100)
    assert set(asked.settings["metrics"]) == {"ndcg@10", "map"}
    assert [one.name for one in asked.online] == ["ndcg@10"]
    assert asked.user.grades == data.grades


@pytest.mark.parametrize("wrong", [{"impressions": 0}, {"seed": -1}, {"page_size": 0}, {"by_query": "some"}])
def test_what_cannot_be_is_refused(wrong):
    given = {"impressions": 10, "seed": 1} | wrong
    with pytest.raises(SettingsError):
        asked_for(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), **given)


def test_what_a_device_measured_reads_like_what_was_measured_here():
    test = rl.load("tiny").test
    weights = np.eye(2, test.features.shape[1])
    here = measured(weights, test)
    there = OnDevice(here.means(), here)
    np.testing.assert_array_equal(there.means(), here.means())
    np.testing.assert_array_equal(there.last().by_query(), here.by_query()[-1:])
    np.testing.assert_array_equal(there.by_query(), here.by_query())
