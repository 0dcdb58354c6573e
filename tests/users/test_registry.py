"""People as files write them: there and back, and every mistake is a sentence."""

import pytest

from rankloop import users
from rankloop.errors import SettingsError
from rankloop.users import USERS, from_settings, person, to_settings

EVERYBODY = [
    users.noisy(),
    users.noisy(3, eta=0.5),
    users.PositionBased("perfect", "eye-tracking"),
    users.PositionBased(users.ByGain(0.2), [1.0, 0.5], name="mine"),
    users.PositionBased(users.ByAttribute("taste")),
    users.cascade("navigational", stop="after-click"),
    users.cascade([0.1, 0.9], stop="anywhere", stopping=[0.5, 0.5]),
    users.dbn("informational", continuation=0.8),
    users.click_chain("noisy", tau=[0.8, 0.4, 0.2]),
    users.user_browsing("almost-random"),
    users.trust("noisy", examination="baidu", repelled=[0.5] * 10),
    users.mixture(["perfect", users.trust("noisy")], [3, 1]),
    users.drift(["perfect", users.mixture(["noisy", "near-random"])], at=[5000], over=100),
]


def test_every_kind_is_among_them():
    assert {type(one) for one in EVERYBODY} == {*USERS.values()}


@pytest.mark.parametrize("user", EVERYBODY, ids=lambda user: user.name)
def test_settings_describe_a_person_completely(user):
    assert from_settings(to_settings(user)) == user
    assert from_settings(to_settings(user.graded(5))) == user.graded(5)


def test_a_name_is_a_position_based_person():
    assert person("study", "noisy") == users.noisy()
    assert person("study", {"attraction": "noisy", "examination": [1.0, 0.5], "name": "two"}) == users.PositionBased(
        "noisy", (1.0, 0.5), name="two"
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kind": "angelic"}, "kind must be one of position_based, cascade.*got 'angelic'"),
        ({"kind": 5}, "kind must be one of.*got 5"),
        ({"kind": "cascade", "attraction": "noisy"}, "Cascade: .*`stop` is missing"),
        ({"attraction": "noisy", "examinaton": [1.0]}, "PositionBased: .*unknown field `examinaton`"),
        ({"attraction": "noisy", "examination": "fast"}, "examination must be one of 'power-law', 'baidu'.*'fast'"),
        ({"kind": "mixture", "people": [{"kind": "trust", "attraction": [2.0]}]}, r"Trust: attraction\[0\] must be"),
        ({"attraction": "noisy", "name": 5}, "PositionBased: .*name"),
    ],
    ids=str,
)
def test_a_mistake_is_reported_with_its_place(settings, reason):
    with pytest.raises(SettingsError, match=reason):
        from_settings(settings)


@pytest.mark.parametrize("nobody", ["angelic", 5, None, users.PositionBased])
def test_nobody_is_refused(nobody):
    with pytest.raises(SettingsError, match="users must be among perfect, noisy"):
        person("study", nobody)
    with pytest.raises(SettingsError, match="user must be a user model"):
        users.require_user("simulate", nobody)
