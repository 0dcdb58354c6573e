"""A model is a function of its settings and its log: whatever the chunks and the restarts, the same bits."""

import itertools

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, Posterior
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import Closing, Event, Group, Kind, Restored, encode
from rankloop.live.fold import FATES, Fold
from rankloop.live.kept import summary_of
from rankloop.live.settings import Guards, ModelSettings, Weights
from rankloop.rankers import MLP

from ..proofs import literal
from .diary import FOR_ALL, Diary, page_of

FEATURES = 3
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


def model(**more) -> ModelSettings:
    return ModelSettings(name="m", **({"features": FEATURES, "page_size": 4, "seed": 7, "guards": FOR_ALL} | more))


def candidates(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=(3 + number % 5, FEATURES)).astype(np.float32)


def lively(learner, pages=30, **more) -> Diary:
    """A diary with everything in it: late closings, pins, groups, pauses, a roll back, a void page, caps."""
    guards = Guards(control=0.4, update_cap=0.02, client_pages=1, client_share=0.0, anonymous_share=0.0)
    diary = Diary(model(**({"learner": learner, "scaling": "running", "guards": guards} | more)))
    rng = np.random.default_rng(1)
    waiting, states = [], []
    for number in range(pages):
        pinned = {1: 0} if number % 7 == 3 else {}
        client = [b"anna....", b"", b"bert....", b"anna...."][number % 4]
        waiting.append(diary.show(candidates(number), client=client, pinned=pinned))
        if number % 3 == 2:
            due = set(rng.permutation(len(waiting))[:2].tolist())
            for place in sorted(due, reverse=True):
                shown = waiting[place]
                clicks = rng.choice([0.0, 0.0, 0.25, 0.5, 1.0], size=len(page_of(shown).page))
                diary.close(shown, clicks.tolist(), why="void" if number % 11 == 5 else "asked")
            waiting = [shown for place, shown in enumerate(waiting) if place not in due]
        states.append(diary.fold.state())
        if number == 12:
            diary.control(Kind.PAUSED)
        if number == 15:
            diary.control(Kind.RESUMED)
        if number == 20:
            diary.control(Kind.ROLLED_BACK, encode(Restored(0, states[9])))
        if number == 24:
            diary.control(Kind.SCALING_FROZEN)
    return diary


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


# What is never learned from


def test_control_and_fallback_pages_are_counted_and_never_learned_from():
    diary = Diary(model())
    shown = diary.show(candidates(4))
    for group in (Group.CONTROL, Group.FALLBACK):
        other = shown._replace(body=encode(msgspec.structs.replace(page_of(shown), group=int(group))))
        assert diary.close(other, [1.0, 0.0, 0.0, 0.0]) == group.name.lower()
    assert diary.fold.ranker.weights.tolist() == [0.0] * FEATURES
    assert diary.fold.version == 0
    assert diary.fold.fates == {"control": 1, "fallback": 1}
    assert diary.fold.clicks == 2.0


def test_a_page_that_nobody_got_is_not_learned_from_and_its_clicks_do_not_count():
    diary = Diary(model())
    assert diary.close(diary.show(candidates(4)), [1.0, 0.0, 0.0, 0.0], why="void") == "void"
    assert (diary.fold.version, diary.fold.clicks) == (0, 0.0)
    assert diary.fold.ranker.weights.tolist() == [0.0] * FEATURES


@pytest.mark.parametrize("stop", [Kind.PAUSED, Kind.FROZEN])
def test_nothing_is_learned_while_a_model_is_paused_or_frozen_and_it_goes_on_when_resumed(stop):
    diary = Diary(model())
    clicks = [1.0, 0.0, 0.0, 0.0]
    assert diary.close(diary.show(candidates(4)), clicks) == "learned"
    diary.control(stop)
    before = diary.fold.ranker.weights.tolist()
    assert diary.close(diary.show(candidates(4)), clicks) == "paused"
    assert diary.fold.ranker.weights.tolist() == before
    assert diary.fold.mode == stop.name.lower()
    diary.control(Kind.RESUMED)
    assert diary.close(diary.show(candidates(4)), clicks) == "learned"
    assert diary.fold.ranker.weights.tolist() != before


@pytest.mark.parametrize(("stop", "fate"), [(Kind.PAUSED, "learned"), (Kind.FROZEN, "paused")])
def test_a_page_that_a_frozen_model_showed_was_not_drawn_and_teaches_nothing_later(stop, fate):
    diary = Diary(model())
    diary.control(stop)
    shown = diary.show(candidates(4))
    diary.control(Kind.RESUMED)
    assert diary.close(shown, [1.0, 0.0, 0.0, 0.0]) == fate


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


def numbered(state, number):
    return msgspec.msgpack.encode(msgspec.msgpack.decode(state) | {"format": number})


def test_a_kept_state_has_a_format_and_one_from_before_there_were_any_is_readable():
    fold = lively(ROLTR()).fold
    kept = msgspec.msgpack.decode(fold.state())
    assert kept.pop("format") == 1
    before = msgspec.msgpack.encode(kept)
    assert Fold.restored(fold.settings, before, fold.offset).state() == fold.state()
    assert fold.is_kept_as(before)
    assert fold.is_kept_as(fold.state())


def test_a_kept_state_of_a_format_nobody_knows_is_refused_with_a_sentence():
    fold = lively(ROLTR()).fold
    newer = numbered(fold.state(), 2)
    assert not fold.is_kept_as(newer)
    back = Event(fold.offset + 1, 1, Kind.ROLLED_BACK, 0, 0, b"", encode(Restored(1, newer)))
    for read in (
        lambda: Fold.restored(fold.settings, newer, fold.offset),
        lambda: summary_of(newer),
        lambda: fold.apply(back),
    ):
        with pytest.raises(StoreError, match="format 2, and this rankloop reads format 1"):
            read()


def spoiled(state, **other):
    return msgspec.msgpack.encode(msgspec.msgpack.decode(state) | other)


@pytest.mark.parametrize("damage", [
    lambda state: b"",
    lambda state: b"\xc1" + state,
    lambda state: state[: len(state) // 2],
    lambda state: msgspec.msgpack.encode([1, 2]),
    lambda state: msgspec.msgpack.encode({"version": 3}),
    lambda state: spoiled(state, arrays={}),
    lambda state: spoiled(state, arrays={"ranker.weights": b"123"}),
    lambda state: spoiled(state, scaling={"count": 1.0, "mean": b"", "m2": b"", "frozen": False}),
    lambda state: spoiled(state, scaling={"count": None}),
    lambda state: spoiled(state, influence={"counts": b"\0" * 8, "pages": 0, "named": 0, "unnamed": 0}),
    lambda state: spoiled(state, mode="asleep"),
    lambda state: spoiled(state, version=None),
])  # fmt: skip
def test_a_damaged_state_is_refused_with_a_sentence_that_names_the_model(damage):
    fold = lively(ROLTR()).fold
    with pytest.raises(StateError, match=r"^model 'm': its kept state is damaged \(.+\); rankloop log refold computes"):
        Fold.restored(fold.settings, damage(fold.state()), fold.offset)
