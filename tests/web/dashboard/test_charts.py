"""Charts as files, and how quick answers were."""

import csv
import io
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from rankloop.learners import ROLTR, Posterior
from rankloop.live.events import Event, Kind
from rankloop.live.http.recent import BOUNDS, KEPT_MINUTES, Answers, Recent
from rankloop.web.dashboard.charts import CHARTS, Line, Plot, Source, errors, gain, latency, learning, rewards
from rankloop.web.dashboard.intervals import Sums
from rankloop.web.dashboard.reading import EMPTY
from rankloop.web.dashboard.trail import Known
from rankloop.web.dashboard.verdict import Verdict

from .running import shop


def test_a_chart_as_csv_says_what_each_column_is_and_holds_the_same_numbers():
    line = Line("learned", [1.5, None], [1.0, None], [2.0, None])
    plot = Plot([0, 60], "time", "clicks per page", [line], unit="", time=True)
    assert list(csv.reader(io.StringIO(plot.table()))) == [
        ["time (UTC)", "learned: clicks per page", "learned: 95 % low", "learned: 95 % high"],
        ["1970-01-01T00:00:00Z", "1.5", "1.0", "2.0"],
        ["1970-01-01T00:01:00Z", "", "", ""],
    ]


def test_a_single_page_is_no_point_beside_others_that_have_a_band():
    """It would be drawn as if it were certain: no clicks at all, in a step that has just begun."""
    many, one = Sums(100, 150.0, 300.0), Sums(1, 0.0, 0.0)
    [line] = learning(Source(shop(), EMPTY._replace(times={0: {0: {0: many}}, 1: {0: {0: one}}}), {}, {})).series
    assert (line.values, line.low[1], line.high[1]) == ([1.5, None], None, None)
    [line] = learning(Source(shop(), EMPTY._replace(times={0: {0: {0: one}}}), {}, {})).series
    assert (line.values, line.low) == ([0.0], None)


def test_a_step_without_a_page_is_a_gap_that_no_line_crosses():
    many = Sums(100, 150.0, 300.0)
    times = {0: {0: {0: many}}, 2: {0: {0: many}}, 8: {0: {0: many}}}
    plot = learning(Source(shop(), EMPTY._replace(times=times, step=2), {}, {}))
    assert plot.x == [0, 120, 240, 360, 480]
    assert plot.series[0].values == [1.5, 1.5, None, None, 1.5]
    assert plot.document()["join"] is False


def test_the_gain_is_drawn_as_it_was_known_with_decisions_marked():
    known = Verdict("good", "", "", 0.1, 0.05, 0.2)
    trail = [Known(60_000 * place, place, known) for place in range(3)]
    decisions = [Event(1, 1, kind, 0, at, b"", b"") for kind, at in ((Kind.PAUSED, 60_000), (Kind.ROLLED_BACK, -1))]
    plot = gain(Source(shop(), EMPTY._replace(trail=trail, decisions=decisions), {}, {}))
    assert (plot.x, plot.series[0].values) == ([0, 60, 120], [10.0] * 3)
    assert plot.document()["marks"] == [{"x": 60.0, "label": "paused"}]  # what was before the line is not on it
    assert gain(Source(shop(), EMPTY, {}, {})).series == []


def test_where_the_guard_came_on_the_line_of_the_gain_ends_and_says_why():
    """An empty chart with three points at its left end, of a model that hurts."""
    worse, on = Verdict("bad", "", "", -0.6, -0.8, -0.4), Verdict("bad", "", "")
    trail = [Known(60_000 * place, place, one) for place, one in enumerate([worse, worse, on, on, worse, on])]
    plot = gain(Source(shop(), EMPTY._replace(trail=trail), {}, {}))
    assert plot.document()["marks"] == [{"x": 120.0, "label": "guard on"}, {"x": 300.0, "label": "guard on"}]


@pytest.mark.parametrize("name", ["learning", "reward", "click-through"])
def test_a_band_from_tallies_says_that_it_does_not_know_people(name):
    """Tallies are kept per group and time, people are not: only the guard's comparison knows them."""
    assert "as if every page were a different person’s" in CHARTS[name].caption
    assert "too narrow where a few people come often" in CHARTS[name].caption


def test_the_reward_over_time_is_drawn_of_models_that_learn_from_one():
    reading = EMPTY._replace(times={7: {0: {0: Sums(2, 1.0, 1.0), 1: Sums(2, 1.0, 1.0)}}})
    for learner, values in ((ROLTR(reward="naive+"), [[0.5]]), (Posterior(), [])):
        plot = rewards(Source(shop(learner=learner), reading, {}, {}))
        assert [line.values for line in plot.series] == values


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\t=1", 'say "hi", you\n'])
def test_no_name_becomes_a_formula_or_another_column(name):
    plot = Plot([1], "rank", "weight", [Line(name, [2.0])])
    [header, row] = csv.reader(io.StringIO(plot.table(), newline=""))
    assert len(header) == len(row) == 2
    assert header[1][0] not in "=+-@\t"
    assert name in header[1]


def test_quantiles_read_off_buckets_are_within_a_bucket_of_the_truth():
    times = np.random.default_rng(1).lognormal(-6, 1, 20_000)
    recent = Recent(lambda: 0.0)
    for seconds in times:
        recent.note("rank", 200, seconds)
    answers = recent.minutes(0)[0]
    for share in (0.5, 0.95, 0.99):
        assert answers.quantile(share) == pytest.approx(np.quantile(times, share), rel=2 / 3)
    assert Answers().quantile(0.5) is None
    assert max(high / low for low, high in pairwise(BOUNDS)) <= 5 / 3 + 1e-9


def test_a_day_is_remembered_and_no_more():
    clock = [0.0]
    recent = Recent(lambda: clock[0])
    for minute in range(KEPT_MINUTES + 10):
        clock[0] = 60.0 * minute
        recent.note("rank", 200 + 300 * (minute % 2), 0.001)
        recent.note("clicks", 404, 0.001)
    told = recent.minutes(0)
    assert list(told) == list(range(10, KEPT_MINUTES + 10))
    assert (told[11].refused, told[11].failed, told[11].count) == (1, 1, 2)
    assert recent.minutes(KEPT_MINUTES, ["rank"])[KEPT_MINUTES].refused == 0
    assert recent.endpoints(KEPT_MINUTES)["clicks"].count == 10


def test_an_interval_without_an_end_goes_beyond_the_chart_and_says_so_in_the_file():
    endless = Verdict("good", "", "", 1.5, 0.25, float("inf"))
    plot = gain(Source(shop(), EMPTY._replace(trail=[Known(1000, 1, endless), Known(2000, 2, endless)]), {}, {}))
    drawn = msgspec.json.decode(msgspec.json.encode(plot.document()))
    assert drawn["y_range"][1] < 300 < drawn["series"][0]["high"][0]
    assert "inf" in plot.table()


def test_requests_are_counted_in_whole_numbers():
    nothing = Source(shop(), EMPTY, {}, {})
    assert errors(nothing).document()["counts"]
    assert not latency(nothing).document()["counts"]
