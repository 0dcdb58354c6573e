"""A model's weights anew, from what is left in its log, on both kinds of store."""

import threading

import pytest
from tests.patience import PATIENCE

from rankloop.errors import SettingsError
from rankloop.learners import Posterior
from rankloop.learners.merits import FILL
from rankloop.live.events import FOLDED, Kind, Restored, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.learning import Learner
from rankloop.live.loading import closed_impression, load
from rankloop.live.stores import open_store
from rankloop.logs.refolding import refolding
from rankloop.logs.trimming import compact, erase

from .writing import DAMAGED, DAY, Log, blob, change, model_settings, only_model, problems, refold


def test_after_an_erasure_verify_begins_at_a_snapshot_and_weights_stay_until_a_refold(log, store, address):
    weights = load(store, store.models()[0])[0].ranker.weights
    erase(address, "ann")
    found = only_model(address)
    assert problems(address) == []
    assert found.begins == "version 60"
    assert (load(store, store.models()[0])[0].ranker.weights == weights).all()
    done = refold(address, "shop", log.at)
    assert (done.version, done.begins, done.learned) == (61, "the beginning", 45)
    assert done.distance > 0
    anew = load(store, store.models()[0])[0].ranker.weights
    assert not (anew == weights).all()
    # What the same people would have taught a model that never met her.
    alone = Fold(log.settings)
    for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,)):
        alone.apply(event, store.event(decode(event.kind, event.body).shown))
    assert (anew == alone.ranker.weights).all()
    assert problems(address) == []


def test_a_second_refold_forgets_what_the_first_still_knew(log, store, address):
    erase(address, "ann")
    refold(address, "shop", log.at)
    erase(address, "bob")
    done = refold(address, "shop", log.at)
    assert done.learned == 30
    weights = load(store, store.models()[0])[0].ranker.weights
    alone = Fold(log.settings)
    for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,)):
        alone.apply(event, store.event(decode(event.kind, event.body).shown))
    assert (weights == alone.ranker.weights).all()


def test_after_a_refold_the_erased_are_not_counted_among_those_who_taught_and_the_next_one_changes_nothing(
    store, address
):
    log = Log.filled(store, model_settings(learner=Posterior(), scaling="robust"), impressions=120)
    erase(address, "ann")
    refold(address, "shop", log.at)
    log.fold = load(store, store.models()[0])[0]
    assert log.fold.influence.pages == 90
    log.visit(40, clients=("ann", "bob"))
    log.snapshot()
    assert refold(address, "shop", log.at).distance == 0.0
    assert problems(address) == []


def plainly_folded(store, settings):
    """Everything that is left, page by page as it was shown."""
    fold = Fold(settings)
    for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,)):
        fold.apply(event, store.event(decode(event.kind, event.body).shown))
    return fold.ranker.weights


def test_pages_drawn_by_a_model_that_knew_the_erased_count_as_if_the_new_one_had_ordered_them(store, address):
    """Of whoever learns how far people look; again and again the same, while nothing else is erased."""
    log = Log.filled(store, model_settings(learner=Posterior(), scaling="robust"), impressions=60)
    erase(address, "ann")
    done = refold(address, "shop", log.at)
    assert 0 < done.redrawn < done.learned
    anew = load(store, store.models()[0])[0]
    assert not (anew.ranker.weights == plainly_folded(store, log.settings)).all()
    again = refold(address, "shop", log.at)
    assert (again.redrawn, again.distance) == (done.redrawn, 0.0)


def test_pages_from_before_the_first_erased_one_or_after_a_refold_count_as_they_were_shown(store, address):
    log = Log(store, model_settings(learner=Posterior(), scaling="robust"))
    log.visit(40, clients=("bob", "cid"))
    log.visit(10, clients=("ann",))
    erase(address, "ann")
    done = refold(address, "shop", log.at)
    assert (done.learned, done.redrawn) == (40, 0)
    assert (load(store, store.models()[0])[0].ranker.weights == plainly_folded(store, log.settings)).all()
    log.fold = load(store, store.models()[0])[0]
    log.visit(30, clients=("bob", "cid"))
    done = refold(address, "shop", log.at)
    assert (done.learned, done.redrawn, done.distance) == (70, 0, 0.0)


def test_pages_closed_later_count_as_the_new_model_would_have_ordered_them_when_they_were_shown(store, address):
    """Nothing of what is erased was learned from before these pages were drawn, so they are as they were, however much
    has been learned by the time they are closed."""
    log = Log(store, model_settings(learner=Posterior(), scaling="robust"))
    log.visit(20, clients=("bob", "cid"))
    erased = log.visit(1, clients=("ann",), close=False)
    still_open = log.visit(20, clients=("bob", "cid"), close=False)
    log.close(erased)
    log.close(still_open)
    erase(address, "ann")
    done = refold(address, "shop", log.at)
    assert (done.learned, done.redrawn) == (40, 0)
    assert (load(store, store.models()[0])[0].ranker.weights == plainly_folded(store, log.settings)).all()


def test_a_refold_of_an_untouched_log_changes_no_weight_and_passes_roll_backs_as_they_were_meant(log, store, address):
    log.roll_back(20)
    log.visit(10)
    before = log.fold.ranker.weights
    done = refold(address, "shop", log.at)
    assert (done.distance, done.kept_states, done.forgotten) == (0.0, 0, 0)
    assert (load(store, store.models()[0])[0].ranker.weights == before).all()
    assert problems(address) == []


def test_a_service_that_is_learning_takes_a_refold_over(log, store, address):
    serving = open_store(address)
    published = threading.Event()
    learner = Learner(serving, lambda model, view: published.set() if view.version > 60 else None, lambda: log.at)
    learner.start()
    try:
        erase(address, "ann")
        learner.wake()
        done = refold(address, "shop", log.at)
        learner.wake()
        assert published.wait(PATIENCE), "the learner published no state"
    finally:
        learner.stop()
        serving.close()
    assert done.version == 61
    assert problems(address) == []


def test_a_refold_of_a_compacted_log_goes_on_from_its_oldest_snapshot(log, store, address):
    log.visit(20)
    log.snapshot()
    log.visit(20)
    log.snapshot()
    before = log.fold.ranker.weights
    compact(address, 1.0 / 86_400 * 25, log.at)
    assert refold(address, "shop", log.at).begins == "version 80"
    assert (load(store, store.models()[0])[0].ranker.weights == before).all()


def test_a_refold_goes_by_the_log_and_needs_no_state_that_can_be_read(log, store, address):
    weights = log.fold.ranker.weights.copy()
    change(store, "UPDATE snapshots SET state = " + blob(store, b"\xc1"))
    done = refold(address, "shop", log.at)
    assert (done.begins, done.learned, done.version, done.distance) == ("the beginning", 60, 61, 0.0)
    assert (load(store, store.models()[0])[0].ranker.weights == weights).all()
    assert (done.forgotten, problems(address)) == (7, [])


def test_with_its_first_events_gone_a_refold_begins_at_the_oldest_state_that_can_be_read(log, store, address):
    compact(address, 1.0 / 86_400 * 25, log.at)
    oldest, *others = sorted(snapshot.version for snapshot in store.snapshots(log.model))
    change(store, f"UPDATE snapshots SET state = {blob(store, bytes(9))} WHERE version IN ({oldest}, {others[-1]})")
    if others[:-1]:
        assert refold(address, "shop", log.at).begins == f"version {others[0]}"
    change(store, "UPDATE snapshots SET state = " + blob(store, b"\xc1"))
    with pytest.raises(SettingsError, match="shop has neither its first events nor a readable snapshot left"):
        refold(address, "shop", log.at)


def versions(store, log):
    return [snapshot.version for snapshot in store.snapshots(log.model)]


def test_until_somebody_agrees_nothing_changes(log, store, address):
    erase(address, "ann")
    before, kept = store.last_offset(), versions(store, log)
    with refolding(address, "shop") as work:
        difference = work.compare()
    assert not difference.same_bits
    assert difference.distance > 0
    assert (store.last_offset(), versions(store, log)) == (before, kept)
    assert only_model(address).remembers


def test_states_from_before_stay_to_roll_back_to_until_somebody_lets_go_of_them(log, store, address):
    erase(address, "ann")
    before = log.fold.ranker.weights.copy()
    done = refold(address, "shop", log.at)
    assert (done.forgotten, done.remembering) == (0, 6)
    assert not only_model(address).remembers
    log.follow()
    log.snapshot()
    log.roll_back(60)
    assert (log.fold.ranker.weights == before).all()
    # What she taught is back: the model remembers her again, until it is computed anew.
    assert only_model(address).remembers
    assert problems(address) == []
    done = refold(address, "shop", log.at, forget=True)
    assert not only_model(address).remembers
    assert done.remembering == 0
    assert versions(store, log) == [done.version, 0]
    assert problems(address) == []


def test_a_state_inside_the_log_outlives_a_refold_and_is_told_of(log, store, address):
    erase(address, "ann")
    log.roll_back(30)
    log.snapshot()
    assert refold(address, "shop", log.at, forget=True).remembering_events == 1
    found = only_model(address)
    assert (found.remembers, found.remembering_events) == (False, 1)
    compact(address, 0.0, log.at + DAY)
    assert only_model(address).remembering_events == 0


def test_a_state_from_before_the_first_erased_page_may_stay_inside_the_log(log, store, address):
    log.roll_back(0)
    log.visit(10, clients=("dan",))
    log.snapshot()
    erase(address, "dan")
    refold(address, "shop", log.at, forget=True)
    assert only_model(address).remembering_events == 0


def test_states_from_after_a_refold_need_not_go(log, store, address):
    erase(address, "ann")
    refold(address, "shop", log.at)
    log.fold = load(store, store.models()[0])[0]
    log.visit(10, clients=("bob",))
    log.snapshot()
    done = refold(address, "shop", log.at, forget=True)
    assert versions(store, log) == [done.version, 71, 61, 0]


def compacted_to(store, address, log, version):
    """Delete what is not needed to go on from a snapshot."""
    offset = store.snapshot(log.model, version).offset
    [at] = [event.at for event in store.events(offset - 1, 1)]
    compact(address, (log.at + DAY - at) / DAY, log.at + DAY)
    assert versions(store, log)[-1] == version


def test_once_the_model_is_clean_a_refold_of_a_compacted_log_begins_at_a_state_that_is(log, store, address):
    erase(address, "ann")
    clean = refold(address, "shop", log.at).version
    log.fold = load(store, store.models()[0])[0]
    log.visit(10, clients=("bob", "cid"))
    log.snapshot()
    compacted_to(store, address, log, 60)
    done = refold(address, "shop", log.at, forget=True)
    assert (done.begins, done.distance, done.remembers) == (f"version {clean}", 0.0, False)
    assert not only_model(address).remembers
    assert problems(address) == []
    # What remembers her goes, though the log began with it.
    assert versions(store, log) == [done.version, clean + 10, clean]
    assert done.remembering == 0


def test_if_no_clean_state_can_be_read_a_refold_of_a_compacted_log_leaves_the_model_in_doubt(log, store, address):
    erase(address, "ann")
    clean = refold(address, "shop", log.at).version
    compacted_to(store, address, log, 60)
    assert not only_model(address).remembers
    change(store, f"UPDATE snapshots SET state = {blob(store, DAMAGED)} WHERE version = {clean}")
    done = refold(address, "shop", log.at)
    assert (done.begins, done.remembers) == ("version 60", True)
    assert only_model(address).remembers


def test_what_was_compacted_before_somebody_was_erased_may_have_been_theirs(log, store, address):
    compacted_to(store, address, log, 40)
    erase(address, "ann")
    with refolding(address, "shop") as work:
        work.compare()
        assert work.remembers
        done = work.serve(log.at, forget=True)
    assert (done.begins, done.remembers, done.remembering) == ("version 40", True, 0)
    assert only_model(address).remembers
    assert problems(address) == []
    # The oldest is where the next refold begins, and the newest is served.
    assert versions(store, log) == [done.version, 40]
    assert refold(address, "shop", log.at).remembers
    assert only_model(address).remembers


def test_a_model_that_had_learned_nothing_when_its_log_was_compacted_can_forget(store, address):
    log = Log(store)
    log.control(Kind.SCALING_FROZEN)
    log.snapshot()
    compact(address, 0.0, log.at + DAY)
    log.visit(10)
    log.snapshot()
    erase(address, "ann")
    done = refold(address, "shop", log.at)
    assert (done.begins, done.remembers) == ("version 1", False)
    assert not only_model(address).remembers


def test_a_roll_back_to_a_state_of_unknown_place_leaves_the_model_in_doubt(log, store, address):
    erase(address, "ann")
    log.control(Kind.ROLLED_BACK, encode(Restored(20, store.snapshot(log.model, 20).state)))
    done = refold(address, "shop", log.at)
    assert (done.begins, done.kept_states, done.remembers) == ("the beginning", 1, True)
    assert only_model(address).remembers


def test_a_log_from_which_nothing_was_erased_has_nothing_to_forget(log, store, address):
    with refolding(address, "shop") as work:
        assert work.compare().same_bits
        done = work.serve(log.at, forget=True)
    assert (done.forgotten, done.remembering) == (0, 0)
    assert not only_model(address).remembers


def test_what_came_while_somebody_thought_about_it_is_in_the_new_state(log, store, address):
    erase(address, "ann")
    with refolding(address, "shop") as work:
        work.compare()
        log.visit(10, clients=("bob",))
        assert work.serve(log.at).learned == 55
    assert problems(address) == []


@pytest.mark.parametrize("half_life", [0.0, 30.0])
def test_a_full_memory_of_documents_is_the_same_bits_after_a_restart_and_survives_a_roll_back_and_an_erasure(
    store, address, monkeypatch, half_life
):
    """More documents than there is room for: who had to make room for whom is in the state, too."""
    monkeypatch.setattr("tests.logs.writing.QUERIES", 100)
    learner = Posterior(memory=1, half_life=half_life)
    log = Log.filled(store, model_settings(learner=learner, scaling="robust"), impressions=90)
    merits = log.fold.ranker.model.merits
    assert merits.taken[0] == FILL * merits.keys.size
    for kept in store.snapshots(log.model):
        state = store.snapshot(log.model, kept.version).state
        again = Fold.restored(log.settings, state, kept.offset)
        for event in store.events(kept.offset, 1_000_000, kinds=FOLDED, model=log.model):
            again.apply(event, closed_impression(store, event))
        assert again.state() == log.fold.state()
    log.roll_back(60)
    log.visit(20)
    log.snapshot()
    assert problems(address) == []
    erase(address, "ann")
    refold(address, "shop", log.at)
    assert problems(address) == []
    log.fold = load(store, store.models()[0])[0]
    log.visit(10)
    assert log.fold.ranker.model.merits.taken[0] == FILL * merits.keys.size
