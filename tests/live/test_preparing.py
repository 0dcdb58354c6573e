"""Kernels are made ready before pages need them; until they are, pages go out in the incoming order."""

import threading

import pytest
from msgspec.structs import replace
from tests.patience import PATIENCE

from rankloop.live import models
from rankloop.live.service import Service
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store

from .in_process import IDS, model, rank, running, told, until


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


def test_a_service_is_not_ready_before_its_kernels_are_and_pages_come_in_the_incoming_order(path, monkeypatch):
    compiled = threading.Event()

    async def story():
        async with running(path, model()):
            pass
        monkeypatch.setattr("rankloop.live.preparing.rehearse", lambda settings: compiled.wait(PATIENCE))
        service = Service(open_store(path))
        await service.start()
        monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
        page = await rank(service)
        troubles = service.trouble()
        compiled.set()
        await until(lambda: not service.trouble())
        monkeypatch.undo()
        learned = await rank(service)
        await service.stop()
        return page, troubles, learned.group

    page, troubles, group = told(story())
    assert (page.group, page.impression, page.ranking) == ("fallback", None, IDS[:3])
    assert "is being prepared: its kernels are compiled" in page.reason
    assert troubles == ["kernels: those of 'm' are compiled; until then it keeps the incoming order"]
    assert group == "learned"


def test_a_service_without_models_has_the_kernels_of_a_usual_one_ready(path, monkeypatch):
    compiled, rehearsed = threading.Event(), []
    monkeypatch.setattr(
        "rankloop.live.preparing.rehearse", lambda settings: rehearsed.append(settings) or compiled.wait(PATIENCE)
    )

    async def story():
        service = Service(open_store(path))
        await service.start()
        await until(lambda: rehearsed)
        troubles = service.trouble()
        compiled.set()
        await until(lambda: not service.trouble())
        await service.stop()
        return troubles

    assert told(story()) == ["kernels: those of a first model are compiled; one that is made now waits for them"]
    usual = ModelSettings(name="any", features=9, seed=2)
    assert [replace(settings, name="any", features=9, seed=2) for settings in rehearsed] == [usual]


def test_a_new_model_is_prepared_beside_the_others_which_stay_ready(path, monkeypatch):
    compiled = threading.Event()

    async def story():
        async with running(path, model()) as service:
            monkeypatch.setattr("rankloop.live.preparing.rehearse", lambda settings: compiled.wait(PATIENCE))
            monkeypatch.setattr("rankloop.live.models.PREPARING_SECONDS", 0.01)
            await models.create_model(service, replace(model(), name="new"))
            during = service.trouble(), service.preparation.unprepared(), (await rank(service)).group
            compiled.set()
            return during, (await rank(service, name="new")).group, service.preparation.unprepared()

    (trouble, unprepared, group), new, after = told(story())
    assert (trouble, group, new, after) == ([], "learned", "learned", [])
    assert unprepared == ["kernels: those of 'new' are compiled; until then it keeps the incoming order"]


def test_a_model_that_cannot_be_rehearsed_is_served_all_the_same(path, monkeypatch, caplog):
    monkeypatch.setattr("rankloop.live.preparing.rehearse", lambda settings: 1 / 0)

    async def story():
        async with running(path, model()) as service:
            return (await rank(service)).group, service.trouble()

    assert told(story()) == ("learned", [])
    assert "could not be rehearsed" in caplog.text
