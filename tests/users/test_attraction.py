"""Attraction: tables by name that follow the collection's grades, by gain, or by an attribute of the documents."""

import msgspec
import numpy as np
import pytest

from rankloop.data.collection import Collection
from rankloop.errors import DataError, SettingsError
from rankloop.learners import ROLTR
from rankloop.simulation import simulate
from rankloop.users import ATTRACTIONS, ByAttribute, ByGain, PositionBased, cascade, dbn, mixture, noisy, perfect

from ..proofs import small

THREE = small.collection(highest=2)
FIVE = small.collection(highest=4)
SEVEN = Collection("seven", FIVE.train, FIVE.test, highest_grade=6)


def test_informational_and_almost_random_are_other_names():
    assert ATTRACTIONS["informational"] == ATTRACTIONS["noisy"]
    assert ATTRACTIONS["almost-random"] == ATTRACTIONS["near-random"]


@pytest.mark.parametrize(("data", "table"), [(THREE, (0.0, 0.5, 1.0)), (FIVE, (0.0, 0.2, 0.4, 0.8, 1.0))])
def test_a_named_person_takes_the_table_for_the_collections_grades(data, table):
    assert perfect().on(data).attraction == table
    assert cascade("perfect", stop="anywhere").on(data).attraction == table
    assert mixture(["perfect", dbn("perfect")]).on(data).people[1].attraction == table


def test_a_simulation_does_so_and_says_so():
    run = simulate(ROLTR(), perfect(), THREE, 30, seed=1, evaluate_every=0)
    told = simulate(ROLTR(), perfect(grades=3), THREE, 30, seed=1, evaluate_every=0)
    assert run.settings["user"]["attraction"] == [0.0, 0.5, 1.0]
    assert run.weights.tolist() == told.weights.tolist()


@pytest.mark.parametrize("user", [noisy(grades=5), PositionBased([0.1] * 5), mixture(["noisy", noisy(grades=5)])])
def test_a_table_for_more_grades_than_there_are_is_refused(user):
    with pytest.raises(SettingsError, match=r"has a table for 5 grades, but small has 3 \(0 to 2\)"):
        simulate(ROLTR(), user, THREE, 10, seed=1)


def test_grades_that_could_occur_count():
    known = Collection("three seen", THREE.train, THREE.test, highest_grade=4)
    assert noisy(grades=5).on(known) == noisy(grades=5)


def test_a_name_has_no_table_for_seven_grades():
    with pytest.raises(SettingsError, match="user 'noisy' is defined for 5 or 3 grades; got 7"):
        noisy().on(SEVEN)


def test_attraction_by_gain_follows_the_gain():
    """γ(y) = ε + (1 − ε)(2^y − 1)/(2^max − 1)."""
    user = PositionBased(ByGain(0.1), [1.0] * 10)
    assert user.on(FIVE).attraction == pytest.approx([0.1 + 0.9 * gain / 15 for gain in (0, 1, 3, 7, 15)])
    assert user.on(THREE).attraction == pytest.approx([0.1, 0.4, 1.0])
    assert user.on(SEVEN).attraction[-1] == 1.0
    with pytest.raises(SettingsError, match="noise must be a number, at least 0 and at most 1; got 2"):
        ByGain(2)


def tasteful(data, liked):
    return data.with_attributes(taste=np.isin(np.arange(len(data.train.grades)), liked).astype(float))


def test_people_may_look_at_an_attribute_instead_of_the_grade():
    """Whoever likes the third document of each query clicks on it and on nothing else."""
    third = FIVE.train.offsets[:-1][np.diff(FIVE.train.offsets) > 2] + 2
    data = tasteful(FIVE, third)
    user = PositionBased(ByAttribute("taste"), [1.0] * 10)
    run = simulate(ROLTR(), user, data, 200, seed=1, evaluate_every=0, page_size=10)
    assert set(run.clicks.tolist()) == {0, 1}
    assert run.clicks.tolist() == [
        int(shown) for shown in _shown(data, third, simulate(ROLTR(), user, data, 200, seed=1, evaluate_every=0))
    ]


def _shown(data, liked, run):
    """By hand: was the liked document on the page?"""
    seen = []
    small.drive(
        ROLTR(), PositionBased(ByAttribute("taste"), [1.0] * 10), data, len(run.clicks), 1,
        seen=lambda _, page, clicks, __: seen.append(clicks.sum() > 0),
    )  # fmt: skip
    return seen


def test_probabilities_by_attribute_are_those_of_the_rows():
    data = tasteful(FIVE, [4])
    user = cascade(ByAttribute("taste"), stop="anywhere", stopping="navigational")
    assert user.click_probabilities([0, 0], rows=[3, 4], split=data.train) == pytest.approx([0.0, 0.8])
    assert user.clicks([0, 0], 1, 0, rows=[4, 3], split=data.train).tolist() == [1.0, 0.0]
    with pytest.raises(SettingsError, match="attribute 'taste' of the documents; say which they are"):
        user.click_probabilities([0, 0])
    with pytest.raises(SettingsError, match="rows must be one for each of the 2 grades; got 1"):
        user.click_probabilities([0, 0], rows=[1], split=data.train)


@pytest.mark.parametrize(
    ("person", "setting"), [(lambda **more: cascade(ByAttribute("taste"), stop="anywhere", **more), "stopping"),
                            (lambda **more: dbn(ByAttribute("taste"), **more), "satisfaction")],
)  # fmt: skip
def test_who_may_stop_must_be_told_when_as_no_table_goes_with_an_attribute(person, setting):
    with pytest.raises(SettingsError, match=f"{setting} must be given with an attraction of your own"):
        person()
    for stops in ("navigational", [0.2, 0.3, 0.5, 0.7, 0.9]):
        run = simulate(ROLTR(), person(**{setting: stops}), tasteful(FIVE, [0, 1]), 20, seed=1, evaluate_every=0)
        assert len(run.clicks) == 20


def test_an_attribute_must_be_there_and_a_probability():
    with pytest.raises(DataError, match=r"no attribute 'taste'; they have none.*with_attributes\(taste=…\)"):
        PositionBased(ByAttribute("taste")).on(FIVE)
    priced = FIVE.with_attributes(price=np.arange(len(FIVE.train.grades)))
    with pytest.raises(SettingsError, match=r"'price' of small must hold probabilities in \[0, 1\]; it goes from 0"):
        PositionBased(ByAttribute("price")).on(priced)


def test_settings_of_an_attraction_have_no_unknown_keys():
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"by": "gain", "nois": 0.1}, ByGain)
