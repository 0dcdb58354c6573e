import csv
import io
from itertools import pairwise, permutations

import numpy as np
import pytest

from rankloop.live.events import Event, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.http.recent import BOUNDS, KEPT_MINUTES, Answers, Recent
from rankloop.live.ranking import Ranking, Request
from rankloop.web.dashboard.charts import Line, Plot
from rankloop.web.dashboard.recent import as_shown

from .running import shop


def test_a_chart_as_csv_says_what_each_column_is_and_holds_the_same_numbers():
    line = Line("learned", [1.5, None], [1.0, None], [2.0, None])
    plot = Plot([0, 60], "time", "clicks per page", [line], unit="", time=True)
    assert list(csv.reader(io.StringIO(plot.table()))) == [
        ["time (UTC)", "learned: clicks per page", "learned: 95 % low", "learned: 95 % high"],
        ["1970-01-01T00:00:00Z", "1.5", "1.0", "2.0"],
        ["1970-01-01T00:01:00Z", "", "", ""],
    ]


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


def shown_page(pinned, mode="learning", seed=3):
    """A page as the service draws it, and as the dashboard tells it."""
    settings = shop(page_size=4)
    fold = Fold(settings, [2.0, 1.0, -1.0, 0.5])
    fold.mode = mode
    X = np.random.default_rng(seed).random((6, 4)).astype(np.float32)
    request = Request("q", b"me", list("abcdef"), X, 4, pinned)
    page = Ranking(settings).rank(fold.view(), request, 7).impression
    assert page.group == 0
    return page, as_shown(Event(1, 1, Kind.SHOWN, 7, 0, b"me", encode(page)), settings, "open", np.zeros(4))


@pytest.mark.parametrize("pinned", [{}, {2: 0}, {5: 3, 0: 1}])
def test_the_probabilities_of_a_pages_ranks_multiply_to_that_of_the_page(pinned):
    page, told = shown_page(pinned)
    drawn = [document.drawn for document in told.documents if not document.pinned]
    assert len(drawn) == 4 - len(pinned)
    assert np.prod(drawn) == pytest.approx(told.probability) == pytest.approx(np.exp(page.log_probability))
    assert [document.examined for document in told.documents] == [1.0, 1 / 2, 1 / 3, 1 / 4]


def test_how_likely_the_best_document_comes_first_is_exact():
    page, told = shown_page({})
    z = np.frombuffer(page.scores, np.float32).astype(float)
    total = first = 0.0
    for order in permutations(range(6), 2):
        p = np.exp(z[order[0]]) / np.exp(z).sum()
        p *= np.exp(z[order[1]]) / (np.exp(z).sum() - np.exp(z[order[0]]))
        total += p
        first += p * (order[0] == z.argmax())
    assert total == pytest.approx(1.0)
    assert told.keeps_first == pytest.approx(first)


def test_a_frozen_models_pages_are_certain():
    _, told = shown_page({}, mode="frozen")
    assert [document.drawn for document in told.documents] == [1.0] * 4
    assert (told.probability, told.keeps_first) == (1.0, 1.0)
