"""Pictures of runs: panels for people and collections, means of what was measured."""

import numpy as np
import pytest

from rankloop.data.collection import Collection
from rankloop.errors import SettingsError
from rankloop.learners import PDGD, ROLTR
from rankloop.runs.many import simulate_many
from rankloop.runs.plots import curves
from rankloop.users import noisy, perfect

from ..proofs import small

DATA = small.collection()
RUNS = simulate_many([ROLTR(), PDGD()], [noisy(), perfect()], DATA, 60, seeds=2, evaluate_every=20)


def test_lines_are_means_over_runs():
    some = RUNS.select(label="PDGD", user="noisy")
    for curve, first in (("offline", 0), ("online", 1)):
        axis = RUNS.plot(curve).figure.axes[0]
        drawn = {line.get_color(): line for line in axis.lines}
        assert len(drawn) == 2
        at, values, _ = curves(some, curve)
        assert at.tolist() == [0, 20, 40, 60][first:]
        assert any(np.allclose(line.get_ydata(), values.mean(axis=0)) for line in drawn.values())


def test_people_stand_side_by_side_and_below_each_other_where_that_is_too_narrow():
    wide, narrow = RUNS.plot(), RUNS.plot(width="8.4cm")
    for picture, rows in ((wide, 1), (narrow, 2)):
        assert len(picture.figure.axes) == 2
        assert picture.figure.axes[0].get_subplotspec().get_gridspec().nrows == rows
    assert narrow.figure.get_figwidth() == pytest.approx(8.4 / 2.54)
    assert RUNS.plot(width=7, height="3in").figure.get_size_inches().tolist() == [7, 3]
    assert RUNS.plot(height=2).figure.get_size_inches().tolist() == [7, 2]


def test_panels_below_each_other_share_their_scale_and_low_ones_its_name():
    tall, low = RUNS.plot(width="8.4cm", height="6in"), RUNS.plot(width="8.4cm", height="2in")
    for picture in (tall, low):
        upper, lower = picture.figure.axes
        assert upper.get_ylim() == lower.get_ylim()
    assert [axis.get_ylabel() for axis in tall.figure.axes] == ["nDCG@10 on held-out queries"] * 2
    assert [axis.get_ylabel() for axis in low.figure.axes] == ["", ""]
    assert low.figure.get_supylabel().startswith("nDCG@10 on")
    with pytest.raises(
        SettingsError, match=r"height must be at least 1\.6in for 2 panels, one below the other; got 1in"
    ):
        RUNS.plot(width="8.4cm", height="1in")


def test_collections_have_rows_of_their_own():
    other = Collection("other", DATA.train, DATA.test)
    runs = RUNS + simulate_many(ROLTR(), noisy(), other, 60, seeds=1, evaluate_every=20)
    titles = [axis.get_title() for axis in runs.plot().figure.axes]
    assert titles == ["noisy clicks, small", "perfect clicks, small", "noisy clicks, other", "perfect clicks, other"]


def test_another_curve_is_refused():
    with pytest.raises(SettingsError, match="plot: curve must be one of 'offline', 'online'; got 'both'"):
        RUNS.plot("both")
    assert "for print" not in repr(RUNS[0].plot())
