"""Settings are values: equal, printable, fit for TOML, and refused when they make no sense."""

import json
import math
import re

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import DivergenceError, RankloopError, SettingsError
from rankloop.learners import (
    COLTR,
    DBGD,
    LEARNERS,
    PDGD,
    PMGD,
    ROLTR,
    FixedWeights,
    MDPRank,
    Oracle,
    PairRank,
    PLRank,
    Posterior,
    from_settings,
    to_settings,
)
from rankloop.propensities import Known, PowerLaw
from rankloop.rewards import REWARDS
from rankloop.settings import require_number

unit = st.floats(0, 1)
positive = st.floats(1e-6, 1e6)
not_zero = st.floats(1e-6, 1)
initial = st.sampled_from(["zeros", "direction", "truncated-normal"])
propensities = st.builds(PowerLaw, st.floats(0, 5)) | st.builds(
    Known, st.lists(not_zero, min_size=1, max_size=10).map(tuple)
)
rate = {"learning_rate": positive, "initial": initial}
schedule = rate | {"decay": not_zero, "floor": st.floats(0, 1)}

ANY_LEARNER = {
    "ROLTR": st.builds(
        ROLTR,
        reward=st.sampled_from(REWARDS),
        discount=unit,
        propensities=propensities,
        temperature=positive,
        clip=unit,
        baseline=st.booleans(),
        skip_clickless=st.booleans(),
        discount_steps=st.booleans(),
        **schedule,
    ),
    "PDGD": st.builds(PDGD, temperature=positive, **schedule),
    "DBGD": st.builds(
        DBGD,
        interleaving=st.sampled_from(["probabilistic", "team-draft"]),
        delta=positive,
        **rate,
    ),
    "PMGD": st.builds(PMGD, candidates=st.integers(1, 999), delta=positive, **rate),
    "COLTR": st.builds(
        COLTR,
        candidates=st.integers(1, 999),
        delta=positive,
        temperature=positive,
        variance_weight=st.floats(0, 9),
        **schedule,
    ),
    "MDPRank": st.builds(
        MDPRank,
        variant=st.sampled_from(["paper", "authors"]),
        discount=st.none() | unit,
        temperature=positive,
        **schedule,
    ),
    "Posterior": st.builds(
        Posterior,
        prior_variance=positive,
        exploration=st.floats(0, 9),
        early_exploration=st.floats(0, 9),
        early_pages=positive,
        level_shape=st.floats(0, 9),
        level_drift=st.floats(0, 9),
        softness=st.floats(0, 9),
        start_pages=positive,
        half_life=st.floats(0, 1e6),
        intervals=st.booleans(),
    ),
    "PairRank": st.builds(PairRank, regularisation=positive, exploration=st.floats(0, 9)),
    "PLRank": st.builds(
        PLRank, samples=st.integers(1, 99), clip=not_zero, propensities=propensities, temperature=positive, **schedule
    ),
    "FixedWeights": st.builds(
        FixedWeights,
        weights=st.none() | st.lists(st.floats(-9, 9), min_size=1, max_size=5).map(tuple),
    ),
    "Oracle": st.builds(Oracle),
}


def test_every_learner_is_tried():
    ours = {name for name, kind in LEARNERS.items() if kind.__module__.startswith("rankloop.")}
    assert ANY_LEARNER.keys() == ours, "other tests register methods of their own"


@pytest.mark.parametrize("name", ANY_LEARNER)
@given(data=st.data())
@examples(60)
def test_a_learner_comes_back_from_its_settings_also_through_json(name, data):
    learner = data.draw(ANY_LEARNER[name])
    plain = to_settings(learner)
    again = from_settings(plain)
    assert again == learner
    assert hash(again) == hash(learner)
    assert repr(again) == repr(learner)
    assert from_settings(json.loads(json.dumps(plain))) == learner


@pytest.mark.parametrize("name", ANY_LEARNER)
@given(data=st.data())
@examples(20)
def test_settings_hold_only_what_toml_can_write(name, data):
    """Strings, numbers, booleans, lists and tables; TOML has no null."""

    def check(value) -> None:
        if isinstance(value, dict):
            assert all(isinstance(key, str) for key in value)
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            for part in value:
                check(part)
        else:
            assert type(value) in (str, int, float, bool)

    check(to_settings(data.draw(ANY_LEARNER[name])))


def test_settings_read_from_toml_make_the_learner():
    text = 'learner = "ROLTR"\ndiscount = 0.5\npropensities = {kind = "power_law", eta = 2}\n'
    learner = from_settings(msgspec.toml.decode(text))
    assert learner == ROLTR(discount=0.5, propensities=PowerLaw(2.0))


def test_numpy_numbers_are_numbers():
    learner = ROLTR(discount=np.float32(0.5), learning_rate=np.float64(0.25))
    assert from_settings(to_settings(learner)) == ROLTR(discount=0.5, learning_rate=0.25)
    rivals = PMGD(candidates=np.int64(5))
    assert from_settings(to_settings(rivals)) == PMGD(candidates=5)


def test_a_learner_says_what_it_is_and_nothing_that_is_default():
    assert repr(ROLTR()) == "ROLTR()"
    assert repr(from_settings(to_settings(ROLTR()))) == "ROLTR()"
    assert repr(PDGD(decay=0.5)) == "PDGD(decay=0.5)"


def test_learners_are_frozen():
    with pytest.raises(AttributeError):
        ROLTR().discount = 0.5


def test_a_wrong_input_is_a_value_error_and_a_divergence_is_not():
    assert issubclass(SettingsError, RankloopError)
    assert issubclass(SettingsError, ValueError)
    assert not issubclass(DivergenceError, ValueError)


NO_NUMBERS = [math.nan, math.inf, "0.5", None, True, [1.0]]
POSITIVE = ("a number, above 0", [0, -1.0, *NO_NUMBERS])
RATE = {"learning_rate": POSITIVE, "initial": ("'zeros', 'direction'", ["ones", None, 3])}
SCHEDULE = RATE | {
    "decay": ("a number, above 0 and at most 1", [0.0, 1.5, *NO_NUMBERS]),
    "floor": ("a number, at least 0", [-0.1, *NO_NUMBERS]),
}
COUNT = ("a whole number, at least 1", [0, -3, 1.5, "5", None, True])
RANKER = {"ranker": ("the settings of a ranker", [None, "linear", 1])}
FLAG = ("true or false|True or False|bool", ["no", 1, None])

REFUSED = {
    ROLTR: SCHEDULE
    | RANKER
    | {
        "reward": ("'naive+', 'naive-', 'naive+-', 'ips+', 'ips-', 'ips+-'", ["ips", None, 1, []]),
        "discount": ("a number, at least 0 and at most 1", [-0.1, 1.1, *NO_NUMBERS]),
        "temperature": POSITIVE,
        "clip": ("a number, at least 0 and at most 1", [-0.1, 1.1, *NO_NUMBERS]),
        "propensities": ("propensities|power_law|known", ["power_law", None, 1.0]),
        "baseline": FLAG,
        "skip_clickless": FLAG,
        "discount_steps": FLAG,
    },
    PDGD: SCHEDULE | RANKER | {"temperature": POSITIVE},
    DBGD: RATE | {"interleaving": ("'probabilistic', 'team-draft'", ["team", None]), "delta": POSITIVE},
    PMGD: RATE | {"candidates": COUNT, "delta": POSITIVE},
    COLTR: SCHEDULE
    | {
        "candidates": COUNT,
        "delta": POSITIVE,
        "temperature": POSITIVE,
        "variance_weight": ("a number, at least 0", [-1, *NO_NUMBERS]),
    },
    MDPRank: SCHEDULE
    | RANKER
    | {
        "variant": ("'paper', 'authors'", ["mine", None]),
        "discount": (
            "a number, at least 0 and at most 1",
            [v for v in (-0.1, 1.1, *NO_NUMBERS) if v is not None],
        ),
        "temperature": POSITIVE,
    },
    PairRank: {"regularisation": POSITIVE, "exploration": ("a number, at least 0", [-1, *NO_NUMBERS])},
    PLRank: SCHEDULE
    | RANKER
    | {
        "samples": COUNT,
        "clip": ("a number, above 0 and at most 1", [0, 1.5, *NO_NUMBERS]),
        "reward_rate": POSITIVE,
        "propensities": ("propensities|power_law|known", ["power_law", None, 1.0]),
        "temperature": POSITIVE,
    },
    FixedWeights: {"weights": ("number", ["abc", 5, [math.nan], ["a"], []])},
}
CASES = [
    pytest.param(learner, field, value, allowed, id=f"{learner.name}-{field}-{value!r}")
    for learner, fields in REFUSED.items()
    for field, (allowed, values) in fields.items()
    for value in values
]


@pytest.mark.parametrize(("learner", "field", "value", "allowed"), CASES)
def test_a_bad_value_is_refused_with_learner_field_value_and_what_is_allowed(learner, field, value, allowed):
    with pytest.raises(SettingsError) as caught:
        learner(**{field: value})
    message = str(caught.value)
    assert message.startswith(f"{learner.name}: ")
    assert field in message
    assert repr(value) in message
    assert re.search("|".join(map(re.escape, allowed.split("|"))), message)


def test_every_field_of_every_learner_has_a_bad_value_in_the_list():
    for learner, fields in REFUSED.items():
        assert set(fields) == set(learner.__struct_fields__)


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        ({}, "learner must be one of ROLTR, PDGD"),
        ({"learner": "rankSVM"}, "got 'rankSVM'"),
        ({"learner": ["ROLTR"]}, "learner must be one of"),
        ({"learner": "ROLTR", "discont": 0.5}, "ROLTR.*discont"),
        ({"learner": "ROLTR", "discount": 2}, "discount must be a number.*got 2"),
        ({"learner": "ROLTR", "discount": "high"}, "ROLTR.*discount"),
        ({"learner": "ROLTR", "baseline": 3}, "ROLTR.*baseline"),
        ({"learner": "ROLTR", "propensities": {"kind": "cascade"}}, "ROLTR.*cascade"),
        ({"learner": "PMGD", "candidates": 1.5}, "PMGD.*candidates"),
    ],
    ids=str,
)
def test_plain_settings_that_make_no_learner_are_refused(plain, reason):
    with pytest.raises(SettingsError, match=reason):
        from_settings(plain)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: PowerLaw(-1.0), "power_law: eta must be a number, at least 0; got -1.0"),
        (lambda: Known(()), "known: values must be a list of probabilities"),
        (lambda: Known((0.5, 1.5)), r"known: values\[1\] must be a probability in \[0, 1\]; got 1.5"),
        (lambda: Known((0.5,)).at(2), "given for 1 ranks, but a page shows 2"),
    ],
)
def test_impossible_propensities_are_refused(make, reason):
    with pytest.raises(SettingsError) as caught:
        make()
    assert reason.replace("\\", "") in str(caught.value)


def test_a_list_of_propensities_is_understood_or_refused():
    try:
        learner = ROLTR(reward="ips+", propensities=[1.0, 0.5])
    except SettingsError:
        return
    assert learner == ROLTR(reward="ips+", propensities=Known((1.0, 0.5)))
    assert learner.returns([1, 0]).tolist() == [1.0, 0.0]


def test_a_number_without_bounds_must_still_be_finite():
    with pytest.raises(SettingsError, match="x must be a finite number; got inf"):
        require_number("place", "x", math.inf)


def test_a_number_beyond_all_floats_is_refused_with_a_sentence():
    with pytest.raises(SettingsError, match="ROLTR: learning_rate must be a number, above 0; got 1000"):
        ROLTR(learning_rate=10**400)
    with pytest.raises(SettingsError, match=r"FixedWeights: weights\[0\] must be a finite number"):
        FixedWeights(weights=[10**400])


@pytest.mark.parametrize("curve", [{"kind": "power_law", "etaa": 3}, {"kind": "known", "values": [1.0], "eta": 1}])
def test_a_curve_with_an_unknown_key_is_refused(curve):
    with pytest.raises(SettingsError, match="unknown field"):
        from_settings({"learner": "ROLTR", "propensities": curve})
