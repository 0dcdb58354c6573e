"""Batches on a device, with one that is none: halves of what fails, and nothing lost but what cannot be computed."""

import pytest

import rankloop as rl
from rankloop.errors import DivergenceError, SettingsError
from rankloop.gpu import Request
from rankloop.runs import batches
from rankloop.runs.batches import SECONDS, Device, Load, load_of, planned
from rankloop.runs.run import Run


def requests(number, impressions=20):
    return [
        Request(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), impressions, seed, {"evaluate_every": 0})
        for seed in range(1, number + 1)
    ]


def loads(number, impressions=10, *, seconds=1e-6, full=264, alike="one", together=False, settings=1):
    """Runs that a device has code for, seeds the slowest to change: `settings` of each."""
    return [
        Load(impressions, 1 + index // settings, alike, seconds, full, together=together) for index in range(number)
    ]


def sizes(asked, room=10**12):
    return [len(batch) for batch in planned(asked, room)]


def test_batches_fill_a_device_and_no_more():
    assert sizes(loads(5000)) == [batches.RUNS, batches.RUNS, 904]
    assert [*planned([])] == []


def test_batches_fit_into_memory_and_a_run_that_does_not_is_alone():
    room = 1000 * batches._BYTES
    assert [*planned(loads(3, 400), room)] == [[0, 1], [2]]
    assert [*planned(loads(2, 5000), room)] == [[0], [1]]
    assert sizes(loads(500, 10, seconds=SECONDS), room) == [100] * 5  # memory is the harder limit


def test_every_run_is_in_one_batch():
    asked = [load._replace(alike=index % 3) for index, load in enumerate(loads(200, 7))]
    joined = [index for batch in planned(asked, room=120 * batches._BYTES) for index in batch]
    assert sorted(joined) == list(range(200))


def test_a_batch_takes_some_seconds_and_fills_the_device():
    """1,200 runs that take a minute or more of a device were one batch: a kill cost them all."""
    assert sizes(loads(1200, 100_000, seconds=SECONDS / 600)) == [528, 528, 144]  # twice what fills a device
    assert sizes(loads(400, 100_000, seconds=0.18)) == [264, 136]  # longer, but a smaller one would be as long
    assert sizes(loads(100, 100_000, seconds=9.0)) == [100]  # there are no more


def test_a_batch_has_runs_that_can_share_a_launch():
    """Others would wait for it: a batch is recorded when it is whole."""
    asked = [one for pair in zip(loads(40, alike="COLTR"), loads(40, alike="PMGD"), strict=True) for one in pair]
    assert [{asked[index].alike for index in batch} for batch in planned(asked)] == [{"COLTR"}, {"PMGD"}]


def test_settings_that_share_a_seed_stay_in_one_batch_wherever_they_stand():
    """A block has several of them, and reads a query once for all."""
    settings, seeds = 12, 100
    asked = [*loads(seeds, seconds=SECONDS / 100, full=100, together=True)] * settings
    found = [*planned(asked)]
    assert [len(batch) for batch in found] == [108] * 11 + [12]
    for batch in found:
        here = [asked[index].seed for index in batch]
        assert all(here.count(seed) == settings for seed in here)


def test_a_seed_that_memory_would_cut_begins_a_batch_and_one_too_large_is_cut():
    def cut(most, **how):
        return sizes(loads(**how, together=True), room=most * 10 * batches._BYTES)

    assert cut(10, number=24, settings=4) == [8, 8, 8]
    assert cut(10, number=24, settings=12) == [10, 2, 10, 2]


def test_runs_with_a_block_each_are_cut_where_the_device_is_full():
    """One run more than there are blocks at once would take as long as all the others."""
    assert sizes(loads(530, seconds=1.0, settings=5)) == [264, 264, 2]


def test_what_a_request_asks_of_a_device():
    (one,) = requests(1)
    load = load_of(one)
    assert (load.impressions, load.seed, load.full, load.together) == (20, 1, 1056, True)
    assert load.alike == load_of(one._replace(learner=rl.ROLTR(learning_rate=0.5), user=rl.users.perfect())).alike
    for other in (
        one._replace(learner=rl.PDGD()),
        one._replace(impressions=30),
        one._replace(settings={"evaluate_every": 10}),
        one._replace(data=rl.load("tiny", fold=2)),
    ):
        assert load_of(other).alike != load.alike
    few, many = (one._replace(learner=rl.COLTR(candidates=number)) for number in (5, 50))
    assert load_of(few).alike != load_of(many).alike
    assert load.seconds < load_of(few).seconds < load_of(many).seconds
    assert not load_of(few).together
    assert load_of(one._replace(settings={})).seconds > load.seconds  # a curve, unless told otherwise


def test_a_run_of_a_device_names_its_engine(stand_in):
    with Device() as place:
        (run,) = place.submit(requests(1)).result()
    assert batches.engine_of(run.manifest) == "gpu:0123456789abcdef"


def test_a_batch_without_room_is_halved_until_it_fits_and_comes_back_in_order(stand_in):
    stand_in.room = 3
    with Device() as place:
        made = place.submit(requests(10)).result()
    assert [run.settings["seed"] for run in made] == list(range(1, 11))
    assert stand_in.batches[0] == 10
    assert max(stand_in.batches[-2:]) <= 3
    assert place.impressions == 200  # what was tried and failed is not counted


def test_one_run_that_diverges_costs_no_other(stand_in):
    def diverge(asked):
        if any(one.seed == 3 for one in asked):
            raise DivergenceError("ROLTR: the weights grew beyond all numbers")

    stand_in.before = diverge
    with Device() as place:
        made = place.submit(requests(8)).result()
    assert [isinstance(one, Run) for one in made] == [True, True, False, True, True, True, True, True]
    assert isinstance(made[2], DivergenceError)


def test_a_broken_device_is_given_up_and_not_asked_for_every_run(stand_in):
    def broken(asked):
        raise RuntimeError("an illegal memory access was encountered")

    stand_in.before = broken
    with Device() as place:
        made = place.submit(requests(64)).result()
        assert len(made) == 64
        assert all(isinstance(one, RuntimeError) for one in made)
        assert stand_in.batches.count(1) == batches._GIVEN_UP
        stand_in.before = lambda asked: None
        assert isinstance(place.submit(requests(1)).result()[0], Run)


def test_leaving_the_block_stops_what_is_under_way(stand_in):
    seen = []

    def leave(asked):
        seen.append(len(asked))
        place._stopped.set()

    stand_in.before = leave
    with Device() as place:
        first, second = place.submit(requests(5)), place.submit(requests(5))
    assert isinstance(first.exception(), batches.Stopped)
    assert second.cancelled() or isinstance(second.exception(), batches.Stopped)


def test_without_a_device_one_sentence_says_so(no_device):
    with pytest.raises(SettingsError, match=r"^--on gpu: there is no CUDA device on this machine$"):
        batches.require_device("--on gpu")


def test_what_runs_on_the_cpu_is_told_with_its_reason(stand_in):
    other = [one._replace(learner=rl.PDGD()) for one in requests(2)]
    mine, others = batches.placed([*other, *requests(3)])
    assert (mine, others) == ([2, 3, 4], {"PDGD has no device code": [0, 1]})
    assert batches.reasons_in_words(batches.reasons_of(others)) == "2 runs on the CPU: PDGD has no device code (2)"
    assert batches.reasons_in_words({}) == ""
