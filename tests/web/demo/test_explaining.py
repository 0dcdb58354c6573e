"""What the pages tell of a model, against its definition."""

import numpy as np
import pytest

from rankloop.web.demo.comparison import Belief, DrawnPage
from rankloop.web.demo.explaining import bars_of, before_of, is_current, lesson_of, order_of, reason, results_of
from rankloop.web.demo.features import FEATURES, LABELS

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture
def shown(engine):
    candidates = engine.search("read csv file")
    return DrawnPage("rankloop-demo", candidates, "signed", list(candidates.ids[:10])[::-1], 3, None)


def weights_of(seed):
    return np.random.default_rng(seed).normal(size=len(FEATURES))


def test_the_reasons_of_a_result_add_up_to_how_far_it_is_from_the_pages_mean(shown):
    weights = weights_of(1)
    rows = [shown.candidates.ids.index(id) for id in shown.ranking]
    mean = float((shown.candidates.features[rows].astype(float) @ weights).mean())
    for result in results_of(shown, Belief(weights, 3)):
        row = shown.candidates.ids.index(result.document.id)
        score = float(shown.candidates.features[row].astype(float) @ weights) - mean
        assert sum(bar.value for bar in result.reason.bars) + result.reason.others == pytest.approx(score)
        assert result.reason.score == pytest.approx(score)
        assert result.engine_place == row + 1


def test_before_and_now_tell_of_each_other(shown):
    page = shown._replace(ranking=[*shown.candidates.ids[30:33], *shown.candidates.ids[:7]])
    now, before = results_of(page, Belief(weights_of(2), 3)), before_of(page)
    assert [result.document.id for result in now] == page.ranking
    assert [result.rise for result in now] == [30, 30, 30, *[-3] * 7]
    assert [one.document.id for one in before] == list(shown.candidates.ids[:10])
    assert [one.now for one in before] == [4, 5, 6, 7, 8, 9, 10, None, None, None]


def test_a_page_is_current_as_long_as_the_weights_put_the_same_first(shown):
    weights = weights_of(2)
    best = [shown.candidates.ids[row] for row in order_of(shown.candidates, weights)[:10]]
    assert is_current(shown._replace(ranking=best), Belief(weights, 3))
    assert not is_current(shown._replace(ranking=best[::-1]), Belief(weights, 3))


def test_features_that_say_nothing_are_no_reason():
    features = np.zeros(len(FEATURES), np.float32)
    features[3] = 0.5
    told = reason(features, weights_of(3))
    assert [bar.label for bar in told.bars] == [LABELS["bm25_module"]]
    assert told.others == 0.0


def test_a_lesson_tells_where_the_clicked_one_was_and_how_many_moved(shown):
    before, after = weights_of(4), weights_of(4) + 0.5 * weights_of(5)
    old, new = (order_of(shown.candidates, weights) for weights in (before, after))
    last = shown.candidates.ids[new[-1]]
    page = shown._replace(ranking=[last, *shown.ranking[:9]])
    lesson = lesson_of(page, last, Belief(before, 1), Belief(after, 2), learned=True, others=False)
    assert (lesson.before, lesson.after) == (old.index(new[-1]) + 1, len(shown.candidates))
    assert lesson.moved == sum(old[place] != new[place] for place in range(10))
    assert lesson.of == 10
    assert lesson.more == []  # it fell


def test_what_lifted_a_result_is_what_it_has_more_of_and_its_bar_is_shown_and_points_that_way(shown):
    before = weights_of(4)
    row, page = 8, [shown.candidates.ids.index(id) for id in shown.ranking]
    apart = shown.candidates.features[row] - shown.candidates.features[page].mean(axis=0)
    after = Belief(before + apart, 2)
    lesson = lesson_of(shown, shown.candidates.ids[row], Belief(before, 1), after, learned=True, others=False)
    assert lesson.after < lesson.before
    assert lesson.less == []
    assert lesson.more
    bars = {bar.label: bar for bar in bars_of(after.weights, 6, lesson.more)}
    assert len(bars) == 6
    for label in lesson.more:
        assert bars[label].value > 0
        assert apart[list(LABELS.values()).index(label)] > 0


def test_what_lowered_a_result_is_told(shown):
    after, row = weights_of(4), 8
    page = [shown.candidates.ids.index(id) for id in shown.ranking]
    apart = shown.candidates.features[row] - shown.candidates.features[page].mean(axis=0)
    lesson = lesson_of(
        shown, shown.candidates.ids[row], Belief(after + apart, 1), Belief(after, 2), learned=True, others=False
    )
    assert lesson.after > lesson.before
    assert lesson.more == []
    assert lesson.less


def test_a_click_that_taught_nothing_is_no_lesson(shown):
    belief = Belief(weights_of(4), 1)
    lesson = lesson_of(shown, shown.ranking[0], belief, belief, learned=True, others=False)
    assert not lesson.learned
    assert (lesson.moved, lesson.more, lesson.less) == (0, [], [])


def test_what_counts_most_is_shown_in_an_order_that_does_not_change():
    weights = weights_of(6)
    shown = [bar.label for bar in bars_of(weights, 6)]
    smallest_shown = sorted(abs(weights))[-6]
    assert shown == [label for label, w in zip(LABELS.values(), weights, strict=True) if abs(w) >= smallest_shown]


def test_bars_point_to_their_side_and_stay_inside():
    for bar in bars_of(weights_of(6)):
        assert 0 <= bar.x <= bar.x + bar.width <= 100
        assert (bar.x + bar.width == pytest.approx(50, abs=0.02)) if bar.value < 0 else bar.x == 50
