"""The chance that a rank is looked at: a power law, or a list that must be long enough."""

import pytest

from rankloop.errors import SettingsError
from rankloop.propensities import Known, PowerLaw


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
