"""What one impression, one client and one experiment can do to a model, and how much of it shows."""

import asyncio

import numpy as np
import pytest

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


# Settings that make no sense


@pytest.mark.parametrize(
    "guards",
    [
        {"control": 1.5}, {"control": -0.1}, {"update_cap": 0.0}, {"update_cap": float("inf")}, {"client_share": -0.1},
        {"client_share": 1.1}, {"anonymous_share": -1}, {"client_pages": -1}, {"client_pages": 1_000_001},
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
