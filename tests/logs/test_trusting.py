"""Trust from a log: the pages that a model drew, with the scores that drew them, and no others."""

import numpy as np
import pytest
from tests.live.diary import FOR_ALL, Diary, page_of

from rankloop.learners import ROLTR
from rankloop.live.events import Impression, Kind, encode
from rankloop.live.looks import RANKS
from rankloop.live.settings import ModelSettings
from rankloop.logs.trusting import note
from rankloop.propensities.trust_effect import TrustEffect

TEMPERATURE = 0.7
X = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)


def diary_of(**more) -> Diary:
    learner = ROLTR(learning_rate=0.01, temperature=TEMPERATURE)
    given = {"features": 3, "page_size": 4, "seed": 7, "scaling": "none", "learner": learner, "guards": FOR_ALL}
    return Diary(ModelSettings(name="m", **(given | more)))


def noted(effect: TrustEffect, diary: Diary) -> TrustEffect:
    shown = None
    for event in diary.events:
        if event.kind == Kind.CLOSED:
            note(effect, event, shown, TEMPERATURE)
        shown = event
    return effect


def test_the_sums_are_those_of_the_pages_with_the_scores_that_drew_them():
    diary, draw, wanted = diary_of(), np.random.default_rng(2), TrustEffect(4)
    for _ in range(30):
        shown = diary.show(X)
        clicks = (draw.random(4) < 0.4).astype(float).tolist()
        diary.close(shown, clicks)
        wanted.add(np.frombuffer(page_of(shown).scores, np.float32), page_of(shown).page, clicks, TEMPERATURE)
    np.testing.assert_allclose(noted(TrustEffect(4), diary).moments, wanted.moments, rtol=1e-12)


def test_of_pinned_pages_only_neighbours_that_were_drawn_are_compared():
    diary = diary_of()
    diary.close(diary.show(X, pinned={5: 1}), [1.0, 1.0, 1.0, 0.0])
    weights = noted(TrustEffect(4), diary).moments[0, 1:].reshape(3, -1)[:, 0]
    assert (weights > 0).tolist() == [False, False, True]


def test_long_pages_are_counted_down_to_a_rank():
    diary = diary_of(page_size=25)
    diary.close(diary.show(np.random.default_rng(3).normal(size=(30, 3))), [1.0] * 25)
    weights = noted(TrustEffect(RANKS), diary).moments[0, 1:].reshape(RANKS - 1, -1)[:, 0]
    assert (weights > 0).all()


@pytest.mark.parametrize("why", ["void", "control", "greedy", "erased"])
def test_what_nobody_saw_or_the_policy_did_not_draw_is_left_out(why):
    diary = diary_of()
    shown = diary.show(X)
    diary.close(shown, [1.0, 0.0, 0.0, 0.0], why="void" if why == "void" else "asked")
    page = {name: getattr(page_of(shown), name) for name in Impression.__struct_fields__}
    changed = {"control": {"group": 1}, "greedy": {"greedy": True}}.get(why, {})
    other = shown._replace(body=encode(Impression(**(page | changed))))
    effect = TrustEffect(4)
    note(effect, diary.events[-1], None if why == "erased" else other, TEMPERATURE)
    assert effect.moments[0, 0] == 0
