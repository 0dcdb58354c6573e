"""What the pages tell of a model, against its definition."""

import numpy as np
import pytest

from rankloop.web.demo.comparison import Belief, Shown
from rankloop.web.demo.explaining import bars_of, lesson_of, order_of, reason, results_of
from rankloop.web.demo.features import FEATURES

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture
def shown(engine):
    candidates = engine.search("read csv file")
    return Shown("rankloop-demo", candidates, "signed", list(candidates.ids[:10])[::-1], 3, None)


def weights_of(seed):
    return np.random.default_rng(seed).normal(size=len(FEATURES))


def test_the_reasons_of_a_result_add_up_to_its_score(shown):
    weights = weights_of(1)
    for result in results_of(shown, Belief(weights, 3)):
        row = shown.candidates.ids.index(result.document.id)
        score = float(shown.candidates.features[row].astype(float) @ weights)
        assert sum(bar.value for bar in result.reason.bars) + result.reason.others == pytest.approx(score)
        assert result.reason.score == pytest.approx(score)
        assert result.engine_place == row + 1


def test_a_result_knows_its_place_in_the_models_own_order(shown):
    belief = Belief(weights_of(2), 3)
    order = [shown.candidates.ids[row] for row in order_of(shown.candidates, belief.weights)]
    found = results_of(shown, belief)
    assert [result.document.id for result in found] == shown.ranking
    assert all(order[result.place - 1] == result.document.id for result in found)


def test_features_that_say_nothing_are_no_reason():
    features = np.zeros(len(FEATURES), np.float32)
    features[3] = 0.5
    told = reason(features, weights_of(3))
    assert [bar.label for bar in told.bars] == ["bm25_module"]
    assert told.others == 0.0


def test_a_lesson_tells_every_document_of_the_first_page_where_it_was(shown):
    before, after = weights_of(4), weights_of(4) + 0.5 * weights_of(5)
    last = shown.candidates.ids[order_of(shown.candidates, after)[-1]]
    page = shown._replace(ranking=[last, *shown.ranking[:9]])
    lesson = lesson_of(page, last, Belief(before, 1), Belief(after, 2), learned=True, others=False)
    old = [shown.candidates.ids[row] for row in order_of(shown.candidates, before)]
    assert [move.after for move in lesson.moves] == [*range(1, 11), len(shown.candidates)]
    assert all(old[move.before - 1] == move.id for move in lesson.moves)
    assert lesson.rank == 1
    rose = shown.candidates.features.astype(float) @ (after - before)
    wanted = dict(zip(shown.candidates.ids, rose - sum(rose) / len(rose), strict=True))
    assert [move.gain for move in lesson.moves] == pytest.approx([wanted[move.id] for move in lesson.moves], abs=1e-5)
    sizes = [abs(change.after - change.before) for change in lesson.changes]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(np.abs(after - before).max())


def test_bars_point_to_their_side_and_stay_inside():
    for bar in bars_of(weights_of(6)):
        assert 0 <= bar.x <= bar.x + bar.width <= 100
        assert (bar.x + bar.width == pytest.approx(50, abs=0.02)) if bar.value < 0 else bar.x == 50
