"""Tuning finds what is better on the validation split, without a look at the test split."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import rankloop as rl
from rankloop.errors import DivergenceError, RankloopError
from rankloop.studies.specification import Source
from rankloop.studies.tuning import LEARNING_RATES, as_study, search, tune

from .searched import SMALL, TINY, made


class Untouchable(rl.Split):
    """A test split that has a width and a digest, and says so when anything else is asked of it."""

    features = SimpleNamespace(shape=(1, TINY.features))
    digest = TINY.test.digest

    def __init__(self):
        pass

    def __getattr__(self, name):
        raise AssertionError(f"the test split was read: {name}")


def poisoned(data=TINY, **changes):
    return dataclasses.replace(data, test=Untouchable(), **changes)


@pytest.fixture(scope="module")
def results():
    return {name: tune(rl.ROLTR(), "noisy", poisoned(), objective=name, **SMALL) for name in search.OBJECTIVES}


def test_the_test_split_is_never_read(results):
    assert all(len(result.candidates) == 4 for result in results.values())


def test_the_test_split_is_never_read_where_processes_open_the_collection(results, monkeypatch):
    monkeypatch.setattr(search, "load", lambda name, fold, scale: poisoned())
    for name, result in results.items():
        again = tune(rl.ROLTR(), "noisy", "tiny", objective=name, **SMALL)
        assert again.candidates == result.candidates


def test_candidates_are_compared_by_the_metric_that_is_asked_for(results):
    found = tune(rl.ROLTR(), "noisy", poisoned(), objective="offline", metric="map", **SMALL)
    held_out = dataclasses.replace(TINY, test=TINY.vali)
    run = rl.simulate(found.best.learner, rl.users.noisy(), held_out, 300, 1, evaluate_every=300, metrics="map")
    assert found.best.values[0] == run.by("map").offline
    assert found.measured == "MAP on the validation queries after the last impression"
    assert results["speed"].measured == "nDCG@10 on the validation queries, mean over the learning curve"


def test_repeats_are_runs_of_simulate_on_the_validation_split(results):
    best = results["offline"].best
    held_out = dataclasses.replace(TINY, test=TINY.vali)
    asking = dataclasses.replace(TINY, train=TINY.vali)
    for repeat, seed in enumerate((1, 2)):
        run = rl.simulate(best.learner, rl.users.noisy(), held_out, 300, seed, evaluate_every=15)
        assert best.values[repeat] == run.offline_ndcg
        speed = next(one for one in results["speed"].candidates if one.learner == best.learner)
        assert speed.values[repeat] == run.offline_curve[:, 1].mean()
        online = next(one for one in results["online"].candidates if one.learner == best.learner)
        assert online.values[repeat] == rl.simulate(best.learner, rl.users.noisy(), asking, 300, seed).online_ndcg


def test_the_highest_mean_wins(results):
    for result in results.values():
        assert result.best.mean == max(np.mean(candidate.values) for candidate in result.candidates)


def test_people_see_better_pages_from_a_policy_that_moves(results):
    # Offline a tiny step is no handicap: from weights 0 only their direction counts. Online it never shows.
    assert results["online"].best.chosen == {"learning_rate": 0.01, "reward": "ips+-"}
    assert results["online"].best.learner == rl.ROLTR(learning_rate=0.01, reward="ips+-")


@pytest.mark.long
@pytest.mark.process
def test_the_result_does_not_depend_on_workers_or_on_how_the_data_is_given(results):
    for data in (TINY, "tiny", Source(data="tiny")):
        again = tune(rl.ROLTR(), rl.users.noisy(), data, objective="speed", **SMALL | {"workers": 2})
        assert again.candidates == results["speed"].candidates


def test_repeats_are_spread_over_the_folds():
    result = tune(rl.ROLTR(), "noisy", Source(data="tiny", folds=(1, 2)), **SMALL)
    by_fold = [tune(rl.ROLTR(), "noisy", rl.load("tiny", fold=fold), **SMALL) for fold in (1, 2)]
    for both, first, second in zip(result.candidates, *(one.candidates for one in by_fold), strict=True):
        assert both.values == (first.values[0], second.values[1])


def test_settings_that_are_not_searched_stay():
    result = tune(rl.ROLTR(discount=0.5), "noisy", TINY, **SMALL)
    assert {candidate.learner.discount for candidate in result.candidates} == {0.5}


def test_progress_tells_every_run():
    words = []
    tune(rl.PDGD(), "perfect", TINY, search={"learning_rate": np.array([0.1, 0.2, 0.1])}, impressions=20, repeats=2,
         workers=1, progress=words.append)  # fmt: skip
    assert sorted(words) == ["learning_rate=0.1"] * 2 + ["learning_rate=0.2"] * 2


def test_learning_rates_are_searched_unless_told_otherwise():
    result = tune(rl.PDGD(), "perfect", TINY, impressions=20, repeats=1, workers=1)
    assert [candidate.chosen["learning_rate"] for candidate in result.candidates] == list(LEARNING_RATES)
    assert np.isnan(result.best.interval.half_width)


def test_of_equal_candidates_the_first_is_best_and_one_that_diverged_never():
    assert made(2.0, 3.0, 3.0).best.chosen == {"learning_rate": 0.1}
    assert made(np.nan, 3.0, 2.0).best.chosen == {"learning_rate": 0.1}


def test_a_best_value_at_the_edge_of_the_search_is_told_unless_nothing_lies_beyond():
    assert made(3.0, 1.0, 2.0).at_edge == ["learning_rate"]
    assert made(1.0, 2.0, 3.0).at_edge == ["learning_rate"]
    assert made(1.0, 3.0, 2.0).at_edge == []
    for means in ((3.0, 2.0, 1.0), (1.0, 2.0, 3.0)):
        assert made(*means, name="discount", values=(0.0, 0.5, 1.0)).at_edge == []


@pytest.mark.parametrize("objective", search.OBJECTIVES)
def test_a_candidate_that_diverges_does_not_end_the_search(objective):
    result = tune(rl.ROLTR(), "noisy", TINY, search={"learning_rate": [1e300, 0.01]}, impressions=100, repeats=2,
                  objective=objective, workers=1)  # fmt: skip
    assert np.isnan(result.candidates[0].mean)
    assert result.best.chosen == {"learning_rate": 0.01}
    assert "diverged" in as_study(result)


BARREN = rl.Split.of(np.zeros((2, TINY.features)), [0, 0], [1, 1])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": {"rate": [1]}}, "ROLTR has no setting 'rate'; it has reward, discount, learning_rate"),
        ({"search": {}}, "at least one setting"),
        ({"search": {"learning_rate": []}}, "learning_rate must be a list of values to try, at least one; got []"),
        ({"search": {"reward": "ips+"}}, "reward must be a list"),
        ({"search": {"learning_rate": [0.1, -1]}}, "learning_rate must be a number, above 0; got -1"),
        ({"search": {"learning_rate": ["fast"]}}, "learning_rate"),
        ({"search": {"reward": ["ips"]}}, "got 'ips'"),
        ({"search": {"propensities": [rl.propensities.known([1.0])]}}, "given for 1 ranks"),
        ({"learner": rl.Oracle(), "search": None}, "Oracle has no learning_rate"),
        ({"learner": "ROLTR"}, "learner"),
        ({"data": 3}, "collections"),
        ({"objective": "luck"}, "objective must be one of 'online', 'offline', 'speed'; got 'luck'"),
        ({"impressions": 0}, "impressions"),
        ({"repeats": 0}, "repeats"),
        ({"metric": "ndgc"}, "a metric must be one of ndcg"),
        ({"metric": "map"}, "no page shows what map needs"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64 - 1}, "seed"),
        ({"workers": 0}, "workers"),
        ({"user": "angelic"}, "angelic"),
        ({"user": rl.users.noisy(grades=3)}, "grade"),
        ({"data": "nowhere"}, "nowhere"),
        ({"data": poisoned(vali=None)}, "tiny has no validation split"),
        ({"data": poisoned(vali=BARREN)}, "no query of the validation split has a relevant candidate"),
        ({"search": {"learning_rate": [1e300]}, "objective": "offline", "impressions": 100}, "diverged"),
    ],
)
def test_a_mistake_is_a_sentence_and_runs_nothing(changes, words):
    told = []
    arguments = {"learner": rl.ROLTR(), "user": "noisy", "data": poisoned(), **SMALL, **changes}
    positional = [arguments.pop(name) for name in ("learner", "user", "data")]
    with pytest.raises(RankloopError) as refused:
        tune(*positional, progress=told.append, **arguments)
    assert words in str(refused.value)
    assert not told or words == "diverged"  # which only shows once everything has run


def test_on_a_device_a_search_finds_the_same(stand_in):
    how = {"search": {"learning_rate": [0.001, 0.03]}, "impressions": 100, "repeats": 2, "workers": 1}
    here, there = (tune(rl.ROLTR(), "noisy", TINY, on=on, **how) for on in ("local", "gpu"))
    assert [one.values for one in there.candidates] == [one.values for one in here.candidates]
    assert (there.engine, there.beside, here.engine) == ("gpu:0123456789abcdef", "", "")
    assert stand_in.batches == [4]


def test_what_has_no_device_code_is_searched_on_the_cpu_and_said(stand_in):
    how = {"search": {"learning_rate": [0.03]}, "impressions": 100, "repeats": 2, "workers": 1}
    found = tune(rl.PDGD(), "noisy", TINY, on="gpu", **how)
    assert (found.engine, found.beside) == ("", "2 runs on the CPU: PDGD has no device code (2)")
    assert stand_in.batches == []


def test_a_candidate_that_diverges_on_a_device_is_never_the_best(stand_in):
    def diverge(asked):
        if any(one.learner.learning_rate > 1 for one in asked):
            raise DivergenceError("the weights grew beyond all numbers")

    stand_in.before = diverge
    how = {"search": {"learning_rate": [0.03, 100.0]}, "impressions": 100, "repeats": 2, "workers": 1}
    found = tune(rl.ROLTR(), "noisy", TINY, on="gpu", **how)
    assert found.best.chosen == {"learning_rate": 0.03}
    assert np.isnan(found.candidates[1].mean)
