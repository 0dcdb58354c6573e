"""Code in the place of settings: what counts as a learner or a person, and what a run says of it."""

import pytest

import rankloop as rl
from rankloop.bare import Bare, is_learner, is_plain, taken_as
from rankloop.errors import SettingsError


class Able:
    def rank(self): ...

    def learn(self): ...


def person(grades): ...


def test_objects_and_functions_stand_in_for_settings_and_settings_for_themselves():
    assert isinstance(taken_as(rl.learners.Learner, Able()), Bare)
    assert isinstance(taken_as(rl.users.User, person), Bare)
    for kind, given in ((rl.learners.Learner, rl.ROLTR()), (rl.users.User, rl.users.noisy())):
        assert taken_as(kind, given) is given
    for given in (Able, 5, None):  # a class is no object of it
        assert taken_as(rl.learners.Learner, given) is given
    assert is_learner(Able())
    assert not is_learner(person)
    assert is_plain(None, person)
    assert not is_plain(None, None)


def test_a_run_knows_it_by_its_name_and_a_copy_learns():
    given = Able()
    bare = Bare(given)
    assert bare.settings("learner") == {"learner": "Able", "python": f"{__name__}.Able"}
    made = bare.model(3, 10, 1, None)
    assert type(made) is Able
    assert made is not given
    with pytest.raises(SettingsError, match="Able is an object and has its own start; leave weights out"):
        bare.model(3, 10, 1, [0.0])
