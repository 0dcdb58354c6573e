"""The simulation is a function of its seed: same bits wherever it runs."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from rankloop.data.collection import Collection, Split
from rankloop.errors import SettingsError
from rankloop.evaluation import evaluate
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, MDPRank, Oracle
from rankloop.loop import draw_query
from rankloop.metrics import value
from rankloop.simulation import simulate
from rankloop.users import noisy, perfect

from .proofs import literal, small

DATA = small.collection()
LEARNERS = [
    ROLTR(),
    PDGD(),
    DBGD(),
    PMGD(candidates=5),
    COLTR(candidates=20),
    MDPRank(),
]


def bits_of(run) -> tuple:
    return (
        run.weights.tobytes(),
        run.online_curve.tobytes(),
        run.offline_curve.tobytes(),
        run.clicks.tobytes(),
        run.checkpoints.tobytes(),
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: x.name)
def test_the_same_seed_gives_the_same_bits_and_another_seed_another_run(learner):
    one, same, other = (simulate(learner, noisy(), DATA, 300, seed, evaluate_every=100) for seed in (1, 1, 2))
    assert bits_of(one) == bits_of(same)
    assert one.weights.tolist() != other.weights.tolist()
    assert one.online_curve.tolist() != other.online_curve.tolist()


def test_threads_that_run_beside_each_other_give_the_same_bits():
    alone = [bits_of(simulate(learner, noisy(), DATA, 300, 1, evaluate_every=100)) for learner in LEARNERS]
    with ThreadPoolExecutor(4) as pool:
        begun = [pool.submit(simulate, learner, noisy(), DATA, 300, 1, evaluate_every=100) for learner in LEARNERS * 3]
        assert [bits_of(one.result()) for one in begun] == alone * 3


def test_methods_that_share_a_seed_share_the_queries():
    """With one document per query and grades that tell queries apart, the page is the query."""
    X = np.eye(5, dtype=np.float32)
    split = Split.of(X, grades=[0, 1, 2, 3, 4], queries=range(5))
    data = Collection(name="singles", train=split, test=split)
    wanted = [draw_query(np.uint64(7), i, 5) > 0 for i in range(200)]
    for learner in LEARNERS:
        run = simulate(learner, perfect(), data, 200, seed=7, evaluate_every=0)
        assert (run.online_curve > 0).tolist() == wanted


def test_queries_are_drawn_uniformly_with_replacement():
    drawn = [draw_query(np.uint64(3), i, 6) for i in range(30_000)]
    counts = np.bincount(drawn, minlength=6)
    # Each count is 5,000 ± 65; four deviations are a false-alarm rate below 1e-3 for all six.
    assert np.abs(counts - 5000).max() < 4 * 65


SCRIPT = """
from rankloop.learners import ROLTR
from rankloop.simulation import simulate
from rankloop.users import noisy
from rankloop.data.collection import Collection, Split
import numpy as np
rng = np.random.default_rng(0)
X, queries = rng.normal(size=(60, 4)).astype(np.float32), np.repeat(np.arange(5), 12)
split = Split.of(X, rng.integers(0, 5, 60), queries)
data = Collection(name="same", train=split, test=split)
run = simulate(ROLTR(), noisy(), data, 400, seed=5)
"""


@pytest.mark.process
def test_another_process_computes_the_same_bits():
    program = SCRIPT + "print(run.weights.tobytes().hex(), run.online_curve.tobytes().hex())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    here: dict = {}
    exec(SCRIPT, here)
    run = here["run"]
    wanted = [run.weights.tobytes().hex(), run.online_curve.tobytes().hex()]
    assert done.stdout.split() == wanted


@pytest.mark.slow
def test_runs_beside_each_other_compute_the_same_bits():
    jobs = [(learner, seed) for learner in (ROLTR(), PMGD(candidates=5)) for seed in (1, 2)]
    together = Parallel(n_jobs=2)(delayed(simulate)(learner, noisy(), DATA, 300, seed) for learner, seed in jobs)
    for run, (learner, seed) in zip(together, jobs, strict=True):
        assert bits_of(run) == bits_of(simulate(learner, noisy(), DATA, 300, seed))


def test_evaluating_more_often_changes_nothing_but_the_curve():
    often = simulate(ROLTR(), noisy(), DATA, 300, seed=1, evaluate_every=50)
    never = simulate(ROLTR(), noisy(), DATA, 300, seed=1, evaluate_every=0)
    assert often.weights.tolist() == never.weights.tolist()
    assert often.online_curve.tolist() == never.online_curve.tolist()
    assert never.offline_curve.shape == (0, 2)
    assert np.isnan(never.offline_ndcg)
    assert often.offline_curve[:, 0].tolist() == [0, 50, 100, 150, 200, 250, 300]


def test_the_offline_curve_has_points_at_the_start_the_end_and_between():
    run = simulate(ROLTR(), noisy(), DATA, 250, seed=1, evaluate_every=100)
    assert run.offline_curve[:, 0].tolist() == [0, 100, 200, 250]
    for (_, mean), weights in zip(run.offline_curve, run.checkpoints, strict=True):
        assert mean == evaluate(weights, DATA.test)
    assert run.checkpoints[0].tolist() == [0.0] * 5
    assert run.checkpoints[-1].tolist() == run.weights.tolist()
    assert run.offline_ndcg == run.offline_curve[-1, 1]


def test_a_longer_run_begins_like_a_shorter_one():
    short, long = (simulate(PDGD(), noisy(), DATA, n, seed=1) for n in (100, 200))
    assert long.online_curve[:100].tolist() == short.online_curve.tolist()


@pytest.mark.parametrize("learner", [ROLTR(), PMGD(candidates=5), COLTR(candidates=5)])
@pytest.mark.parametrize("page_size", [1, 3, 10, 40])
def test_any_page_size_works_also_beyond_the_candidates(learner, page_size):
    run = simulate(learner, noisy(), DATA, 100, seed=1, page_size=page_size)
    assert np.isfinite(run.weights).all()
    assert run.clicks.max() <= min(page_size, 25)


def test_online_ndcg_is_that_of_the_page_shown_cut_where_the_metric_says():
    wanted = []
    queries = [draw_query(np.uint64(4), i, DATA.train.queries) for i in range(50)]
    grades = [DATA.train.grades[a:b].tolist() for a, b in zip(*offsets(DATA.train), strict=True)]

    def note(i, page, clicks, page_grades):
        wanted.append(literal.ndcg(page_grades.tolist(), grades[queries[i]]))

    run = simulate(ROLTR(), noisy(), DATA, 50, seed=4, page_size=15, metrics="ndcg@10")
    small.drive(ROLTR(), noisy(), DATA, 50, seed=4, page_size=15, seen=note)
    np.testing.assert_allclose(run.online_curve, wanted, rtol=1e-13)
    discounted = sum(0.9995**i * value for i, value in enumerate(wanted))
    assert run.online_ndcg == pytest.approx(discounted, rel=1e-12)


@pytest.mark.parametrize("page_size", [1, 3, 15])
def test_the_cut_off_follows_the_page_so_that_the_oracle_has_all_there_is(page_size):
    run = simulate(Oracle(), noisy(), DATA, 50, seed=4, page_size=page_size)
    drawn = [draw_query(np.uint64(4), i, DATA.train.queries) for i in range(50)]
    np.testing.assert_allclose(run.online_curve, (DATA.train.ideal_dcg > 0)[drawn], rtol=1e-14)
    assert run.offline_ndcg == 1.0
    assert run.settings["metrics"] == [f"ndcg@{page_size}"]
    assert f"nDCG@{page_size} online" in repr(run)


METRICS = ["err", "ndcg@5", "map", "p(rel=2)@2", "mrr", "ndcg-linear@all"]


@pytest.mark.parametrize("learner", [ROLTR(), FixedWeights(), Oracle()], ids=lambda x: x.name)
def test_a_run_is_measured_by_every_metric_as_each_ranking_is(learner):
    run = simulate(learner, noisy(), DATA, 40, seed=4, page_size=4, metrics=METRICS, evaluate_every=20, by_query="all")
    names = ["err@4", "ndcg@5", "map", "p(rel=2)@2", "mrr", "ndcg-linear@all"]
    assert [str(one) for one in run.metrics] == names
    test, by_query = DATA.test, run.by_query
    assert by_query.values.shape == (3, 6, test.queries)
    assert by_query.at.tolist() == [0, 20, 40]
    for column, name in enumerate(names):
        for point, weights in enumerate(run.checkpoints):
            scores = test.grades.astype(float) if learner == Oracle() else test.features.astype(float) @ weights
            wanted = []
            for begin, end in zip(*offsets(test), strict=True):
                order = begin + np.argsort(-scores[begin:end], kind="stable")
                relevant = test.grades[begin:end].max() >= (2 if "rel=2" in name else 1)
                wanted.append(value(name, test.grades[order], highest_grade=4) if relevant else np.nan)
            np.testing.assert_allclose(by_query.values[point, column], wanted, rtol=1e-6)
            assert run.by(name).offline_curve[point].tolist() == pytest.approx(
                [20 * point, np.nanmean(wanted)], rel=1e-12
            )
    assert run.by_query["err"].tolist() == by_query.values[-1, 0].tolist()


def test_pages_are_measured_by_every_metric_that_a_page_shows():
    queries = [draw_query(np.uint64(4), i, DATA.train.queries) for i in range(40)]
    grades = [DATA.train.grades[a:b].tolist() for a, b in zip(*offsets(DATA.train), strict=True)]
    pages = []
    run = simulate(ROLTR(), noisy(), DATA, 40, seed=4, page_size=4, metrics=METRICS)
    small.drive(
        ROLTR(), noisy(), DATA, 40, seed=4, page_size=4, seen=lambda i, page, clicks, shown: pages.append(shown)
    )
    for name in ("err@4", "ndcg@5", "p(rel=2)@2"):
        wanted = [value(name, page, grades[q], highest_grade=4) for page, q in zip(pages, queries, strict=True)]
        np.testing.assert_allclose(run.by(name).online_curve, wanted, rtol=1e-12)
        assert run.by(name).online == pytest.approx(sum(0.9995**i * one for i, one in enumerate(wanted)), rel=1e-12)
    assert run.by("map").online_curve is None
    assert np.isnan(run.by("map").online)
    assert run.online_ndcg == run.by("ndcg@5").online


def test_metrics_change_nothing_but_what_is_measured():
    one = simulate(ROLTR(), noisy(), DATA, 300, seed=1)
    other = simulate(ROLTR(), noisy(), DATA, 300, seed=1, metrics=["map", "ndcg@3"], by_query="none")
    assert (one.weights.tobytes(), one.clicks.tobytes()) == (other.weights.tobytes(), other.clicks.tobytes())
    assert len(other.by_query.values) == 0
    with pytest.raises(SettingsError, match="no query results by map were kept, but nothing"):
        other.by_query["map"]
    with pytest.raises(
        SettingsError, match=r"not measured by ndcg@10, only by map, ndcg@3; choose with simulate\(metrics=…\)"
    ):
        other.by("ndcg")


def offsets(split: Split) -> tuple:
    return split.offsets[:-1], split.offsets[1:]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: x.name)
def test_queries_with_one_candidate_teach_nothing(learner):
    split = Split.of(np.eye(3, dtype=np.float32), grades=[4, 2, 0], queries=[1, 2, 3])
    data = Collection(name="singles", train=split, test=split)
    run = simulate(learner, noisy(), data, 100, seed=1)
    assert run.weights.tolist() == run.checkpoints[0].tolist()
    assert set(run.online_curve) == {0.0, 1.0}


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: x.name)
def test_a_collection_of_one_query_is_enough_to_learn_from(learner):
    split = small.split((15,), features=3, seed=5)
    data = Collection(name="one", train=split, test=split)
    run = simulate(learner, noisy(), data, 200, seed=1)
    assert np.isfinite(run.weights).all()
    assert (run.weights != run.checkpoints[0]).any()


def test_queries_with_nothing_relevant_are_shown_and_count_zero_online():
    X = np.random.default_rng(2).normal(size=(8, 2)).astype(np.float32)
    train = Split.of(X, grades=[0, 0, 0, 0, 4, 0, 1, 0], queries=[1, 1, 1, 1, 2, 2, 2, 2])
    data = Collection(name="half", train=train, test=train)
    run = simulate(ROLTR(), noisy(), data, 200, seed=1)
    empty = np.array([draw_query(np.uint64(1), i, 2) == 0 for i in range(200)])
    assert 60 < empty.sum() < 140
    assert (run.online_curve[empty] == 0).all()
    assert (run.online_curve[~empty] > 0).all()
    assert run.clicks[empty].sum() > 0


def test_both_conventions_reach_the_offline_curve():
    X = np.random.default_rng(2).normal(size=(8, 2)).astype(np.float32)
    test = Split.of(X, grades=[0, 0, 0, 0, 4, 0, 1, 0], queries=[1, 1, 1, 1, 2, 2, 2, 2])
    data = Collection(name="half", train=test, test=test)
    skip, zero = (simulate(ROLTR(), noisy(), data, 50, seed=1, nothing_relevant=rule) for rule in ("skip", "zero"))
    np.testing.assert_allclose(zero.offline_curve[:, 1], skip.offline_curve[:, 1] / 2, rtol=1e-14)


def test_given_weights_are_where_learning_starts():
    start = [0.5, -0.5, 0.25, 0.0, 1.0]
    for learner in [*LEARNERS, FixedWeights()]:
        run = simulate(learner, noisy(), DATA, 20, seed=1, weights=start)
        assert run.checkpoints[0].tolist() == start


def test_a_delay_longer_than_the_run_learns_nothing():
    run = simulate(ROLTR(), noisy(), DATA, 50, seed=1, delay=50)
    assert run.weights.tolist() == [0.0] * 5
    assert simulate(ROLTR(), noisy(), DATA, 50, seed=1, delay=40).weights.any()


def test_progress_is_told_up_to_the_last_impression():
    told = []
    simulate(ROLTR(), noisy(), DATA, 250, seed=1, evaluate_every=100, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 250


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"impressions": 0}, "impressions must be a whole number, at least 1; got 0"),
        ({"impressions": 1.5}, "impressions must be a whole number, at least 1; got 1.5"),
        ({"seed": -1}, "seed must be a whole number from 0 to 2^64 − 1; got -1"),
        ({"seed": 2**64}, "seed must be a whole number from 0 to 2^64 − 1; got 18446744073709551616"),
        ({"seed": "one"}, "seed must be a whole number from 0 to 2^64 − 1; got 'one'"),
        ({"evaluate_every": -1}, "evaluate_every must be a whole number"),
        ({"page_size": 0}, "page_size must be a whole number, at least 1; got 0"),
        ({"delay": -1}, "delay must be a whole number"),
        ({"late_scores": "later"}, "late_scores must be one of 'current', 'drawn'; got 'later'"),
        ({"weights": [1.0]}, "weights must be 5 finite numbers"),
        ({"weights": [np.nan] * 5}, "weights must be 5 finite numbers"),
        ({"nothing_relevant": "drop"}, "'zero'; got 'drop'"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused_with_a_sentence(settings, reason):
    arguments = {"impressions": 10, "seed": 1} | settings
    with pytest.raises(SettingsError) as caught:
        simulate(ROLTR(), noisy(), DATA, **arguments)
    assert reason in str(caught.value)
