"""Performance profiles: who gets one, and what is drawn."""

import numpy as np
import pytest

from rankloop.studies.coverage import Coverage
from rankloop.studies.figures import figures_for
from rankloop.studies.profiles import draw_profiles, has_profiles, profiles_caption

from .small_studies import small

METHODS = ({"learner": "ROLTR"}, {"learner": "PDGD"})


def test_methods_with_four_runs_each_get_profiles(made_up):
    assert has_profiles(Coverage(made_up(small(*METHODS, repeats=4))), "g")
    assert not has_profiles(Coverage(made_up(small(*METHODS, repeats=3))), "g")
    assert not has_profiles(Coverage(made_up(small(METHODS[0], repeats=4))), "g")
    assert "g-profiles" in [figure.name for figure in figures_for(made_up(small(*METHODS, repeats=4)))]


def test_a_line_is_the_share_of_runs_above(made_up):
    results = made_up(small(*METHODS, repeats=6))
    drawing = draw_profiles(Coverage(results), "g")
    axis = drawing.axes[0]
    assert [line.get_label() for line in axis.lines] == ["ROLTR", "PDGD"]
    ends = np.array(results.values("offline_ndcg", user="perfect", label="ROLTR"))
    levels, shares = axis.lines[0].get_data()
    assert shares == pytest.approx([(ends > level).mean() for level in levels])
    assert (shares[0], shares[-1]) == (1.0, 0.0)
    assert len(axis.collections) == 2  # a band for each


def test_the_caption_says_what_the_bands_speak_of(made_up):
    assert "for this collection" in profiles_caption(Coverage(made_up(small(*METHODS, repeats=4))), "g")
