"""What is wrong with a learner or a user of one's own is told, in compiled code and in plain Python."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.learners import PDGD, Learner
from rankloop.learners.contract import Work, learn, show
from rankloop.rankers import Linear
from rankloop.simulation import simulate
from rankloop.users import User, noisy
from rankloop.users.contract import click

from .proofs import small

DATA = small.collection()


class Own:
    """A learner in plain Python."""

    def rank(self, X):
        return np.arange(len(X))

    def learn(self):
        pass


@pytest.mark.parametrize(
    ("learner", "user", "hint"),
    [
        (PDGD(), noisy, "user is rl.users.noisy itself, which has to be called; did you mean rl.users.noisy()?"),
        (PDGD, noisy(), "learner is rl.PDGD itself, which has to be called; did you mean rl.PDGD()?"),
        (Own, noisy(), "learner is Own itself, which has to be called; did you mean Own()?"),
    ],
    ids=["user", "learner", "own"],
)
def test_whoever_forgets_the_parentheses_is_told(learner, user, hint):
    with pytest.raises(SettingsError, match=re.escape(f"simulate: {hint}")):
        simulate(learner, user, DATA, 5, 1)


class Shown(NamedTuple):
    ranker: Any
    first: int


class Room(NamedTuple):
    base: Work


class Showing(Learner, frozen=True):
    """Shows the candidates in their order, or the first of them again and again."""

    again: bool = False

    def model(self, features, page_size, seed, weights=None):
        return Shown(Linear().parameters("zeros", features, seed), 0 if self.again else 1)

    def work(self, features, page_size, candidates):
        return Room(Work.of(features, page_size, candidates))


@implements(show, Shown)
@kernel
def show_in_order(model, work, X, seed, impression, page, notes):
    for k in range(page.size):
        page[k] = k * model.first


@implements(learn, Shown)
@kernel
def learn_nothing(model, work, X, seed, impression, page, notes, clicks, measure):
    return np.nan


class Wish(NamedTuple):
    value: float


class Wishing(User, frozen=True):
    """Writes one value at every rank."""

    value: float = 1.0

    def compiled(self, page_size, split=None):
        return Wish(self.value)


@implements(click, Wish)
@kernel
def click_as_wished(user, shown, seed, impression, clicks):
    clicks[:] = user.value


def test_a_page_or_clicks_that_cannot_be_are_told_of_in_compiled_code_of_ones_own():
    run = simulate(Showing(), Wishing(), DATA, 50, 1, evaluate_every=25)
    assert run.clicks.min() > 0
    for wrong in (7.0, np.nan):
        with pytest.raises(SettingsError, match=r"`click` for Wish, impression [0-9]: clicks must"):
            simulate(Showing(), Wishing(value=wrong), DATA, 50, 1)
    with pytest.raises(SettingsError, match=r"`show` of Showing, impression [0-9]: page must hold different indices"):
        simulate(Showing(again=True), Wishing(), DATA, 50, 1)


class Ranks:
    """An object that never learns."""

    def rank(self, X):
        return np.arange(len(X))


def test_an_object_without_a_verb_and_a_learner_without_a_part_are_told_which():
    with pytest.raises(SettingsError, match="needs rank and learn; Ranks has no learn"):
        simulate(Ranks(), noisy(), DATA, 5, 1)

    class Lazy(Learner, frozen=True):
        pass

    with pytest.raises(SettingsError, match=r"Lazy needs a method model\(features, page_size, seed, weights\)"):
        simulate(Lazy(), noisy(), DATA, 5, 1)
