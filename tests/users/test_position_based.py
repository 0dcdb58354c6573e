"""The simulated user clicks with examination × attraction, each rank on its own."""

from collections import Counter

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.loop import draw_query
from rankloop.propensities import Known, PowerLaw
from rankloop.simulation import simulate
from rankloop.users import PositionBased, by_name, navigational, near_random, noisy, perfect
from rankloop.users.contract import click_page

from ..proofs import literal, small
from ..proofs.chisquare import agrees

PAPER = {
    ("perfect", 5): (0.0, 0.2, 0.4, 0.8, 1.0),
    ("perfect", 3): (0.0, 0.5, 1.0),
    ("noisy", 5): (0.4, 0.6, 0.7, 0.8, 0.9),
    ("noisy", 3): (0.4, 0.7, 0.9),
}


# Hofmann et al. (2013) and Oosterhuis and de Rijke (2018), written out: a table checked against itself says nothing.
LITERATURE = {
    ("navigational", 5): (0.05, 0.3, 0.5, 0.7, 0.95),
    ("navigational", 3): (0.05, 0.5, 0.95),
    ("near-random", 5): (0.4, 0.45, 0.5, 0.55, 0.6),
    ("near-random", 3): (0.4, 0.5, 0.6),
}


@pytest.mark.parametrize(("name", "grades"), LITERATURE)
def test_attractions_of_the_other_users_are_the_literatures(name, grades):
    assert by_name(name, grades).attraction == LITERATURE[name, grades]
    user = {"navigational": navigational, "near-random": near_random}[name]
    assert (user(grades).name, user(grades).attraction) == (name, LITERATURE[name, grades])


@pytest.mark.parametrize(("name", "grades"), PAPER)
def test_attractions_are_the_papers_table(name, grades):
    assert by_name(name, grades).attraction == PAPER[name, grades]


def clicks_on(user, page_grades, impressions, seed=5) -> np.ndarray:
    compiled = user.compiled(len(page_grades))
    grades, clicks = np.array(page_grades, np.int64), np.zeros((impressions, len(page_grades)))
    for i in range(impressions):
        click_page(compiled, grades, grades, 0, 0, np.uint64(seed), i, clicks[i])
    return clicks


USERS = [
    perfect(5),
    perfect(3),
    noisy(5),
    noisy(3),
    noisy(5, eta=0.5),
    navigational(5),
    near_random(5),
    PositionBased(attraction=[0.1, 0.9], examination=[1.0, 0.7, 0.7, 0.2, 0.5, 0.6, 0.01]),
]


@pytest.mark.parametrize("user", USERS, ids=str)
def test_every_grade_is_clicked_at_every_rank_as_often_as_the_tables_say(user):
    ranks, impressions = 7, 3000
    for shift, _ in enumerate(user.attraction):
        page = [(rank + shift) % len(user.attraction) for rank in range(ranks)]
        clicks = clicks_on(user, page, impressions, seed=shift)
        for rank, grade in enumerate(page):
            chance = user.attraction[grade] * user.examination.at(ranks)[rank]
            assert agrees(Counter(clicks[:, rank]), {1.0: chance, 0.0: 1.0 - chance})


def test_ranks_are_clicked_independently():
    user = noisy(5, eta=0.3)
    page = [3, 0, 4]
    patterns = Counter(map(tuple, clicks_on(user, page, 20_000).astype(int).tolist()))
    chances = [user.attraction[g] * (1 / k) ** 0.3 for k, g in enumerate(page, start=1)]
    assert agrees(patterns, {tuple(c): p for c, p in literal.click_patterns(chances)})


def test_click_probabilities_are_examination_times_attraction():
    user = PositionBased([0.1, 0.9], examination=PowerLaw(2.0))
    assert user.click_probabilities([1, 0, 1]).tolist() == pytest.approx([0.9, 0.025, 0.1])


def test_a_perfect_user_never_clicks_the_irrelevant_and_always_the_best_on_top():
    clicks = clicks_on(perfect(), [4, 0, 0], 500)
    assert clicks[:, 0].all()
    assert not clicks[:, 1:].any()


def test_a_grade_beyond_the_table_is_refused_before_anything_runs():
    data = small.collection(highest=4)
    with pytest.raises(SettingsError, match=r"'noisy' knows grades 0 to 2, but small.* has grade 4"):
        simulate(ROLTR(), noisy(grades=3), data, 10, seed=1)
    with pytest.raises(SettingsError, match="knows grades 0 to 1, but the page has grade 2"):
        PositionBased([0.1, 0.9]).click_probabilities([0, 2])


@pytest.mark.parametrize("grade", [-1, 0.5])
def test_a_grade_that_is_no_grade_is_refused(grade):
    with pytest.raises(SettingsError, match="grade"):
        PositionBased([0.1, 0.9]).click_probabilities([grade])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"attraction": [0.1, 1.2]}, r"attraction\[1\] must be a probability in \[0, 1\]; got 1.2"),
        ({"attraction": []}, "attraction must be a list of probabilities"),
        ({"attraction": "half"}, "attraction must be one of 'perfect', 'noisy'.*; got 'half'"),
        ({"attraction": 0.5}, "attraction must be a list of probabilities, at least one; got 0.5"),
        ({"attraction": [float("nan")]}, r"attraction\[0\]"),
        ({"attraction": [0.5], "examination": [0.5, -0.1]}, r"\[1\].*got -0.1"),
        ({"attraction": [0.5], "examination": 5}, "examination"),
        ({"attraction": [0.5], "examination": "all"}, "examination|values"),
    ],
    ids=str,
)
def test_impossible_tables_are_refused(settings, reason):
    with pytest.raises(SettingsError, match=reason):
        PositionBased(**settings)


def test_a_user_may_never_look_at_the_lower_ranks():
    user = PositionBased([0.0, 1.0], examination=[1.0, 0.5, 0.0])
    assert user.click_probabilities([1, 1, 1]).tolist() == [1.0, 0.5, 0.0]


def test_an_unknown_name_or_number_of_grades_is_refused():
    with pytest.raises(SettingsError, match=r"'perfect', 'noisy'.*got 'lazy'"):
        by_name("lazy")
    with pytest.raises(SettingsError, match="5 or 3 grades; got 4"):
        noisy(grades=4)


def test_examination_for_fewer_ranks_than_the_page_shows_is_refused():
    user = PositionBased([0.1, 0.2, 0.3, 0.4, 0.5], examination=[1.0, 0.5])
    with pytest.raises(SettingsError, match="given for 2 ranks, but a page shows 10"):
        simulate(ROLTR(), user, small.collection(), 10, seed=1)


def test_examination_may_be_a_curve_or_a_list():
    assert PositionBased([0.5], [1.0, 0.5]).examination == Known((1.0, 0.5))
    assert PositionBased([0.5]).examination == PowerLaw(1.0)


@pytest.mark.parametrize("eta", [-1.0, float("inf"), "one"])
def test_an_impossible_eta_is_refused(eta):
    with pytest.raises(SettingsError, match="eta must be a number, at least 0; got"):
        noisy(eta=eta)


def test_what_is_clicked_does_not_depend_on_which_query_was_drawn():
    """Each purpose has a stream of its own: with one for both, the draw of the query would decide the first click."""
    user = PositionBased([0.5], examination=[1.0])
    clicks = clicks_on(user, [0], 4000, seed=3)[:, 0]
    queries = [int(draw_query(np.uint64(3), i, 2)) for i in range(4000)]
    together = Counter(zip(queries, clicks.tolist(), strict=True))
    assert agrees(together, {(query, click): 0.25 for query in (0, 1) for click in (0.0, 1.0)})
