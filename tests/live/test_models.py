"""What people decide about models: each decision is an event, and what is refused leaves none."""

import asyncio

import pytest

from rankloop.errors import SettingsError
from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.events import Kind
from rankloop.live.keys import WHO
from rankloop.live.requests import Limits
from rankloop.live.settings import IncomingOrder, ModelSettings, Weights

from .diary import FOR_ALL
from .in_process import X, click, rank, running, told, until


def model(**more) -> ModelSettings:
    return ModelSettings(
        name="m", **({"features": 3, "page_size": 3, "seed": 7, "scaling": "none", "guards": FOR_ALL} | more)
    )


async def learn(service, pages=1):
    for _ in range(pages):
        page = await rank(service)
        await click(service, page.impression, page.ranking[1:2])
        await service.close(page.impression, wait=True)


def test_a_model_is_paused_resumed_and_frozen_as_decided(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            shop = service.registry.get("m")
            modes = []
            for action in ("pause", "resume", "freeze"):
                modes.append((await models.act(service, shop, action)).mode)
            with pytest.raises(RequestError, match="'none' does not change") as refused:
                await models.act(service, shop, "freeze-scaling")
            assert refused.value.code == "nothing_to_freeze"
            return modes, service.store.last_offset()

    assert told(story()) == (["paused", "learning", "frozen"], 4)  # CREATED, and three decisions


def test_a_decision_is_logged_with_the_name_of_the_key_that_it_was_made_with(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            shop = service.registry.get("m")
            WHO.set("ops")
            await models.act(service, shop, "pause")
            await models.roll_back(service, shop, 0)
            WHO.set("")
            await models.act(service, shop, "resume")
            return [(Kind(event.kind), event.client) for event in service.store.decisions(shop.id, 10)]

    assert told(story()) == [(Kind.RESUMED, b""), (Kind.ROLLED_BACK, b"ops"), (Kind.PAUSED, b"ops")]


def test_a_roll_back_returns_to_the_weights_of_a_kept_state_and_the_fates_go_with_them(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            shop = service.registry.get("m")
            await learn(service, 3)
            learned = models.describe(service, shop)
            assert any(learned.weights)
            assert learned.fates["learned"] == 3
            back = await models.roll_back(service, shop, 0)
            assert back.weights == [0.0] * 3
            with pytest.raises(RequestError, match="no snapshot of version 99") as refused:
                await models.roll_back(service, shop, 99)
            assert refused.value.code == "no_such_snapshot"

    told(story())


def test_a_state_compared_with_itself_has_not_moved_and_one_without_weights_has_no_angle(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            shop = service.registry.get("m")
            same = await models.compare(service, shop, 0, 0)
            assert (same.distance, same.cosine, same.learned_between) == (0.0, None, 0)
            assert [change.feature for change in same.weights] == list(shop.settings.names)

    told(story())


def test_a_name_is_taken_once_and_free_again_when_its_model_is_deleted(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            with pytest.raises(RequestError, match="'m' already") as refused:
                await models.create_model(service, model())
            assert refused.value.code == "name_taken"
            first = service.registry.get("m").id
            await models.delete_model(service, service.registry.get("m"))
            with pytest.raises(RequestError):
                service.registry.get("m")
            await models.create_model(service, model())
            assert service.registry.get("m").id != first
            assert (await rank(service, X)).group == "learned"

    told(story())


def test_there_are_at_most_so_many_models(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "MAX_MODELS", 1)

    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            with pytest.raises(RequestError, match="at most 1 models; delete one first"):
                await models.create_model(service, ModelSettings(name="second", features=3))

    told(story())


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (Weights((1e300, 0.0, 0.0)), "a weight must lie between"),
        (IncomingOrder("f1", candidates=201), "at most 200, as in a request"),
        (IncomingOrder("f1", sample=tuple((1.0, 0.0) for _ in range(1_001))), "at most 1,000 queries"),
        (IncomingOrder("f1", sample=((0.5,) * 100_001,)), "100,000 scores"),
    ],
)
def test_a_start_that_would_take_the_service_down_is_refused(start, sentence):
    with pytest.raises(SettingsError, match=sentence):
        models.require_affordable(model(start=start), Limits(candidates=200))


def test_who_decides_about_a_model_that_is_deleted_meanwhile_hears_that_it_is(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            known = service.registry.get("m")
            service.learner.stop()  # nobody takes the decision in
            pausing = asyncio.create_task(models.act(service, known, "pause"))
            await until(lambda: any(event.kind == Kind.PAUSED for event in service.store.events(0, 99)))
            await models.delete_model(service, known)
            with pytest.raises(RequestError, match="model 'm' has been deleted"):
                await pausing
            with pytest.raises(RequestError, match="model 'm' has been deleted"):
                await models.act(service, known, "resume")
            kinds = [event.kind for event in service.store.events(0, 99)]
            return kinds, service.store.open_count(known.id)

    assert told(story()) == ([Kind.CREATED, Kind.PAUSED, Kind.DELETED], 0)


def test_a_page_of_a_model_that_was_just_deleted_leaves_no_row(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            known = service.registry.get("m")
            await rank(service)
            await models.delete_model(service, known)
            service.registry._models["m"] = known  # as another process, which has not looked yet, sees it
            with pytest.raises(RequestError, match="model 'm' has been deleted"):
                await rank(service)
            return service.store.open_count(known.id)

    assert told(story()) == 0
