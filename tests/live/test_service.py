"""The service in one process: what it learns, what becomes of clicks, and that it goes on whatever stops."""

import asyncio

import msgspec
import numpy as np
import pytest
from tests.patience import AS_IT_IS

from rankloop.answers import Closed
from rankloop.learners import COLTR, DBGD, LEARNERS, PDGD, PMGD, ROLTR, FixedWeights, Posterior
from rankloop.live import registry
from rankloop.live.errors import RequestError
from rankloop.live.events import Kind, decode
from rankloop.live.models import create_model
from rankloop.live.requests import ClickBody
from rankloop.live.settings import Guards, LiveLearner, ModelSettings
from rankloop.loop import draw_query
from rankloop.propensities import PowerLaw
from rankloop.simulation import simulate
from rankloop.users import noisy
from rankloop.users.contract import click_page

from ..proofs import small
from .diary import FOR_ALL
from .in_process import IDS, click, rank, running, told, until, weights


def model(**more) -> ModelSettings:
    return ModelSettings(
        name="m", **({"features": 3, "page_size": 3, "seed": 7, "scaling": "none", "guards": FOR_ALL} | more)
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


# The service and the simulation

DATA = small.collection()
SEED = 9
SIMULATED = [
    ROLTR(),
    ROLTR(reward="naive-", discount=0.5, propensities=PowerLaw(0.5)),
    ROLTR(baseline=True, decay=0.99),
    PDGD(),
    DBGD(),
    DBGD(interleaving="team-draft"),
    PMGD(candidates=5),
    COLTR(candidates=20),
    FixedWeights(weights=(1.0, 0.0, 0.0, 0.5, 0.0)),
    Posterior(),
    Posterior(half_life=20, memory=0),
]


async def serve_the_simulations_visitors(path, learner, impressions: int) -> bytes:
    """One client, zero start, no guards, closing with wait: what `simulate` does, through the service."""
    settings = ModelSettings(
        name="m", features=5, learner=learner, seed=SEED, scaling="none", guards=Guards(control=0.0, client_pages=0)
    )
    user, train = noisy().compiled(10), DATA.train
    async with running(path, settings) as service:
        for i in range(impressions):
            q = draw_query(np.uint64(SEED), i, train.queries)
            rows = slice(train.offsets[q], train.offsets[q + 1])
            page = await rank(service, train.features[rows], client="one", query=f"query {q}")
            grades = train.grades[rows][[int(name[1:]) for name in page.ranking]].astype(np.int64)
            clicks = np.zeros(len(grades))
            click_page(user, grades, grades, 0, q, np.uint64(SEED), i, clicks)
            clicked = [name for name, c in zip(page.ranking, clicks, strict=True) if c]
            if clicked:
                await click(service, page.impression, clicked)
            await service.close(page.impression, wait=True)
        return weights(service).tobytes()


@pytest.mark.thorough
@pytest.mark.parametrize("learner", SIMULATED, ids=str)
def test_the_service_and_the_simulation_end_with_the_same_bits(path, learner):
    run = simulate(learner, noisy(), DATA, 40, seed=SEED, evaluate_every=0)
    assert told(serve_the_simulations_visitors(path, learner, 40)) == run.weights.tobytes()


def test_the_lag_is_told_though_the_learner_goes_on_meanwhile(path, monkeypatch):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            await service.close(page.impression, wait=True)
            [fold] = service.folds().values()
            unfolded = service.store.unfolded

            def learning_beside(offset):
                fold.offset += 1
                return unfolded(offset)

            monkeypatch.setattr(service.store, "unfolded", learning_beside)
            return service.lag()

    assert list(told(story()).values()) == [0]


@pytest.mark.thorough
def test_every_learner_of_the_core_that_needs_no_grades_can_be_chosen(path):
    kinds = {kind for kind in LEARNERS.values() if not kind.ranks_by_grades and kind.learns_from != "grades"}
    assert kinds == set(LiveLearner.__args__)

    async def story():
        async with running(path) as service:
            for kind in kinds:
                learner = kind(candidates=3) if kind in (PMGD, COLTR) else kind()
                settings = ModelSettings(name=kind.name, features=3, seed=1, learner=learner)
                await create_model(service, settings)
                for _ in range(3):
                    page = await rank(service, name=kind.name)
                    await click(service, page.impression, page.ranking[1:2])
                    closed = await service.close(page.impression, wait=True)
            return closed.version

    assert told(story()) == 3


@pytest.mark.parametrize("learner", ["MDPRank", "Oracle"])
def test_a_learner_that_needs_the_truth_is_refused(learner):
    body = {"name": "m", "features": 3, "learner": {"learner": learner}}
    with pytest.raises(msgspec.ValidationError, match=learner):
        msgspec.convert(body, ModelSettings)


# What becomes of clicks


def test_duplicate_contradictory_unknown_and_late_clicks_have_their_fate_and_are_counted(path):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            a, b, c = page.ranking
            hidden = next(name for name in IDS if name not in page.ranking)
            answers = [
                await click(service, page.impression, {a: 1.0, b: 0.5}),
                await click(service, page.impression, {a: 1.0, b: 0.25, hidden: 1.0}),
                await click(service, page.impression, [c, "nobody knows"], close=True),
                await click(service, page.impression, [a, b]),
                await click(service, page.impression, []),
            ]
            events = service.store.events(0, 100)
            closing = next(decode(e.kind, e.body) for e in events if e.kind == Kind.CLOSED)
            return answers, dict(service.counts), closing.clicks, hidden

    answers, counts, learned, hidden = told(story())
    fates = [(x.accepted, x.duplicate, x.contradictory, x.late, x.unknown, x.closed) for x in answers]
    assert fates == [
        (2, 0, 0, 0, [], False),
        (0, 1, 1, 0, [hidden], False),
        (1, 0, 0, 0, ["nobody knows"], True),
        (0, 0, 0, 2, [], False),
        (0, 0, 0, 0, [], False),
    ]
    assert learned == [1.0, 0.5, 1.0]  # of two values for one document the larger counts
    assert {word: counts["clicks", word] for word in ("accepted", "duplicate", "contradictory", "late", "unknown")} == {
        "accepted": 3, "duplicate": 1, "contradictory": 1, "late": 2, "unknown": 2,
    }  # fmt: skip


def test_late_clicks_are_kept_and_change_nothing(path):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            closed = await service.close(page.impression, wait=True)
            before = weights(service).tolist()
            await click(service, page.impression, page.ranking)
            again = await service.close(page.impression, wait=True)
            last = service.store.events(0, 100)[-1]
            return closed, again, before == weights(service).tolist(), decode(last.kind, last.body).late

    assert told(story()) == (Closed(True, 1), Closed(False, 1), True, True)


def test_clicks_for_pages_that_were_never_shown_are_refused_all_of_them(path):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            forged = page.impression[:-2] + ("AA" if page.impression[-2:] != "AA" else "BB")
            with pytest.raises(RequestError, match="report 1"):
                await service.click([ClickBody(page.impression, page.ranking), ClickBody(forged, ["d0"])])
            kinds = [event.kind for event in service.store.events(0, 100)]
            return Kind.CLICKED in kinds, service.counts["clicks", "refused"]

    assert told(story()) == (False, 1)


def test_an_impression_closes_by_itself_when_its_window_is_over_and_what_was_clicked_is_learned(path):
    async def story():
        async with running(path, model(window=0.05)) as service:
            page = await rank(service)
            await click(service, page.impression, page.ranking[:1])
            await until(lambda: service.registry.get("m").version == 1)
            last = service.store.events(0, 100, kinds=[Kind.CLOSED])[-1]
            return decode(last.kind, last.body), service.store.open_count(1), (await service.page(page.impression))[1]

    closing, still_open, page = told(story())
    assert (closing.why, closing.clicks) == ("window", [1.0, 0.0, 0.0])
    assert (still_open, page) == (0, None)


def test_an_impression_within_its_window_stays_open(path):
    async def story():
        async with running(path, model(window=3600), model_named("quick", window=0.05)) as service:
            await rank(service)
            await rank(service, name="quick")
            await until(lambda: service.registry.get("quick").version == 1)
            return service.store.open_count(1), service.store.open_count(2)

    assert told(story()) == (1, 0)


def model_named(name: str, **more) -> ModelSettings:
    return msgspec.structs.replace(model(**more), name=name)


def test_closing_with_wait_returns_when_the_next_page_is_drawn_from_what_was_learned(path):
    async def story():
        async with running(path, model(learner=ROLTR(learning_rate=1.0))) as service:
            seen = []
            for _ in range(5):
                page = await rank(service)
                await click(service, page.impression, page.ranking[:1])
                closed = await service.close(page.impression, wait=True)
                seen.append((page.version, closed.version))
            return seen

    assert told(story()) == [(n, n + 1) for n in range(5)]


def test_pages_shown_before_a_restart_can_be_clicked_and_closed_after_it(path):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
        async with running(path) as service:
            answer = await click(service, page.impression, page.ranking[:2])
            closed = await service.close(page.impression, wait=True)
        return answer.accepted, closed

    assert told(story()) == (2, Closed(True, 1))


@pytest.mark.thorough
def test_restarting_again_and_again_gives_the_bits_of_one_long_life(tmp_path, monkeypatch):
    # After a restart numbers go on with the next block; here every block is as long as a life.
    monkeypatch.setattr(registry, "BLOCK", 4)

    async def lives(path, each: int, count: int):
        settings = model(scaling="running", learner=ROLTR(baseline=True))
        numbers = []
        for _ in range(count):
            async with running(path, settings) as service:
                for _ in range(each):
                    page = await rank(service)
                    numbers.append((await service.verify(page.impression)).number)
                    await click(service, page.impression, page.ranking[:1])
                    await service.close(page.impression, wait=True)
                state = service.learner.folds()[1].state()
        return numbers, state

    one, many = (told(lives(tmp_path / f"{n}.db", 12 // n, n)) for n in (1, 3))
    assert one == many
    assert one[0] == list(range(12))


def test_impression_numbers_are_never_used_twice_whatever_is_left_of_a_block(path, monkeypatch):
    monkeypatch.setattr(registry, "BLOCK", 5)

    async def story():
        numbers = []
        for count in (3, 7, 1):
            async with running(path, model()) as service:
                pages = await asyncio.gather(*(rank(service) for _ in range(count)))
                numbers += [(await service.verify(page.impression)).number for page in pages]
        return numbers

    numbers = told(story())
    assert len(set(numbers)) == 11
    assert sorted(numbers) == [0, 1, 2, *range(5, 12), 15]


# Many at once


def test_many_pages_at_once_are_all_kept_each_with_a_number_of_its_own(path):
    async def story():
        async with running(path, model()) as service:
            pages = await asyncio.gather(*(rank(service, client=f"c{n}") for n in range(200)))
            answers = await service.click([ClickBody(page.impression, page.ranking[:1], True) for page in pages])
            await until(lambda: service.learner.folds()[1].fates.total() == 200)
            return len({page.impression for page in pages}), sum(answer.accepted for answer in answers)

    assert told(story()) == (200, 200)


def test_a_locked_database_is_waited_for_before_it_is_an_error():
    store, page = AS_IT_IS["rankloop.live.stores.sqlite"], AS_IT_IS["rankloop.live.service"]
    assert store > 1000 * page  # a page gives up first; what waits may still be written
