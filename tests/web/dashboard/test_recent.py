"""The probabilities beside the newest pages are those that drew them."""

from itertools import permutations

import msgspec
import numpy as np
import pytest

from rankloop.learners import ROLTR
from rankloop.live.events import Event, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Request
from rankloop.web.dashboard.recent import as_shown

from .running import shop

CURVE = 1 / np.arange(1, 5)


def shown_page(pinned, mode="learning", seed=3):
    """A page as the service draws it, and as the dashboard tells it."""
    settings = shop(page_size=4, learner=ROLTR())
    fold = Fold(settings, [2.0, 1.0, -1.0, 0.5])
    fold.mode = mode
    X = np.random.default_rng(seed).random((6, 4)).astype(np.float32)
    request = Request("q", b"me", list("abcdef"), X, 4, pinned)
    page = Ranking(settings).rank(fold.view(), request, 7).impression
    assert page.group == 0
    return page, as_shown(
        Event(1, 1, Kind.SHOWN, 7, 0, b"me", encode(page)), page, settings, "open", np.zeros(4), CURVE
    )


@pytest.mark.parametrize("pinned", [{}, {2: 0}, {5: 3, 0: 1}])
def test_the_probabilities_of_a_pages_ranks_multiply_to_that_of_the_page(pinned):
    page, told = shown_page(pinned)
    drawn = [document.drawn for document in told.documents if not document.pinned]
    assert len(drawn) == 4 - len(pinned)
    assert np.prod(drawn) == pytest.approx(told.probability) == pytest.approx(np.exp(page.log_probability))
    assert [document.examined for document in told.documents] == [1.0, 1 / 2, 1 / 3, 1 / 4]


def test_however_far_scores_lie_apart_each_rank_has_its_probability():
    page, _ = shown_page({})
    scores = np.full(6, -3_000.0, np.float32)
    scores[page.page] = 0.0, -1.0, -1_000.0, -1_001.0
    far = msgspec.structs.replace(page, scores=scores.tobytes(), log_probability=-0.6)
    told = as_shown(Event(1, 1, Kind.SHOWN, 7, 0, b"me", encode(far)), far, shop(learner=ROLTR()), "open", np.zeros(4))
    assert [document.drawn for document in told.documents] == pytest.approx([1 / (1 + np.exp(-1)), 1.0] * 2)


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
