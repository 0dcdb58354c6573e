"""Challengers of a service: they learn in shadow, are judged, promoted and dropped, and the log tells all of it."""

import msgspec
import numpy as np
import pytest

from rankloop.learners import PDGD, ROLTR
from rankloop.live import models
from rankloop.live.challengers import ChallengerSettings
from rankloop.live.challenging import challenger, challengers, drop, promote, start_challenger
from rankloop.live.errors import RequestError
from rankloop.live.events import Kind, decode
from rankloop.live.experimenting import experiments, start_experiment
from rankloop.live.experiments import ExperimentSettings
from rankloop.live.fold import Fold
from rankloop.live.loading import begun, closed_impression, take_in
from rankloop.live.stores import open_store, opened
from rankloop.live.stores.sqlite import SQLiteStore
from rankloop.logs.refolding import refolding
from rankloop.logs.replay.replaying import Options, replay
from rankloop.logs.trimming import compact, erase
from rankloop.logs.verifying import verify

from .in_process import click, model, rank, running, told, until, weights

SHOP = model(learner=ROLTR(learning_rate=0.05))
FASTER = ChallengerSettings(learner=ROLTR(learning_rate=0.2))
OTHER = ChallengerSettings(learner=PDGD(), name="gradient")


async def visits(service, pages, first=0):
    """Pages of other people each; the second result is clicked. Learned from, at the end."""
    for who in range(first, first + pages):
        page = await rank(service, client=f"visitor-{who}")
        await click(service, page.impression, [page.ranking[1]], close=True)
    page = await rank(service, client="last")
    await service.close(page.impression, wait=True)


async def caught_up(service, name="m-2"):
    """Wait until a challenger is where the model is."""
    live, served = service.registry.get(name), service.registry.get("m")
    await until(lambda: not service.store.unfolded(live.view().offset).get(served.id))


def folded(path, name):
    """A model's state, computed from its log alone, with the plain definition: every event in order."""
    with opened(path) as store:
        [stored] = [one for one in store.models() if one.name == name]
        parents = {one.name: one.id for one in store.models()}
        fold = begun(store, stored)
        for event in store.events(0, 1_000_000):
            if event.model in (stored.id, parents.get(fold.settings.challenges)) and event.kind != Kind.CREATED:
                take_in(stored.id, fold, event, closed_impression(store, event))
        kept = store.newest_snapshot(stored.id)
        return fold, kept


def test_a_challenger_learns_from_old_pages_and_new_ones_and_a_restart_loses_nothing(tmp_path):
    path = tmp_path / "log.db"

    async def story():
        async with running(path, SHOP) as service:
            await visits(service, 15)
            made = await start_challenger(service, service.registry.get("m"), FASTER)
            assert (made.name, made.challenges) == ("m-2", "m")
            assert made.changes["learner"]["learning_rate"] == 0.2
            await caught_up(service)
            assert service.registry.get("m-2").version == 16
            await visits(service, 5, first=15)
            await caught_up(service)
        async with running(path) as service:
            await visits(service, 4, first=20)
            await caught_up(service)
            [found] = await challengers(service, service.registry.get("m"))
            assert (found.behind, found.fates) == (0, {"learned": 27})
            assert found.off_policy.pages == 27
            assert not np.array_equal(weights(service, "m-2"), weights(service))
            return found

    assert told(story()).advice == "interleave"
    fold, kept = folded(path, "m-2")
    assert kept.state == fold.state()
    assert verify(path).problems == []


def test_a_challenger_shows_nothing_and_has_no_challengers_of_its_own(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            await start_challenger(service, service.registry.get("m"), FASTER)
            other = service.registry.get("m-2")
            with pytest.raises(RequestError, match="'m-2' learns in shadow, from the pages of 'm'; ask 'm' instead"):
                await rank(service, name="m-2")
            with pytest.raises(RequestError, match="learns in shadow"):
                await start_challenger(service, other, OTHER)
            with pytest.raises(RequestError, match="learns in shadow"):
                await start_experiment(service, other, ExperimentSettings())
            with pytest.raises(RequestError, match="make a challenger with POST /v1/models/m/challengers"):
                await models.create_model(service, model(challenges="m"))
            with pytest.raises(RequestError, match="a model 'm-2' already exists"):
                await start_challenger(service, service.registry.get("m"), msgspec.structs.replace(FASTER, name="m-2"))
            for _ in range(3):
                await start_challenger(service, service.registry.get("m"), FASTER)
            with pytest.raises(RequestError, match="has 4 challengers already"):
                await start_challenger(service, service.registry.get("m"), FASTER)

    told(story())


def test_a_promoted_challenger_is_served_and_can_be_rolled_back_and_refolded(tmp_path):
    path = tmp_path / "log.db"

    async def story():
        async with running(path, SHOP) as service:
            await visits(service, 10)
            served = service.registry.get("m")
            before = served.version
            await start_challenger(service, served, OTHER)
            await start_experiment(service, served, ExperimentSettings(arms=("learned", "gradient"), share=1.0))
            await visits(service, 6, first=10)
            await caught_up(service, "gradient")
            late = await rank(service, client="somebody")
            shadow = weights(service, "gradient").copy()
            described = await promote(service, served, "gradient")
            assert described.learner["learner"] == "PDGD"
            assert described.settings.challenges is None
            assert np.array_equal(weights(service), shadow)
            assert [one.stopped is not None for one in await experiments(service, served)] == [True]
            assert [one.settings.name for one in service.registry.all()] == ["m"]
            # A page that the old settings drew, closed under the new ones.
            await click(service, late.impression, [late.ranking[0]], close=True)
            await visits(service, 6, first=16)
            assert not np.array_equal(weights(service), shadow)
        assert verify(path).problems == []
        async with running(path) as service:
            served = service.registry.get("m")
            assert served.settings.learner == PDGD()
            assert (await rank(service)).group == "learned"
            await visits(service, 3, first=22)
            back = await models.roll_back(service, served, 0)
            assert back.learner["learner"] == "ROLTR"
            assert not weights(service).any()
            await visits(service, 3, first=25)
            assert before < served.version
            return weights(service).copy()

    at_last = told(story())
    assert verify(path).problems == []
    fold, kept = folded(path, "m")
    assert kept.state == fold.state()
    assert np.array_equal(fold.ranker.weights, at_last)
    with refolding(path, "m") as anew:
        assert anew.compare().same_bits
    assert replay(path, Options(evaluate=0)).same_bits
    changed = replay(path, Options(learner="Posterior", evaluate=0))
    assert changed.passed_over == {"promoted": 1, "rolled_back": 1}


def test_what_people_preferred_to_a_model_that_was_replaced_says_nothing_of_the_new_one(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            await visits(service, 5)
            served = service.registry.get("m")
            await start_challenger(service, served, FASTER)
            await start_challenger(service, served, OTHER)
            await start_experiment(service, served, ExperimentSettings(arms=("learned", "m-2"), share=1.0))
            await visits(service, 5, first=5)
            assert (await challenger(service, served, "m-2")).interleaving is not None
            await promote(service, served, "gradient")
            assert (await challenger(service, served, "m-2")).interleaving is None
            await models.roll_back(service, served, 0)  # the model that it was held against is back
            assert (await challenger(service, served, "m-2")).interleaving is not None

    told(story())


def test_people_who_are_erased_leave_challengers_and_those_promoted_too(tmp_path):
    path = tmp_path / "log.db"

    async def story():
        async with running(path, SHOP) as service:
            await visits(service, 8)
            await start_challenger(service, service.registry.get("m"), FASTER)
            await start_challenger(service, service.registry.get("m"), OTHER)
            await caught_up(service)
            await caught_up(service, "gradient")
            await promote(service, service.registry.get("m"), "gradient")
            await visits(service, 3, first=8)
            await caught_up(service)

    told(story())
    with_all, _ = folded(path, "m-2")
    erased = erase(path, "visitor-3")
    assert erased.models == ["m", "m-2"]
    assert {one.name: one.remembers for one in verify(path).models} == {"m": True, "m-2": True}
    for name in ("m", "m-2"):
        with refolding(path, name) as anew:
            assert not anew.compare().same_bits
            anew.serve(1, forget=True)
    found = verify(path)
    assert found.problems == []
    assert not any(one.remembers for one in found.models)
    without, _ = folded(path, "m-2")
    assert sum(without.fates.values()) == sum(with_all.fates.values()) - 1


def rolled_back(path):
    """A model and its challenger, which has returned to a state that knows everybody."""

    async def story():
        async with running(path, SHOP) as service:
            await visits(service, 8)
            await start_challenger(service, service.registry.get("m"), FASTER)
            await caught_up(service)
            rival = service.registry.get("m-2")
            await until(lambda: service.store.snapshots(rival.id)[0].version > 0)
            await models.roll_back(service, rival, service.store.snapshots(rival.id)[0].version)

    told(story())


def test_a_state_that_a_challenger_returned_to_may_remember_who_was_erased(tmp_path):
    path = tmp_path / "log.db"
    rolled_back(path)
    assert [one.remembering_events for one in verify(path).models] == [0, 0]
    erase(path, "visitor-3")
    assert {one.name: one.remembering_events for one in verify(path).models} == {"m": 0, "m-2": 1}
    with refolding(path, "m-2") as anew:
        assert anew.serve(1, forget=True).remembering_events == 1


def test_killed_while_it_erases_a_challenger_does_not_pass_for_one_that_remembers_nobody(tmp_path, monkeypatch):
    path = tmp_path / "log.db"
    rolled_back(path)
    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "erase", erased_and_killed(SQLiteStore.erase))
        with pytest.raises(KeyboardInterrupt):
            erase(path, "visitor-3")
    assert {one.name: one.remembers for one in verify(path).models} == {"m": True, "m-2": True}
    assert erase(path, "visitor-5").models == ["m", "m-2"]


def test_whom_an_erasure_does_not_meet_is_as_clean_as_before(tmp_path):
    path = tmp_path / "log.db"
    rolled_back(path)
    assert erase(path, "nobody").models == []
    assert [one.remembers for one in verify(path).models] == [False, False]


def erased_and_killed(erase):
    """Erases, and ends before anything else is written."""

    def killed(self, client):
        erase(self, client)
        raise KeyboardInterrupt

    return killed


def test_after_compacting_a_challenger_begins_with_what_is_left(tmp_path):
    path = tmp_path / "log.db"

    async def fill(pages, first):
        async with running(path, SHOP) as service:
            await visits(service, pages, first)

    async def challenge():
        async with running(path) as service:
            await start_challenger(service, service.registry.get("m"), FASTER)
            await visits(service, 5, first=20)
            await caught_up(service)
            return await challenger(service, service.registry.get("m"), "m-2")

    told(fill(10, 0))
    told(fill(10, 10))
    compact(path, 0, at=2**53)
    found = told(challenge())
    assert found.fates == {"learned": 6}
    assert verify(path).problems == []
    compact(path, 0, at=2**53)
    assert verify(path).problems == []


def test_a_dropped_challenger_ends_its_experiment_and_a_deleted_model_takes_its_challengers_along(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            served = service.registry.get("m")
            await start_challenger(service, served, FASTER)
            await start_challenger(service, served, OTHER)
            await start_experiment(service, served, ExperimentSettings(arms=("learned", "m-2"), share=1.0))
            assert (await rank(service)).group == "interleaved"
            await drop(service, served, "m-2")
            assert (await rank(service)).group == "learned"
            with pytest.raises(RequestError, match="'m' has no challenger 'm-2'"):
                await drop(service, served, "m-2")
            await models.delete_model(service, served)
            assert service.registry.all() == []
            assert service.store.models() == []

    told(story())


def test_a_challenger_that_fails_keeps_nobody_from_learning(tmp_path, monkeypatch):
    learn = Fold._learn

    def fails(self, impression, shown, clicks):
        if self.settings.challenges:
            raise ZeroDivisionError("a mistake of its own")
        return learn(self, impression, shown, clicks)

    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            monkeypatch.setattr(Fold, "_learn", fails)
            await start_challenger(service, service.registry.get("m"), FASTER)
            await visits(service, 5)
            assert service.registry.get("m").version == 6
            await until(lambda: service.registry.get("m-2").damage)
            [found] = await challengers(service, service.registry.get("m"))
            assert (found.mode, found.advice) == ("damaged", "drop")
            await drop(service, service.registry.get("m"), "m-2")

    told(story())


def test_another_process_reads_what_was_kept(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            await start_challenger(service, service.registry.get("m"), FASTER)
            await visits(service, 4)
            await caught_up(service)
        async with running(tmp_path / "log.db", learn=False) as service:
            return await challengers(service, service.registry.get("m"))

    [found] = told(story())
    assert found.fates == {"learned": 5}


def test_the_event_of_a_promotion_holds_all_that_folding_needs(tmp_path):
    path = tmp_path / "log.db"

    async def story():
        async with running(path, SHOP) as service:
            await start_challenger(service, service.registry.get("m"), FASTER)
            await visits(service, 3)
            await caught_up(service)
            await promote(service, service.registry.get("m"), "m-2")

    told(story())
    store = open_store(path)
    [event] = store.events(0, 9, kinds=(Kind.PROMOTED,))
    promoted = decode(event.kind, event.body)
    store.close()
    fold = Fold(SHOP)
    fold.apply(event)
    assert fold.settings == msgspec.structs.replace(SHOP, learner=FASTER.learner)
    assert fold.reign == event.offset
    assert Fold.restored(SHOP, fold.state(), fold.offset).state() == fold.state()
    assert promoted.version <= 4


def test_replicas_on_a_server_agree_and_a_promotion_is_seen_by_both(postgres_address):
    """One process learns, the other decides; both draw from the promoted state, and the log folds to the same bits."""

    async def story():
        async with running(postgres_address, SHOP) as one, running(postgres_address) as other:
            served = other.registry.get("m")
            await start_challenger(other, served, FASTER)
            await visits(other, 6)
            await caught_up(other)
            await until(lambda: len(one.registry.all()) == 2)
            await promote(other, served, "m-2")
            await until(lambda: one.registry.get("m").settings.learner == FASTER.learner)
            for service in (one, other):
                await visits(service, 2, first=6)
            await until(lambda: [live.settings.name for live in one.registry.all()] == ["m"])

    told(story())
    fold, kept = folded(postgres_address, "m")
    assert kept.state == fold.state()
    assert verify(postgres_address).problems == []


def test_a_challenger_whose_model_is_gone_keeps_nobody_from_learning(tmp_path):
    """Deleted by a version that knew no challengers, say."""
    path, other = tmp_path / "log.db", msgspec.structs.replace(SHOP, name="other")

    async def begin():
        async with running(path, SHOP, other) as service:
            await start_challenger(service, service.registry.get("m"), FASTER)

    async def go_on():
        async with running(path) as service:
            page = await rank(service, name="other")
            await service.close(page.impression, wait=True)
            assert service.registry.get("other").version == 1
            assert service.learner.error is None

    told(begin())
    with opened(path) as store, store.transaction() as transaction:
        transaction.delete_model(1, 0)
    told(go_on())
