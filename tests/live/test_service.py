"""The service in one process: what it learns, what becomes of clicks, and that it goes on whatever stops."""

import asyncio
import sqlite3
import threading
from contextlib import contextmanager

import msgspec
import numpy as np
import pytest
from tests.patience import AS_IT_IS, PATIENCE

from rankloop.learners import COLTR, DBGD, LEARNERS, PDGD, PMGD, ROLTR, FixedWeights
from rankloop.live import learning, registry
from rankloop.live.answers import Closed
from rankloop.live.errors import RequestError, StoreError
from rankloop.live.events import Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.models import create_model
from rankloop.live.requests import ClickBody
from rankloop.live.settings import Guards, LiveLearner, ModelSettings, Weights
from rankloop.loop import draw_query
from rankloop.propensities import PowerLaw
from rankloop.simulation import simulate
from rankloop.users import noisy
from rankloop.users.position_based import click_by_position

from ..proofs import small
from .in_process import IDS, X, click, rank, running, told, until, weights


def model(**more) -> ModelSettings:
    return ModelSettings(name="m", **({"features": 3, "page_size": 3, "seed": 7, "scaling": "none"} | more))


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
]


async def serve_the_simulations_visitors(path, learner, impressions: int) -> bytes:
    """One client, zero start, no guards, closing with wait: what `simulate` does, through the service."""
    settings = ModelSettings(
        name="m", features=5, learner=learner, seed=SEED, scaling="none", guards=Guards(influence_window=0)
    )
    user, train = noisy().compiled(10), DATA.train
    async with running(path, settings) as service:
        for i in range(impressions):
            q = draw_query(np.uint64(SEED), i, train.queries)
            rows = slice(train.offsets[q], train.offsets[q + 1])
            page = await rank(service, train.features[rows], client="one")
            grades = train.grades[rows][[int(name[1:]) for name in page.ranking]].astype(np.int64)
            clicks = np.zeros(len(grades))
            click_by_position(user, grades, np.uint64(SEED), i, clicks)
            clicked = [name for name, c in zip(page.ranking, clicks, strict=True) if c]
            if clicked:
                await click(service, page.impression, clicked)
            await service.close(page.impression, wait=True)
        return weights(service).tobytes()


@pytest.mark.parametrize("learner", SIMULATED, ids=str)
def test_the_service_and_the_simulation_end_with_the_same_bits(path, learner):
    run = simulate(learner, noisy(), DATA, 40, seed=SEED, evaluate_every=0)
    assert told(serve_the_simulations_visitors(path, learner, 40)) == run.weights.tobytes()


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
            return decode(last.kind, last.body), service.store.open_count(1), (await service.page(page.impression))

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
                    numbers.append(service.verify(page.impression).number)
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
                numbers += [service.verify(page.impression).number for page in pages]
        return numbers

    numbers = told(story())
    assert len(set(numbers)) == 11
    assert sorted(numbers) == [0, 1, 2, *range(5, 12), 15]


# The store is down


def assert_incoming_order(page, reason: str) -> None:
    assert (page.group, page.impression) == ("fallback", None)
    assert page.ranking == ["d0", "d5", "d1"]
    assert page.rest == ["d2", "d3", "d4"]
    assert reason in page.reason


async def page_in_trouble(service):
    return await rank(service, pinned={"d5": 2}, rest=True)


def break_by_error(service, monkeypatch):
    @contextmanager
    def transaction():
        raise StoreError("the disk is on fire")
        yield

    monkeypatch.setattr(service.store, "transaction", transaction)
    return monkeypatch.undo, "the disk is on fire"


def break_by_lock(service, monkeypatch):
    service.store._write.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(service.store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return lambda: (other.execute("ROLLBACK"), other.close()), "another process holds the database"


def break_by_permission(service, monkeypatch):
    service.store._write.execute("PRAGMA query_only = ON")
    return lambda: service.store._write.execute("PRAGMA query_only = OFF"), "read-only"


def break_by_full_disk(service, monkeypatch):
    write = service.store._write
    # A free page or two may be left; a large page of candidates does not fit into them.
    write.execute(f"PRAGMA max_page_count = {write.execute('PRAGMA page_count').fetchone()[0]}")
    return lambda: write.execute(f"PRAGMA max_page_count = {2**30}"), "full"


@pytest.mark.parametrize("breaking", [break_by_error, break_by_lock, break_by_permission, break_by_full_disk])
def test_without_its_store_pages_come_in_the_incoming_order_with_the_reason_and_it_recovers_by_itself(
    path, monkeypatch, breaking
):
    async def story():
        async with running(path, model(features=3)) as service:
            first = await rank(service)
            await click(service, first.impression, first.ranking[:1])
            repair, reason = breaking(service, monkeypatch)
            candidates = np.tile(X, (1 if breaking is not break_by_full_disk else 700, 1))
            if breaking is break_by_full_disk:
                page = await rank(service, candidates)
                assert (page.group, page.impression, page.ranking) == ("fallback", None, IDS[:3])
                assert reason in page.reason
            else:
                assert_incoming_order(await page_in_trouble(service), reason)
            fallbacks = service.counts["impressions", "fallback"]
            repair()
            second = await rank(service, candidates)
            for page in (first, second):
                await service.close(page.impression, wait=True)
            await until(lambda: not service._unseen)
            fates = dict(service.learner.folds()[1].fates)
            return first.group, second.group, fallbacks, fates, service.trouble()

    assert told(story()) == ("learned", "learned", 1, {"learned": 2}, [])


def test_clicks_and_closings_that_cannot_be_kept_are_errors_not_promises(path, monkeypatch):
    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            repair, _ = break_by_permission(service, monkeypatch)
            for attempt in (click(service, page.impression, page.ranking[:1]), service.close(page.impression)):
                with pytest.raises(StoreError, match="read-only"):
                    await attempt
            repair()
            answer = await click(service, page.impression, page.ranking[:1])
            return answer.accepted, await service.close(page.impression, wait=True)

    assert told(story()) == (1, Closed(True, 1))


def test_a_page_that_reached_the_log_after_its_caller_was_gone_is_never_learned_from(path, monkeypatch):
    async def story():
        async with running(path, model(window=0.2)) as service:
            await service.registry.get("m").next_number(PATIENCE)  # from now on there are numbers at hand
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")  # the writer waits for it, longer than the page does
            page = await page_in_trouble(service)
            assert_incoming_order(page, "did not answer within 0.1 s")
            monkeypatch.undo()
            other.execute("ROLLBACK")
            other.close()
            await until(lambda: 1 in service.learner.folds() and service.learner.folds()[1].fates.total() == 1)
            await until(lambda: not service._unseen)
            return dict(service.learner.folds()[1].fates), service.store.open_count(1), service.store.tallies(1)

    assert told(story()) == ({"void": 1}, 0, [])


def test_a_page_whose_commit_was_not_heard_of_is_never_learned_from(path, monkeypatch):
    """A connection can break after the commit and before its answer: the page is in the log, and nobody saw it."""

    async def story():
        async with running(path, model(window=0.2)) as service:
            real = service.store.transaction

            @contextmanager
            def unheard_of():
                with real() as transaction:
                    yield transaction
                raise StoreError("the connection broke during a commit")

            monkeypatch.setattr(service.store, "transaction", unheard_of)
            assert_incoming_order(await page_in_trouble(service), "broke during a commit")
            monkeypatch.undo()
            await until(lambda: 1 in service.learner.folds() and service.learner.folds()[1].fates.total() == 1)
            return dict(service.learner.folds()[1].fates), service.store.open_count(1)

    assert told(story()) == ({"void": 1}, 0)


def test_a_page_given_up_on_right_before_the_end_is_voided_all_the_same(path, monkeypatch):
    async def story():
        async with running(path, model(), learn=False) as service:
            await service.registry.get("m").next_number(PATIENCE)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            assert (await page_in_trouble(service)).group == "fallback"
            other.execute("ROLLBACK")
            other.close()
        async with running(path) as service:
            [closing] = service.store.events(0, 100, kinds=[Kind.CLOSED])
            return decode(closing.kind, closing.body).why, service.store.open_count(1)

    assert told(story()) == ("void", 0)


def test_nothing_to_write_is_no_transaction(path, monkeypatch):
    async def story():
        async with running(path, model(), learn=False) as service:
            written = []
            monkeypatch.setattr(service._writer, "append_all", lambda *given: written.append(given))
            return await service.append(), await service._close_due(service.registry.get("m")), written

    assert told(story()) == ([], None, [])


def test_a_store_that_hangs_is_asked_for_numbers_once_and_pages_wait_no_longer_than_they_should(path, monkeypatch):
    asked, answer = [], threading.Event()

    async def story():
        async with running(path, model()) as service:
            real = service.store.reserve

            def hanging(*arguments):
                asked.append(arguments)
                answer.wait(PATIENCE)
                return real(*arguments)

            monkeypatch.setattr(service.store, "reserve", hanging)
            monkeypatch.setattr("rankloop.live.service.PATIENCE", 0.1)
            pages = await asyncio.gather(*(page_in_trouble(service) for _ in range(20)))
            pages.append(await page_in_trouble(service))
            answer.set()
            monkeypatch.undo()
            await until(lambda: service.registry.get("m")._next != service.registry.get("m")._last)
            return pages, (await rank(service)).group

    pages, after = told(story())
    for page in pages:
        assert_incoming_order(page, "did not answer within 0.1 s")
    assert len(asked) == 1
    assert after == "learned"


# The learner is down, or slow


def test_when_the_learner_has_stopped_ranking_goes_on_with_the_last_version(path):
    async def story():
        async with running(path, model(start=Weights((5.0, 0.0, 0.0)))) as service:
            page = await rank(service)
            await service.close(page.impression, wait=True)
            last = weights(service).tolist()
            await asyncio.to_thread(service.learner.stop)
            pages = [await rank(service) for _ in range(3)]
            for page in pages:
                await service.close(page.impression)
            told = {(page.group, page.version) for page in pages}, weights(service).tolist() == last, service.trouble()
        async with running(path) as service:
            await until(lambda: service.registry.get("m").version == 4)  # nothing was forgotten
        return told

    groups, same, [trouble] = told(story())
    assert groups == {("learned", 1)}
    assert same
    assert "learner: it has stopped" in trouble


def test_when_the_learner_is_slow_ranking_goes_on_with_the_last_version(path, monkeypatch):
    go_on, begun = threading.Event(), threading.Event()
    real = Fold.apply

    def slow(self, event, shown=None):
        begun.set()
        go_on.wait(PATIENCE)
        return real(self, event, shown)

    monkeypatch.setattr(Fold, "apply", slow)

    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            await service.close(page.impression)
            await asyncio.to_thread(begun.wait, PATIENCE)
            meanwhile = [(page.group, page.version) for page in [await rank(service) for _ in range(5)]]
            waiting = asyncio.create_task(service.close((await rank(service)).impression, wait=True))
            await asyncio.sleep(0)
            early = waiting.done()
            go_on.set()
            return meanwhile, early, (await waiting).version

    assert told(story()) == ([("learned", 0)] * 5, False, 2)


def test_a_learner_that_fails_says_so_and_goes_on_by_itself_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(learning.time, "sleep", lambda seconds: None)
    real = Fold.apply
    failing = threading.Event()

    def fragile(self, event, shown=None):
        if failing.is_set() and event.kind == Kind.CLOSED:
            self.ranker.model.ranker.weights[:] = 77.0  # half an update, and then
            raise MemoryError("no room")
        return real(self, event, shown)

    monkeypatch.setattr(Fold, "apply", fragile)

    async def story(path, fails: bool):
        async with running(path, model()) as service:
            for number in range(6):
                if number == 3 and fails:
                    failing.set()
                page = await rank(service)
                await click(service, page.impression, page.ranking[:1])
                await service.close(page.impression, wait=number < 3)
                if number == 3 and fails:
                    await until(lambda: service.learner.error)
                    trouble, alive = service.trouble(), service.learner.alive
                    assert weights(service).max() < 77.0
                    failing.clear()
                await until(lambda number=number: service.registry.get("m").version == number + 1)
            await until(lambda: not service.trouble())
            return (trouble, alive) if fails else None, weights(service).tobytes()

    _, untroubled = told(story(tmp_path / "a.db", fails=False))
    ([trouble], alive), troubled = told(story(tmp_path / "b.db", fails=True))
    assert "learning failed" in trouble
    assert "no room" in trouble
    assert alive
    assert troubled == untroubled


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
