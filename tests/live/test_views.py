"""A published state scores as the fold did when it was published, whatever is learned later."""

import numpy as np

from .diary import Diary, page_of
from .in_process import X, model


def test_a_view_stays_as_it_was_published():
    diary = Diary(model())
    view = diary.fold.view()
    shown = diary.show(X)
    before = view.scores_of(page_of(shown), "float32").tolist()
    assert diary.close(shown, [1.0] * len(page_of(shown).page)) == "learned"
    assert view.scores_of(page_of(shown), "float32").tolist() == before
    assert diary.fold.view().scores_of(page_of(shown), "float32").tolist() != before
    assert (view.reign, view.settings, view.version) == (0, diary.settings, 0)
    assert np.array_equal(view.scores(view.scaler.apply(X)), before)
