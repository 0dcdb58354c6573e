"""The chance that a rank is looked at: a power law, or a list that must be long enough."""

import pytest

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.propensities import Known, PowerLaw, learned


@pytest.mark.parametrize(
    ("eta", "wanted"),
    [(0.0, [1, 1, 1]), (1.0, [1, 1 / 2, 1 / 3]), (2.0, [1, 1 / 4, 1 / 9]), (0.5, [1, 2**-0.5, 3**-0.5])],
)
def test_a_power_law_is_one_over_the_rank_to_the_eta(eta, wanted):
    assert PowerLaw(eta).at(3).tolist() == pytest.approx(wanted)


def test_a_list_must_have_a_probability_for_every_rank_of_the_page():
    assert Known((0.9, 0.5)).at(1).tolist() == [0.9]
    assert Known((0.9, 0.5)).at(2).tolist() == [0.9, 0.5]
    with pytest.raises(SettingsError, match="propensities are given for 2 ranks, but a page shows 3"):
        Known((0.9, 0.5)).at(3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: rl.PLRank(propensities=learned()),
            r"PLRank: propensities must be .*power_law\(eta\) or .known",
        ),
        (
            lambda: rl.Posterior(examination=learned()),
            r"Posterior: examination must be .* the curve to begin with",
        ),
        (lambda: learned(prior=learned()), r"learned: prior must be .*power_law\(eta\) or .known"),
    ],
)
def test_who_cannot_take_a_learned_curve_does_not_offer_it(make, sentence):
    with pytest.raises(SettingsError, match=sentence) as refused:
        make()
    assert ".learned()" not in str(refused.value)


def test_who_can_take_a_learned_curve_offers_it():
    with pytest.raises(SettingsError, match=r"ROLTR: propensities must be .*, or .learned\(\); got 1.0"):
        rl.ROLTR(propensities=1.0)
