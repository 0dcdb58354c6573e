"""What one impression, one client and one experiment can do to a model, and how much of it shows."""

import asyncio
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.errors import SettingsError
from rankloop.learners import DBGD, PDGD, ROLTR
from rankloop.live import models
from rankloop.live.descriptions import Exploration
from rankloop.live.service import Service
from rankloop.live.settings import Guards, ModelSettings, Weights
from rankloop.live.stores import open_store

from .diary import FOR_ALL, Diary, page_of

FEATURES = 3
X = np.random.default_rng(1).normal(size=(6, FEATURES)).astype(np.float32)
CLICKS = [1.0, 0.0, 0.0, 1.0]


def model(**more) -> ModelSettings:
    return ModelSettings(
        name="m", **({"features": FEATURES, "page_size": 4, "seed": 7, "scaling": "none", "guards": FOR_ALL} | more)
    )


# The size of an update


@pytest.mark.parametrize(
    "learner", [ROLTR(learning_rate=0.5), PDGD(learning_rate=5.0), DBGD(learning_rate=0.7)], ids=str
)
@pytest.mark.parametrize("cap", [1e-4, 0.05])
def test_an_update_is_cut_to_the_cap_in_its_own_direction(learner, cap):
    free, capped = (
        Diary(model(learner=learner)),
        Diary(model(learner=learner, guards=Guards(control=0.0, update_cap=cap))),
    )
    moved = 0
    for number in range(8):
        # Both draw from the same weights: the capped one's.
        capped.fold.ranker.model.ranker.weights[:] = free.fold.ranker.weights
        capped.fold.ranker.model.ranker.rounded[:] = free.fold.ranker.model.ranker.rounded
        before = free.fold.ranker.weights
        for diary in (free, capped):
            assert diary.close(diary.show(X), np.roll(CLICKS, number).tolist()) == "learned"
        whole, part = free.fold.ranker.weights - before, capped.fold.ranker.weights - before
        length = np.linalg.norm(whole)
        if length > cap:
            moved += 1
            np.testing.assert_allclose(part, whole * cap / length, rtol=1e-9, atol=1e-15)
            assert np.linalg.norm(part) == pytest.approx(cap, rel=1e-9)
        else:
            assert part.tolist() == whole.tolist()
        assert (
            capped.fold.ranker.model.ranker.rounded.tolist() == capped.fold.ranker.weights.astype(np.float32).tolist()
        )
    assert moved > 0


def test_a_cap_that_is_not_reached_changes_no_bit():
    free, capped = Diary(model()), Diary(model(guards=Guards(control=0.0, update_cap=1e6)))
    for diary in (free, capped):
        for number in range(20):
            diary.close(diary.show(X), np.roll(CLICKS, number).tolist())
    assert free.fold.ranker.weights.tobytes() == capped.fold.ranker.weights.tobytes()
    assert capped.fold.moved == pytest.approx(free.fold.moved)


# The influence of a client


def literally_allowed(share: float, window: int) -> int:
    """How many of the last `window` learned impressions may be somebody's: their share, but at least one."""
    if share == 0:
        return 0
    return max(1, int(share * window + 1e-6))


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([b"", b"a" * 8, b"b" * 8, b"c" * 8]), min_size=1, max_size=60),
    st.integers(1, 12),
    st.sampled_from([0.05, 0.25, 0.5, 1.0]),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_nobody_makes_up_more_than_their_share_of_any_window(clients, window, share, anonymous):
    guards = Guards(control=0.0, influence_window=window, client_share=share, anonymous_share=anonymous)
    diary = Diary(model(guards=guards))
    learned: list[bytes] = []
    for client in clients:
        fate = diary.close(diary.show(X, client=client), CLICKS)
        # The window that would end with this impression, counted one by one.
        recent = [*learned, client][-window:]
        allowed = literally_allowed(share if client else anonymous, window)
        assert fate == ("learned" if recent.count(client) <= allowed else "capped")
        if fate == "learned":
            learned.append(client)
    for end in range(1, len(learned) + 1):
        for client, count in Counter(learned[max(0, end - window) : end]).items():
            assert count <= literally_allowed(share if client else anonymous, window)


def test_all_without_a_name_share_one_budget():
    diary = Diary(model(guards=Guards(control=0.0, influence_window=10, client_share=0.2, anonymous_share=0.3)))
    fates = [diary.close(diary.show(X), CLICKS) for _ in range(6)]
    assert fates == ["learned"] * 3 + ["capped"] * 3
    assert diary.close(diary.show(X, client=b"somebody"), CLICKS) == "learned"


def test_without_a_window_there_is_no_cap():
    diary = Diary(model(guards=Guards(control=0.0, influence_window=0, client_share=0.01, anonymous_share=0.0)))
    assert {diary.close(diary.show(X, client=client), CLICKS) for client in [b"a"] * 30 + [b""] * 30} == {"learned"}


def test_pages_that_are_not_learned_from_cost_nobody_their_budget():
    diary = Diary(model(guards=Guards(control=0.0, influence_window=10, client_share=0.2)))
    for _ in range(5):
        assert diary.close(diary.show(X, client=b"a"), CLICKS, why="void") == "void"
    fates = [diary.close(diary.show(X, client=b"a"), CLICKS) for _ in range(3)]
    assert fates == ["learned", "learned", "capped"]


def attacked(guards: Guards, visits: int) -> float:
    """How far a client who always clicks what they want to promote moves the weights, alone."""
    diary = Diary(model(guards=guards, learner=ROLTR(learning_rate=0.05)))
    for _ in range(visits):
        shown = diary.show(X, client=b"attacker")
        diary.close(shown, [float(document in (3, 4)) for document in page_of(shown).page])
    return float(np.linalg.norm(diary.fold.ranker.weights))


def test_a_client_alone_cannot_move_the_weights_beyond_share_times_window_times_cap():
    guards = Guards(control=0.0, influence_window=100, client_share=0.1, update_cap=0.01)
    bound = 0.1 * 100 * 0.01
    few, many = attacked(guards, 10), attacked(guards, 400)
    assert few <= bound * (1 + 1e-9)
    assert many == few  # however often they come back
    assert attacked(Guards(control=0.0, influence_window=0), 400) > 10 * bound


def test_among_others_somebody_who_comes_every_other_time_still_has_their_share():
    diary = Diary(model(guards=Guards(control=0.0, influence_window=20, client_share=0.1, update_cap=0.01)))
    fates: Counter = Counter()
    for number in range(200):
        diary.close(diary.show(X, client=f"p{number % 30}".encode()), [0.0] * 4)
        fates[diary.close(diary.show(X, client=b"attacker"), CLICKS)] += 1
    # Two in every 20 learned impressions, and two more in a window that is not full yet.
    assert fates["learned"] <= 0.1 * diary.fold.fates["learned"] + 2
    assert fates["capped"] == 200 - fates["learned"] > 100


# Settings that make no sense


@pytest.mark.parametrize(
    "guards",
    [
        {"control": 1.5}, {"control": -0.1}, {"update_cap": 0.0}, {"update_cap": float("inf")}, {"client_share": 0.0},
        {"client_share": 1.1}, {"anonymous_share": -1}, {"influence_window": -1}, {"influence_window": 100_001},
        {"falls_back": 2},
    ],
    ids=str,
)  # fmt: skip
def test_guards_that_guard_nothing_are_refused_by_name(guards):
    with pytest.raises(SettingsError, match=f"guards.*{next(iter(guards))}"):
        Guards(**guards)


# Exploration: how strong, and what it has meant


def test_a_higher_temperature_explores_more():
    moved = []
    for temperature in (0.1, 1.0, 10.0):
        diary = Diary(model(learner=ROLTR(temperature=temperature), start=Weights((2.0, 0.0, 0.0))))
        moved.append(np.mean([page_of(diary.show(X)).displacement for _ in range(200)]))
    assert moved[0] < 0.7 * moved[1] < 0.7 * moved[2]


def test_what_exploration_has_meant_is_the_mean_displacement_of_learned_pages():
    diary = Diary(model(start=Weights((1.0, 0.0, 0.0))))
    moved = []
    for number in range(30):
        shown = diary.show(X)
        if diary.close(shown, CLICKS, why="void" if number % 5 == 0 else "asked") == "learned":
            moved.append(page_of(shown).displacement)
    assert diary.fold.explored == pytest.approx(sum(moved), rel=1e-12)
    assert 0 < len(moved) < 30


def test_a_model_tells_its_temperature_and_its_exploration_so_far(tmp_path):
    async def story():
        service = Service(open_store(tmp_path / "log.db"))
        await service.start()
        await models.create_model(service, model(learner=ROLTR(temperature=0.5)))
        await models.create_model(service, ModelSettings(name="duel", features=1, seed=1, learner=DBGD()))
        told = [models.describe(service, service.registry.get(name)).exploration for name in ("m", "duel")]
        await service.stop()
        return told

    assert asyncio.run(story()) == [Exploration(0.5, None), Exploration(None, None)]
