"""Where a fold would have shown a page's documents: as they stood, while nothing else speaks; else where it wants."""

import msgspec
import numpy as np
import pytest

from rankloop.learners import ROLTR, Posterior
from rankloop.live.events import Group, encode
from rankloop.live.fold import Fold
from rankloop.live.redrawing import Redrawing
from rankloop.live.settings import ModelSettings

from .diary import FOR_ALL, Diary, page_of

FEATURES, CANDIDATES, PAGE = 3, 9, 5
rng = np.random.default_rng(3)
QUERIES = rng.normal(size=(4, CANDIDATES, FEATURES)).astype(np.float32)


def diary_of(learner=None) -> Diary:
    made = Diary(
        ModelSettings(
            name="m", features=FEATURES, page_size=PAGE, seed=3, guards=FOR_ALL, scaling="none",
            learner=learner or Posterior(),
        )
    )  # fmt: skip
    for number in range(30):
        visit(made, number)
    return made


def visit(diary, number, pinned=None):
    """A page, with clicks on what has most of the first feature."""
    shown = diary.show(QUERIES[number % len(QUERIES)], pinned=pinned)
    page = page_of(shown)
    own = page.matrix("float32")[page.page, 0]
    diary.close(shown, (own > 0.5).astype(float).tolist())
    return shown


def ranks_of(redrawing, fold, shown, impression=None):
    found = redrawing.ranks(fold, impression or page_of(shown), shown, counted=True)
    return None if found is None else found.tolist()


@pytest.mark.parametrize("pinned", [None, {4: 1, 6: 0}])
def test_the_state_that_drew_a_page_would_have_shown_it_as_it_was(pinned):
    diary, redrawing = diary_of(), Redrawing(0)
    shown = diary.show(QUERIES[0], pinned=pinned)
    assert ranks_of(redrawing, diary.fold, shown) == ([2, 3, 4] if pinned else [0, 1, 2, 3, 4])
    assert redrawing.pages == 0


@pytest.mark.parametrize("pinned", [None, {4: 1, 6: 0}])
def test_another_state_puts_each_document_where_it_would_have_shown_it_or_last(pinned):
    diary, redrawing = diary_of(), Redrawing(0)
    other = Diary(diary.settings)
    other.numbers = diary.numbers
    shown = diary.show(QUERIES[0], pinned=pinned)
    instead = page_of(other.show(QUERIES[0], pinned=pinned)).page
    drawn = [document for rank, document in enumerate(page_of(shown).page) if rank not in page_of(shown).pinned]
    assert drawn != [document for document in instead if document in drawn]
    wanted = [instead.index(document) if document in instead else PAGE - 1 for document in drawn]
    assert ranks_of(redrawing, other.fold, shown) == wanted
    assert redrawing.pages == 1


def test_what_counts_is_the_state_when_the_page_was_shown_if_somebody_saw_that():
    diary = diary_of()
    other, shown = Fold(diary.settings), diary.show(QUERIES[0])
    then, now = ranks_of(Redrawing(0), other, shown), ranks_of(Redrawing(0), diary.fold, shown)
    assert then != now
    redrawing = Redrawing(0)
    redrawing.see(other, shown)
    assert ranks_of(redrawing, diary.fold, shown) == then
    assert ranks_of(redrawing, diary.fold, shown) == now  # something late: nobody knows any more


def test_the_oldest_of_too_many_open_pages_are_forgotten(monkeypatch):
    monkeypatch.setattr("rankloop.live.redrawing.OPEN", 1)
    diary, redrawing = diary_of(), Redrawing(0)
    first, second = diary.show(QUERIES[0]), diary.show(QUERIES[1])
    for shown in (first, second):
        redrawing.see(Fold(diary.settings), shown)
    for shown, kept in ((first, False), (second, True)):
        then = ranks_of(Redrawing(0), Fold(diary.settings), shown)
        assert (ranks_of(redrawing, diary.fold, shown) == then) is kept


def test_pages_that_no_erasure_concerns_are_as_they_were():
    diary = diary_of()
    blank, shown = Fold(diary.settings), diary.show(QUERIES[0])
    page = page_of(shown)
    assert ranks_of(Redrawing(0), blank, shown) is not None
    assert ranks_of(Redrawing(shown.offset), blank, shown) is None
    blank.offset = 80
    assert ranks_of(Redrawing(0, until=80), blank, shown) is None
    assert ranks_of(Redrawing(0, until=81), blank, shown) is not None
    for other in ({"group": int(Group.INTERLEAVED)}, {"reign": 7}):
        assert ranks_of(Redrawing(0), blank, shown, msgspec.structs.replace(page, **other)) is None
    challenger = Fold(msgspec.structs.replace(diary.settings, challenges="other"))
    assert ranks_of(Redrawing(0), challenger, shown) is None


def test_methods_that_do_not_learn_how_far_people_look_take_pages_as_they_were():
    diary = diary_of(ROLTR())
    assert ranks_of(Redrawing(0), Fold(diary.settings), diary.show(QUERIES[0])) is None


def test_scores_beyond_all_numbers_leave_a_page_as_it_was():
    diary = diary_of()
    shown = diary.show(QUERIES[0])
    diary.fold.ranker.step_to(np.full(FEATURES, 1e38))
    with np.errstate(over="ignore", invalid="ignore"):
        assert ranks_of(Redrawing(0), diary.fold, shown) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda page: {"features": page.features[:-4]},
        lambda page: {"features": page.features[: -4 * CANDIDATES]},
        lambda page: {"page": [*page.page[:-1], 99]},
        lambda page: {"pinned": [99]},
        lambda page: {"page": [], "candidates": [], "features": b"", "scores": b""},
    ],
    ids=["a number is missing", "a feature is missing", "no such candidate", "no such rank", "empty"],
)
def test_a_damaged_page_is_as_it_was(damage):
    diary, redrawing = diary_of(), Redrawing(0)
    shown = diary.show(QUERIES[0])
    page = page_of(shown)
    shown = shown._replace(body=encode(msgspec.structs.replace(page, **damage(page))))
    redrawing.see(diary.fold, shown)
    assert ranks_of(redrawing, diary.fold, shown) is None
    assert redrawing.pages == 0


def test_while_no_page_would_have_been_another_a_fold_has_the_same_bits():
    diary = diary_of()
    for number in range(10):
        visit(diary, number, pinned={2: 0} if number % 2 else None)
    again = Fold(diary.settings)
    again.redrawing = Redrawing(0)
    for event in diary.events:
        diary.apply_to(again, event)
    assert again.state() == diary.fold.state()
    assert again.redrawing.pages == 0
