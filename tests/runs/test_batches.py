"""Batches on a device, with one that is none: halves of what fails, and nothing lost but what cannot be computed."""

import pytest

import rankloop as rl
from rankloop.errors import DivergenceError, SettingsError
from rankloop.gpu import Request
from rankloop.runs import batches
from rankloop.runs.batches import Device, planned
from rankloop.runs.run import Run


def requests(number, impressions=20):
    return [
        Request(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), impressions, seed, {"evaluate_every": 0})
        for seed in range(1, number + 1)
    ]


def test_batches_fill_a_device_and_no_more():
    assert [len(batch) for batch in planned([10] * 5000, room=10**12)] == [batches.RUNS, batches.RUNS, 904]
    assert [*planned([])] == []


def test_batches_fit_into_memory_and_a_run_that_does_not_is_alone():
    room = 1000 * batches._BYTES
    assert [*planned([400, 400, 400, 5000, 1], room)] == [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]


def test_every_run_is_in_one_batch_in_order():
    joined = [index for batch in planned([7, 90, 3, 55] * 50, room=120 * batches._BYTES) for index in batch]
    assert joined == list(range(200))


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
