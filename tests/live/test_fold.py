"""A model is a function of its settings and its log: whatever the chunks and the restarts, the same bits."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, Posterior
from rankloop.learners.merits import FILL, SMALLEST
from rankloop.live.events import Closing, Event, Kind, Restored, encode
from rankloop.live.fates import FATES
from rankloop.live.fold import Fold
from rankloop.live.kept import summary_of
from rankloop.live.settings import Guards, Weights
from rankloop.rankers import MLP

from ..proofs import literal
from .diary import Diary, page_of
from .lively import FEATURES, candidates, lively, model

LEARNERS = [
    ROLTR(),
    ROLTR(baseline=True, decay=0.9, discount=0.4, discount_steps=True),
    PDGD(decay=0.9),
    DBGD(),
    DBGD(interleaving="team-draft"),
    PMGD(candidates=3),
    COLTR(candidates=4, decay=0.9),
    FixedWeights(),
    Posterior(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_stopping_and_going_on_after_any_event_gives_the_same_bits(learner):
    diary = lively(learner)
    fold = Fold(diary.settings)
    for event in diary.events:
        again = Fold(diary.settings, [0.0] * FEATURES)
        again.restore(fold.state(), fold.offset)
        assert again.state() == fold.state()
        fold = again
        diary.apply_to(fold, event)
    assert fold.state() == diary.fold.state()
    assert fold.ranker.weights.tobytes() == diary.fold.ranker.weights.tobytes()
    assert fold.offset == diary.fold.offset


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_state_restored_anywhere_ranks_the_next_page_as_the_uninterrupted_one(learner):
    diary = lively(learner, pages=20)
    fold = Fold(diary.settings)
    for event in diary.events:
        diary.apply_to(fold, event)
        again = Fold(diary.settings, [1.0] * FEATURES)
        again.restore(fold.state(), fold.offset)
    asked = [candidates(99)]
    one, two = Diary(diary.settings), Diary(diary.settings)
    one.fold, two.fold = fold, again
    assert [page_of(one.show(X)) for X in asked] == [page_of(two.show(X)) for X in asked]


def test_a_network_goes_on_after_any_event_with_the_same_bits():
    network = MLP(hidden=(8,))
    diary = lively(PDGD(ranker=network), pages=20)
    fold = Fold(diary.settings)
    begun = fold.ranker.weights
    for event in diary.events:
        fold = Fold.restored(diary.settings, fold.state(), fold.offset)
        diary.apply_to(fold, event)
    assert fold.state() == diary.fold.state()
    assert fold.ranker.weights.size == network.count(FEATURES)
    assert fold.ranker.weights.tolist() != begun.tolist()
    assert summary_of(fold.state()).weights.tolist() == fold.ranker.weights.tolist()


@examples(25)
@given(st.lists(st.booleans(), min_size=60, max_size=60))
def test_the_chunks_in_which_a_log_is_read_make_no_difference(restarts):
    diary = DIARIES["ROLTR"]
    fold = Fold(diary.settings)
    for event, restart in itertools.zip_longest(diary.events, restarts[: len(diary.events)], fillvalue=False):
        diary.apply_to(fold, event)
        if restart:
            state, offset = fold.state(), fold.offset
            fold = Fold(diary.settings)
            fold.restore(state, offset)
    assert fold.state() == diary.fold.state()


DIARIES = {"ROLTR": lively(ROLTR(baseline=True))}


def test_what_was_folded_in_this_story_is_everything_there_is():
    fates = DIARIES["ROLTR"].fold.fates
    assert {"learned", "control", "paused", "void", "capped"} <= set(fates)
    closings = [event for event in DIARIES["ROLTR"].events if event.kind == Kind.CLOSED]
    assert sum(fates.values()) == len(closings)
    assert set(fates) <= set(FATES)


def test_the_order_of_closings_matters_and_is_that_of_the_log():
    """Otherwise two readers of one log could end with different weights."""

    def weights(order):
        diary = Diary(model())
        shown = [diary.show(candidates(n)) for n in range(3)]
        for place in order:
            diary.close(shown[place], [1.0] + [0.0] * (len(page_of(shown[place]).page) - 1))
        return diary.fold.ranker.weights.tobytes()

    assert weights([0, 1, 2]) == weights([0, 1, 2])
    assert weights([0, 1, 2]) != weights([2, 1, 0])


def test_a_state_knows_nothing_of_clocks_and_other_models():
    diary = lively(ROLTR(), pages=10)
    fold = Fold(diary.settings)
    for event in diary.events:
        diary.apply_to(fold, event._replace(at=event.at + 10**9, model=event.model + 3))
    assert fold.state() == diary.fold.state()


# What is learned: against the current scores, or those that drew the page


def gradient(scores, page, clicks, rank_rewards=literal.reward) -> list[float]:
    """ROLTR's with immediate rewards, from its definition: R = c·R_click + (1 − c)·R_no-click."""
    earned = []
    for rank, c in enumerate(clicks, start=1):
        click, skip = (rank_rewards("ips+-", clicked, 1.0 / rank, rank) for clicked in (1, 0))
        earned.append(c * click + (1.0 - c) * skip)
    return literal.policy_gradient(scores, page, earned)


@pytest.mark.parametrize("late_updates", ["current", "drawn"])
def test_a_late_update_is_computed_against_the_scores_that_the_settings_ask_for(late_updates):
    X, other = candidates(4), candidates(9)
    guards = Guards(control=0.0, stale_below=0.0)
    diary = Diary(model(learner=ROLTR(learning_rate=0.5), scaling="none", late_updates=late_updates, guards=guards))
    shown = diary.show(X)
    for _ in range(3):
        late = diary.show(other)
        diary.close(late, [1.0, 0.0, 0.0, 0.0])
    before = diary.fold.ranker.weights
    clicks = [0.0, 1.0, 0.25, 0.0]
    diary.close(shown, clicks)
    weights = before if late_updates == "current" else np.zeros(FEATURES)
    scores = X.astype(np.float64) @ weights
    wanted = 0.5 * X.T.astype(np.float64) @ gradient(scores, page_of(shown).page, clicks)
    np.testing.assert_allclose(diary.fold.ranker.weights - before, wanted, rtol=2e-5, atol=1e-7)  # float32 scores
    wrong = X.astype(np.float64) @ (before if late_updates == "drawn" else np.zeros(FEATURES))
    assert not np.allclose(wanted, 0.5 * X.T @ gradient(wrong, page_of(shown).page, clicks), rtol=1e-3)


def test_without_delay_both_are_the_same_bits():
    weights = []
    for late_updates in ("current", "drawn"):
        diary = Diary(model(late_updates=late_updates))
        for number in range(10):
            shown = diary.show(candidates(number))
            diary.close(shown, [1.0] + [0.0] * (len(page_of(shown).page) - 1))
        weights.append(diary.fold.ranker.weights.tobytes())
    assert weights[0] == weights[1]


# Graded rewards


@examples(40)
@given(st.lists(st.floats(0, 1, width=32), min_size=4, max_size=4), st.sampled_from(["ips+-", "naive-", "ips+"]))
def test_a_graded_reward_is_so_much_of_a_click_and_the_rest_of_none(values, reward):
    X = candidates(4)
    diary = Diary(model(learner=ROLTR(reward=reward, learning_rate=1.0), scaling="none"))
    shown = diary.show(X)
    diary.close(shown, values)
    earned = []
    for rank, c in enumerate(values, start=1):
        click, skip = (literal.reward(reward, clicked, 1.0 / rank, rank) for clicked in (1, 0))
        earned.append(c * click + (1.0 - c) * skip)
    wanted = X.T.astype(np.float64) @ literal.policy_gradient([0.0] * len(X), page_of(shown).page, earned)
    np.testing.assert_allclose(diary.fold.ranker.weights, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "learner", [PDGD(), DBGD(), DBGD(interleaving="team-draft"), PMGD(candidates=6), COLTR(candidates=6)], ids=str
)
def test_methods_that_need_binary_clicks_take_one_half_and_more_for_a_click(learner):
    def learned(values):
        diary = Diary(model(learner=learner, start=Weights((0.5, 0.1, -0.2))))
        for number in range(12):
            shown = diary.show(candidates(5 * number + 4))
            diary.close(shown, np.roll(values, number).tolist())
        return diary.fold.ranker.weights.tolist()

    assert learned([0.5, 0.4999, 0.75, 0.0]) == learned([1.0, 0.0, 1.0, 0.0])
    assert learned([0.5, 0.4999, 0.75, 0.0]) != learned([1.0, 1.0, 1.0, 0.0])


# Roll back


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("kind", [Kind.ROLLED_BACK, Kind.REFOLDED])
def test_a_roll_back_brings_back_parameters_and_scaling_and_keeps_the_count(learner, kind):
    diary = Diary(model(learner=learner, scaling="running"))
    for number in range(10):
        shown = diary.show(candidates(number))
        diary.close(shown, [0.0, 1.0, 0.0, 0.0][: len(page_of(shown).page)])
        if number == 4:
            then, view = diary.fold.state(), diary.fold.view()
    fates, version = dict(diary.fold.fates), diary.fold.version
    diary.control(kind, encode(Restored(5, then)))
    back = diary.fold.view()
    assert back.model.ranker.weights.tolist() == view.model.ranker.weights.tolist()
    assert back.scaler.state() == view.scaler.state()
    assert [np.asarray(part).tolist() for part in _flat(back.model)] == [
        np.asarray(part).tolist() for part in _flat(view.model)
    ]
    assert back.version == version + 1
    assert dict(diary.fold.fates) == fates
    assert diary.fold.mode == "learning"


def _flat(model) -> list:
    return [inner for part in model for inner in (_flat(part) if hasattr(part, "_asdict") else [part])]


def test_learning_after_a_roll_back_is_learning_from_that_state():
    straight, back = Diary(model()), Diary(model())
    for diary in (straight, back):
        diary.close(diary.show(candidates(4)), [1.0, 0.0, 0.0, 0.0])
    then = back.fold.state()
    # A detour, and back.
    detour = back.show(candidates(9))
    straight.show(candidates(9))
    back.close(detour, [0.0, 0.0, 0.0, 1.0])
    back.control(Kind.ROLLED_BACK, encode(Restored(1, then)))
    for diary in (straight, back):
        diary.close(diary.show(candidates(14)), [0.0, 1.0, 0.0, 0.0])
    assert back.fold.ranker.weights.tobytes() == straight.fold.ranker.weights.tobytes()


# Divergence


def test_an_update_beyond_all_numbers_is_undone_and_the_model_waits_for_a_person():
    diary = Diary(model(learner=ROLTR(learning_rate=1e30), scaling="none"))
    X = candidates(4) * np.float32(1e12)
    assert diary.close(diary.show(X), [1.0, 0.0, 0.0, 0.0]) == "diverged"
    assert diary.fold.mode == "paused"
    assert diary.fold.ranker.weights.tolist() == [0.0] * FEATURES
    assert diary.fold.version == 0
    assert diary.close(diary.show(X), [1.0, 0.0, 0.0, 0.0]) == "paused"


def test_only_divergence_pauses_a_model_and_what_else_goes_wrong_is_a_fault():
    diary = Diary(model())
    shown = diary.show(candidates(4))
    with pytest.raises(SettingsError, match="clicks"):
        diary.close(shown, [7.0, 0.0, 0.0, 0.0])
    assert diary.fold.mode == "learning"


def test_a_closing_of_something_else_is_missing():
    diary = Diary(model())
    diary.show(candidates(4))
    closing = Event(2, 1, Kind.CLOSED, 0, 0, b"", encode(Closing(1, [0.0] * 4, "asked")))
    assert diary.fold.apply(closing, Event(1, 1, Kind.CLICKED, 0, 0, b"", b"")) == "missing"


def test_what_is_known_of_documents_outgrows_its_table_and_survives_a_restart():
    """More documents than a table begins with, each of a query of its own; then both go on alike, in every bit."""
    diary = Diary(model(scaling="robust"))
    for number in range(80):
        shown = diary.show(candidates(number))
        diary.close(shown, [1.0] + [0.0] * (len(page_of(shown).page) - 1))
    merits = diary.fold.ranker.model.merits
    assert merits.taken[0] > SMALLEST * FILL
    again = Fold.restored(diary.settings, diary.fold.state(), diary.fold.offset)
    assert again.ranks_as(diary.fold)
    shown = diary.show(candidates(81))
    diary.close(shown, [1.0] + [0.0] * (len(page_of(shown).page) - 1))
    diary.apply_to(again, diary.events[-1])
    assert again.ranks_as(diary.fold)
    assert again.state() == diary.fold.state()


def test_of_two_documents_with_the_same_features_the_clicked_one_rises_for_its_query_alone():
    X = np.array([[1.0, 0.0, 0.5], [1.0, 0.0, 0.5], [0.0, 1.0, 0.2]], np.float32)
    diary = Diary(model(scaling="none", page_size=3))
    for _ in range(40):
        shown = diary.show(X)
        diary.close(shown, [float(document == 1) for document in page_of(shown).page])
    view, page = diary.fold.view(), page_of(shown)
    same, clicked, _ = view.scores_of(page, "float32")
    assert clicked > same
    elsewhere = view.scores(view.scaler.apply(X), view.numbers("another query", page.candidates))
    assert elsewhere[0] == elsewhere[1]
