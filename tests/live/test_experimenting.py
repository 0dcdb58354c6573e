"""Experiments of a service: started, seen, stopped, and still there after a restart."""

import pytest

from rankloop.live import models
from rankloop.live.errors import RequestError
from rankloop.live.experimenting import experiments, start_experiment, stop_experiment
from rankloop.live.experiments import ExperimentSettings
from rankloop.live.settings import Guards, ModelSettings
from rankloop.logs.verifying import verify

from .diary import FOR_ALL
from .in_process import click, rank, running, told

SHOP = ModelSettings(name="m", features=3, page_size=4, seed=3, guards=FOR_ALL)
RIVAL = ModelSettings(name="rival", features=3, page_size=4, seed=4, guards=FOR_ALL)
EVERYBODY = ExperimentSettings(share=1.0)


async def visits(service, pages, first=0):
    """Pages of other people each; the first result is clicked."""
    groups = []
    for who in range(first, first + pages):
        page = await rank(service, client=f"visitor-{who}")
        await click(service, page.impression, [page.ranking[0]], close=True)
        groups.append(page.group)
    page = await rank(service, client="last")
    await service.close(page.impression, wait=True)
    return groups


@pytest.mark.thorough
def test_pages_are_interleaved_from_start_to_stop_and_a_restart_loses_nothing(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            model = service.registry.get("m")
            assert await experiments(service, model) == []
            begun = await start_experiment(service, model, EVERYBODY)
            assert (begun.pages, begun.stopped, [arm.name for arm in begun.arms]) == (0, None, ["incoming", "learned"])
            assert set(await visits(service, 30)) == {"interleaved"}
            [before] = await experiments(service, model)
        async with running(tmp_path / "log.db") as service:
            model = service.registry.get("m")
            assert await experiments(service, model) == [before]
            assert set(await visits(service, 5, first=30)) == {"interleaved"}
            ended = await stop_experiment(service, model)
            assert ended.pages == before.pages + 6
            assert ended.stopped is not None
            assert set(await visits(service, 3)) == {"learned"}
            return before

    before = told(story())
    assert before.pages == 31
    assert 0 < before.credited <= 31
    assert verify(tmp_path / "log.db").problems == []


def test_two_models_are_compared_and_one_that_is_deleted_leaves_pages_as_they_were(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP, RIVAL) as service:
            model = service.registry.get("m")
            await start_experiment(service, model, ExperimentSettings(arms=("learned", "rival", "incoming"), share=1.0))
            assert set(await visits(service, 5)) == {"interleaved"}
            await models.delete_model(service, service.registry.get("rival"))
            assert set(await visits(service, 5)) == {"learned"}
            [found] = await experiments(service, model)
            assert found.pages == 6
            assert found.stopped is not None  # nobody would ever be interleaved again, and nobody would know
            await start_experiment(service, model, EVERYBODY)

    told(story())
    assert verify(tmp_path / "log.db").problems == []


def test_an_experiment_that_nobody_could_take_part_in_is_refused(tmp_path):
    async def story():
        alone = ModelSettings(name="m", features=3, page_size=4, seed=3, guards=Guards(control=1.0))
        async with running(tmp_path / "log.db", alone) as service:
            with pytest.raises(RequestError, match="everybody is in the control group of 'm'"):
                await start_experiment(service, service.registry.get("m"), EVERYBODY)

    told(story())


def test_a_process_that_does_not_learn_reads_what_was_kept(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            await start_experiment(service, service.registry.get("m"), EVERYBODY)
            await visits(service, 4)
        async with running(tmp_path / "log.db", learn=False) as service:
            return await experiments(service, service.registry.get("m"))

    [found] = told(story())
    assert found.pages == 5


@pytest.mark.parametrize(
    ("arms", "sentence"),
    [
        (("learned", "m"), "both are the order of 'm'"),
        (("learned", "nobody"), "there is no model 'nobody'"),
        (("learned", "other"), "features and page_size must be those of 'm'"),
    ],
)
def test_arms_that_cannot_rank_these_pages_are_refused(tmp_path, arms, sentence):
    async def story():
        other = ModelSettings(name="other", features=2, page_size=4, guards=FOR_ALL)
        async with running(tmp_path / "log.db", SHOP, other) as service:
            with pytest.raises(RequestError, match=sentence):
                await start_experiment(service, service.registry.get("m"), ExperimentSettings(arms=arms))

    told(story())


def test_one_at_a_time_and_what_does_not_run_cannot_be_stopped(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            model = service.registry.get("m")
            with pytest.raises(RequestError, match="no experiment running"):
                await stop_experiment(service, model)
            await start_experiment(service, model, EVERYBODY)
            with pytest.raises(RequestError, match="already has an experiment running; stop it first"):
                await start_experiment(service, model, EVERYBODY)

    told(story())
