"""How people look is counted as pages are learned from, and kept with the state."""

import msgspec
import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import DBGD, ROLTR
from rankloop.live.errors import StateError
from rankloop.live.fold import Fold
from rankloop.live.kept import looks_of
from rankloop.live.looks import RANKS, Looks
from rankloop.live.settings import ModelSettings, stored_settings
from rankloop.propensities.rank_effect import RankEffect
from rankloop.propensities.swaps import Swaps

from .diary import FOR_ALL, Diary, page_of

X = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)
TEMPERATURE = 0.7


def model(**more) -> ModelSettings:
    learner = ROLTR(learning_rate=0.01, temperature=TEMPERATURE)
    given = {"features": 3, "page_size": 4, "seed": 7, "scaling": "none", "learner": learner, "guards": FOR_ALL}
    return ModelSettings(name="m", **(given | more))


def visited(settings: ModelSettings, visits: int, pinned=None) -> Diary:
    diary = Diary(settings)
    draw = np.random.default_rng(2)
    for _ in range(visits):
        shown = diary.show(X, pinned=pinned)
        diary.close(shown, (draw.random(len(page_of(shown).page)) < 0.4).astype(float).tolist())
    return diary


def closings(diary: Diary):
    """(page, clicks) of everything that was closed."""
    for event in diary.events:
        if event.kind == 4:
            shown, clicks, *_ = msgspec.msgpack.decode(event.body)
            yield page_of(diary.events[shown - 1]), clicks


def test_the_sums_are_those_of_the_pages_with_the_scores_that_drew_them():
    diary = visited(model(), 60)
    swaps, effect = Swaps(4), RankEffect(4)
    for page, clicks in closings(diary):
        scores = np.frombuffer(page.scores, np.float32)
        swaps.add(scores, page.page, clicks, TEMPERATURE)
        effect.add(scores, page.page, clicks, TEMPERATURE)
    looks = diary.fold.looks
    np.testing.assert_allclose(looks.swaps.moments, swaps.moments, rtol=1e-12)
    np.testing.assert_allclose(looks.effect.sums, effect.sums, rtol=1e-12)
    assert looks.effect.sums[2] == 60


def test_pages_that_were_not_learned_from_are_not_counted():
    diary = visited(model(), 3)
    diary.close(diary.show(X), [1.0, 0.0, 0.0, 0.0], why="void")
    assert diary.fold.looks.swaps.moments[0, 0] == 3


def test_of_pinned_pages_only_neighbours_that_were_drawn_are_compared():
    looks = visited(model(), 30, pinned={5: 1}).fold.looks
    # Rank 2 is taken: ranks 1 and 3 have no neighbour above or below that the policy chose, but 3 and 4 are neighbours.
    counted = np.flatnonzero(looks.swaps.moments[0, 1:]) % 3
    assert set(counted.tolist()) == {2}
    assert looks.effect.sums[2] == 0


def test_long_pages_are_counted_down_to_a_rank():
    X = np.random.default_rng(3).normal(size=(30, 3)).astype(np.float32)
    diary = Diary(model(page_size=25))
    diary.close(diary.show(X), [1.0] * 25)
    assert diary.fold.looks.effect.clicks.shape == (2, RANKS)
    assert diary.fold.looks.effect.clicks[1].tolist() == [1.0] * RANKS


def test_a_state_keeps_them():
    diary = visited(model(), 20)
    state = diary.fold.state()
    again = Fold.restored(diary.settings, state, diary.fold.offset)
    assert again.state() == state
    kept = looks_of(diary.settings, state)
    assert kept.swaps.moments.tobytes() == diary.fold.looks.swaps.moments.tobytes()
    damaged = msgspec.msgpack.decode(state)
    damaged["looks"]["swaps"] = b"12345678"
    with pytest.raises(StateError, match="damaged"):
        looks_of(diary.settings, msgspec.msgpack.encode(damaged))


def test_they_teach_the_model_nothing():
    counted, not_counted = visited(model(), 20).fold, visited(model(swaps=False), 20).fold
    assert counted.ranker.weights.tobytes() == not_counted.ranker.weights.tobytes()


@pytest.mark.parametrize("more", [{"learner": DBGD()}, {"page_size": 1}, {"swaps": False}], ids=str)
def test_where_no_swap_has_a_known_probability_nothing_is_kept(more):
    fold = Fold(model(**more))
    assert fold.looks is None
    assert "looks" not in msgspec.msgpack.decode(fold.state())


def test_a_model_from_before_they_were_counted_has_none():
    kept = msgspec.to_builtins(model())
    del kept["swaps"]
    assert not stored_settings(msgspec.json.encode(kept)).swaps
    with pytest.raises((SettingsError, msgspec.ValidationError)):
        stored_settings(msgspec.json.encode(kept | {"swaps": "some"}))


def test_looks_depend_on_more_than_rank_when_the_sum_is_beyond_chance_at_all_times():
    looks = Looks(4)
    assert not looks.depend_on_more_than_rank
    looks.effect.sums[:] = -3.0 * 1_000**0.5, 1_000.0, 1_000
    assert not looks.depend_on_more_than_rank  # three standard errors are not enough for somebody who always looks
    looks.effect.sums[0] = -5.0 * 1_000**0.5
    assert looks.depend_on_more_than_rank
    looks.effect.sums[2] = 100
    assert not looks.depend_on_more_than_rank


@pytest.mark.parametrize(("pages", "known_to"), [(0, 0), (1, 0), (400, 2), (4_000, 3)])
def test_they_are_known_as_far_as_the_band_is_narrow(pages, known_to):
    looks = Looks(3)
    mean = 0.25 * np.array([1.0, 0.8, 0.8, 0.02])  # half of the pages are clicked, and every order is as likely
    looks.swaps.moments[:] = np.outer(np.r_[1.0, mean], np.r_[1.0, mean])
    looks.swaps.moments[range(1, 5), range(1, 5)] = 0.5 * mean
    looks.swaps.moments *= pages
    assert looks.known_to == known_to
    assert (f"known to rank {known_to};" in looks.sentence()) == (known_to > 0)
    assert ("Not enough clicks" in looks.sentence()) == (known_to == 0)
