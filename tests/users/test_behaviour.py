"""Each kind of people clicks as its definition says: probabilities by enumeration, draws by chi-square."""

import re
from collections import Counter

import numpy as np
import pytest

from rankloop import users
from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.users.behaviour import Behaviour, forward

from ..proofs.chisquare import agrees
from . import literal

PERFECT = (0.0, 0.2, 0.4, 0.8, 1.0)
NOISY = (0.4, 0.6, 0.7, 0.8, 0.9)
NAVIGATIONAL, NAVIGATIONAL_STOPS = (0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)
THETA = ((0.9,), (0.8, 0.7), (0.6, 0.5, 0.4), (0.35, 0.3, 0.25, 0.2), (0.5, 0.1, 0.6, 0.05, 0.7))
SLOW = (1.0, 0.85, 0.70, 0.60, 0.50)


def of(table, page):
    return [table[grade] for grade in page]


def position_based(table, curve):
    return lambda page: literal.independent([g * p for g, p in zip(of(table, page), curve, strict=False)])


KINDS = {
    "position-based": (users.PositionBased("noisy", "slow"), position_based(NOISY, SLOW)),
    "after-click": (
        users.cascade("navigational", stop="after-click"),
        lambda page: literal.cascade(of(NAVIGATIONAL, page), of(NAVIGATIONAL_STOPS, page), "after-click"),
    ),
    "anywhere": (
        users.cascade("navigational", stop="anywhere"),
        lambda page: literal.cascade(of(NAVIGATIONAL, page), of(NAVIGATIONAL_STOPS, page), "anywhere"),
    ),
    "own stops": (
        users.cascade(NOISY, stop="anywhere", stopping=(0.5, 0.1, 0.9, 0.0, 1.0)),
        lambda page: literal.cascade(of(NOISY, page), of((0.5, 0.1, 0.9, 0.0, 1.0), page), "anywhere"),
    ),
    "dbn": (
        users.dbn("navigational"),
        lambda page: literal.bayesian(of(NAVIGATIONAL, page), of(NAVIGATIONAL_STOPS, page), 0.9),
    ),
    "click chain": (users.click_chain("noisy"), lambda page: literal.click_chain(of(NOISY, page), (0.9, 0.5, 0.25))),
    "browsing": (
        users.user_browsing("noisy", examination=THETA),
        lambda page: literal.browsing(of(NOISY, page), THETA),
    ),
    "trust": (users.trust("noisy"), lambda page: literal.trust(of(NOISY, page))),
    "mixture": (
        users.mixture(["perfect", users.dbn("navigational"), users.trust("noisy")], [2, 1, 1]),
        lambda page: literal.mixed(
            [
                (0.5, position_based(PERFECT, [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])(page)),
                (0.25, literal.bayesian(of(NAVIGATIONAL, page), of(NAVIGATIONAL_STOPS, page), 0.9)),
                (0.25, literal.trust(of(NOISY, page))),
            ]
        ),
    ),
}
PAGES = [(0, 3, 1, 4, 2), (4, 4, 0, 2, 3), (2,)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_probabilities_are_those_of_the_definition_summed_over_every_pattern_of_clicks(kind, page):
    user, patterns = KINDS[kind]
    assert sum(patterns(page).values()) == pytest.approx(1.0, abs=1e-12)
    assert user.click_probabilities(page) == pytest.approx(literal.marginals(patterns(page)), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_whole_pages_are_drawn_as_often_as_the_definition_says(kind):
    """Chi-square over the 32 patterns of a page; a correct sampler fails for one seed in 10,000."""
    user, patterns = KINDS[kind]
    drawn = Counter(tuple(user.clicks(PAGES[0], 5, i).astype(int).tolist()) for i in range(6000))
    assert agrees(drawn, patterns(PAGES[0]))


def test_a_second_page_is_clicked_as_often_as_the_definition_says_whatever_the_first_was():
    """One draw per purpose and impression: what stops somebody is no draw that also decided a click."""
    user, patterns = KINDS["anywhere"]
    drawn = Counter(tuple(user.clicks(PAGES[1], 7, i).astype(int).tolist()) for i in range(6000))
    assert agrees(drawn, patterns(PAGES[1]))


def test_tables_of_ones_let_everybody_look_and_nobody_stop():
    clicked, examined = forward(Behaviour.of(3, [0.25, 0.5]), np.array([0, 1, 0]), np.arange(3))
    assert (clicked.tolist(), examined.tolist()) == ([0.25, 0.5, 0.25], [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"look": 2.0}, "look must hold probabilities in [0, 1]; got 2"),
        ({"minus": -0.1}, "minus must hold probabilities in [0, 1]; got -0.1"),
        ({"minus": np.nan}, "minus must hold probabilities in [0, 1]; got nan"),
        ({"plus": "much"}, "plus must hold probabilities in [0, 1]; got 'much'"),
        ({"after_click": 1.5}, "after_click must hold probabilities in [0, 1]; got 1.5"),
        ({"after_skip": [0.5] * 40}, "after_skip must be one value, or one per grade, 31 at most; got shape (40,)"),
        ({"attraction": []}, "attraction must hold probabilities in [0, 1]; got none"),
        ({"look": [1.0, 0.5]}, "look must be one value, or one for each of 3 ranks, or a table of 3 × 4; got shape"),
        ({"plus": [1.0, 0.5]}, "plus must be one value, or one for each of 3 ranks; got shape (2,)"),
        ({"after_click": 0.5, "tilt": 0.9}, "it goes from 0.59 to 1.4"),
        ({"tilt": -2.0}, "after_click + tilt · attraction must be a probability in [0, 1]; it goes from -1 to 0.8"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_tables_that_cannot_be_are_refused(tables, sentence):
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        Behaviour.of(3, **{"attraction": [0.1, 1.0]} | tables)


class Brief(users.User, frozen=True):
    """Somebody with a table for two grades."""

    by_row: bool = False

    def behaviour(self, page_size, split=None):
        return Behaviour.of(page_size, [0.1, 0.9], by_row=self.by_row)


def test_tables_that_are_too_short_for_a_collection_are_refused():
    split = Split.of(features=[[0.0], [1.0], [1.0]], grades=[1, 2, 0], queries=[1, 1, 1])
    with pytest.raises(SettingsError, match="user 'brief': attraction has 2 values, for grades 0 to 1, but there is a"):
        Brief().compiled(3, split)
    with pytest.raises(SettingsError, match="needs a value for each of the 3 documents; has 2"):
        Brief(by_row=True).compiled(3, split)
    with pytest.raises(SettingsError, match="attraction has 2 values"):
        Brief().clicks([0, 4], seed=1, impression=0)
