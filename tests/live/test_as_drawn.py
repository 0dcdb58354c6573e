"""A page of the log as a learner drew it: without what was pinned, with what the method noted or would have."""

import numpy as np
import pytest

from rankloop.learners import COLTR, PDGD, ROLTR
from rankloop.live.as_drawn import page_as_drawn

from .diary import Diary, page_of
from .lively import candidates, model

CLICKS = [1.0, 0.5, 0.25, 0.0]


def test_without_pins_it_is_the_page_that_was_shown():
    X = candidates(4)
    impression = page_of(Diary(model(learner=ROLTR())).show(X))
    page, clicks = page_as_drawn(impression, 5, X, CLICKS, ROLTR(), ROLTR())
    assert page.documents.tolist() == list(impression.page)
    assert (page.impression, page.ranks, clicks) == (5, None, CLICKS)
    assert page.candidates is X


@pytest.mark.parametrize("pinned", [{1: 0}, {6: 3}, {0: 1, 5: 2}])
def test_what_was_pinned_is_nobodys_choice(pinned):
    X = candidates(4)
    impression = page_of(Diary(model(learner=ROLTR())).show(X, pinned=pinned))
    page, clicks = page_as_drawn(impression, 0, X, CLICKS, ROLTR(), ROLTR())
    free = [rank for rank in range(4) if rank not in pinned.values()]
    assert page.ranks.tolist() == free
    assert clicks == [CLICKS[rank] for rank in free]
    # Each document is the same one as before, by its features and by its score.
    shown = [impression.page[rank] for rank in free]
    assert np.array_equal(page.candidates[page.documents], X[shown])
    assert np.array_equal(page.scores[page.documents], impression.score_values()[shown])
    assert len(page.candidates) == len(X) - len(pinned)


def test_of_anothers_page_it_knows_what_it_would_have_noted_itself():
    X, method = candidates(4), COLTR(candidates=3)
    impression = page_of(Diary(model(learner=method)).show(X))
    own, _ = page_as_drawn(impression, 0, X, CLICKS, method, method)
    others, _ = page_as_drawn(impression, 0, X, CLICKS, method, PDGD())
    assert own.notes.tobytes() == others.notes.tobytes() == impression.notes
    assert own.notes.flags.writeable
