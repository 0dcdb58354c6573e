"""Scaling held against its definition: per query as in the paper, or over everything learned from, in two passes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR, Posterior
from rankloop.live.events import Kind
from rankloop.live.fold import Fold
from rankloop.live.scaling import Fixed, Scaler
from rankloop.live.settings import ModelSettings, Weights

from .diary import FOR_ALL, Diary, page_of

FEATURES = 3
# Values on a grid, so that a feature is either constant or clearly not, in float64 as on paper.
QUERIES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.just(FEATURES)),
    elements=st.integers(-400, 400).map(lambda n: n / 4),
)


def standardised(X, everything) -> np.ndarray:
    """(x − mean)/deviation in two passes over all rows, in Python's own exact sums; constants become 0."""
    out = np.zeros(X.shape)
    for j in range(X.shape[1]):
        column = [float(v) for v in everything[:, j]]
        mean = sum(column) / len(column)
        deviation = (sum((v - mean) ** 2 for v in column) / len(column)) ** 0.5
        if len(set(column)) > 1:
            out[:, j] = [(float(v) - mean) / deviation for v in X[:, j]]
    return out


@given(QUERIES)
def test_per_query_every_feature_runs_from_0_to_1_and_constants_are_0(X):
    scaled = Scaler("query", FEATURES).apply(X)
    assert scaled.dtype == np.float32
    assert scaled.flags.c_contiguous
    for j in range(FEATURES):
        column = [float(v) for v in X[:, j]]
        low, high = min(column), max(column)
        wanted = [(v - low) / (high - low) if high > low else 0.0 for v in column]
        assert scaled[:, j].tolist() == np.array(wanted, np.float32).tolist()


@given(st.lists(QUERIES, min_size=1, max_size=8))
def test_running_standardisation_is_that_of_everything_learned_from_and_the_query_at_hand(queries):
    scaler = Scaler("running", FEATURES)
    for place, X in enumerate(queries):
        everything = np.concatenate(queries[: place + 1])
        # Float32 in the end; on the way no more than rounding of numbers up to 100.
        np.testing.assert_allclose(scaler.apply(X), standardised(X, everything), rtol=1e-5, atol=1e-5)
        scaler.learn(X)
    assert scaler.count == sum(map(len, queries))


@examples(30)
@given(QUERIES, QUERIES)
def test_looking_at_a_query_changes_nothing_until_it_is_learned_from(one, two):
    looked, fresh = Scaler("running", FEATURES), Scaler("running", FEATURES)
    looked.apply(one)
    looked.affine(one.astype(np.float64))
    assert looked.apply(two).tobytes() == fresh.apply(two).tobytes()


@examples(30)
@given(st.lists(QUERIES, min_size=1, max_size=4), QUERIES)
def test_frozen_statistics_are_those_at_that_moment_and_stay(queries, later):
    scaler = Scaler("running", FEATURES)
    for X in queries:
        scaler.learn(X)
    scaler.frozen = True
    mean, deviation = scaler.affine()
    everything = np.concatenate(queries).astype(np.float64)
    np.testing.assert_allclose(mean, everything.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(deviation, everything.std(axis=0), rtol=1e-7, atol=1e-6)
    before = scaler.apply(later).tobytes()
    scaler.learn(later)
    assert scaler.apply(later).tobytes() == before
    assert scaler.affine()[0].tolist() == mean.tolist()


def test_large_values_with_a_small_spread_keep_their_digits():
    """Sums of squares would lose a deviation of 1 beside 10⁸ in float64; the two-pass definition does not."""
    rng = np.random.default_rng(1)
    values = 1e8 + rng.normal(size=(1000, 1))
    scaler = Scaler("running", 1)
    for rows in np.split(values, 50):
        scaler.learn(rows)
    assert scaler.affine()[1][0] == pytest.approx(values.std(), rel=1e-6)


def test_none_is_as_it_came_and_a_copy():
    X = np.array([[1.0, 2.0, 3.0]], np.float32)
    scaled = Scaler("none", FEATURES).apply(X)
    assert scaled.tolist() == X.tolist()
    assert not np.shares_memory(scaled, X)


def test_fixed_shift_and_spread():
    scaler = Scaler(Fixed((1.0, 0.0, 5.0), (2.0, 0.5, 0.0)), FEATURES)
    assert scaler.apply(np.array([[3.0, 1.0, 7.0], [0.0, -1.0, 5.0]])).tolist() == [[1.0, 2.0, 0.0], [-0.5, -2.0, 0.0]]
    scaler.learn(np.ones((4, 3)))
    assert [part.tolist() for part in scaler.affine()] == [[1.0, 0.0, 5.0], [2.0, 0.5, 0.0]]


@pytest.mark.parametrize("scaling", ["none", "query"])
def test_scaling_that_is_no_shift_and_spread_says_so(scaling):
    with pytest.raises(SettingsError, match=f"scaling '{scaling}' is not one shift and spread per feature"):
        Scaler(scaling, 2).affine()


@pytest.mark.parametrize(
    ("shift", "spread", "reason"),
    [
        ((0.0,), (1.0, 1.0), "as many of one as of the other"),
        ((float("nan"), 0.0), (1.0, 1.0), "finite"),
        ((0.0, 0.0), (1.0, -1.0), "must not be negative"),
        ((0.0,), (1.0,), "1 shifts were given for 2 features"),
    ],
)
def test_impossible_numbers_are_refused(shift, spread, reason):
    with pytest.raises(SettingsError, match=reason):
        Scaler(Fixed(shift, spread), 2)


@examples(30)
@given(st.lists(QUERIES, min_size=2, max_size=6), st.integers(0, 5))
def test_going_on_from_a_snapshot_gives_the_same_bits(queries, cut):
    whole, first = Scaler("running", FEATURES), Scaler("running", FEATURES)
    for X in queries:
        whole.learn(X)
    for X in queries[:cut]:
        first.learn(X)
    second = Scaler("running", FEATURES)
    second.restore(first.state())
    for X in queries[cut:]:
        second.learn(X)
    assert second.state() == whole.state()
    assert second.apply(queries[0]).tobytes() == whole.apply(queries[0]).tobytes()


def test_a_model_scales_with_what_it_has_learned_from_in_the_order_of_closing():
    """Paused, control and void pages leave no trace; late ones count when they are closed."""
    settings = ModelSettings(
        name="m", features=1, seed=1, learner=ROLTR(), scaling="running", start=Weights((1.0,)), guards=FOR_ALL
    )
    diary = Diary(settings)
    rng = np.random.default_rng(2)
    queries = [rng.normal(size=(4, 1)).astype(np.float32) * 10**k for k in range(4)]
    shown = [diary.show(X) for X in queries]
    clicks = [1.0, 0.0, 0.0, 0.0]
    diary.close(shown[2], clicks)
    diary.close(shown[0], clicks, why="void")
    diary.control(Kind.PAUSED)
    diary.close(shown[1], clicks)
    diary.control(Kind.RESUMED)
    diary.close(shown[3], clicks)
    learned = np.concatenate([queries[2], queries[3]])
    X = rng.normal(size=(5, 1)).astype(np.float32)
    scores = np.frombuffer(page_of(diary.show(X)).scores, np.float32)
    weight = diary.fold.ranker.weights[0]
    np.testing.assert_allclose(scores, weight * standardised(X, np.concatenate([learned, X]))[:, 0], rtol=1e-5)


def test_freezing_the_scaling_is_a_new_version_and_lasts():
    diary = Diary(ModelSettings(name="m", features=1, seed=1, scaling="running", guards=FOR_ALL))
    X = np.array([[0.0], [2.0]])
    diary.close(diary.show(X), [1.0, 0.0])
    version = diary.fold.version
    diary.control(Kind.SCALING_FROZEN)
    assert diary.fold.version == version + 1
    diary.close(diary.show(X + 100), [1.0, 0.0])
    assert [part.tolist() for part in diary.fold.scaler.affine()] == [[1.0], [1.0]]
    assert diary.fold.view().scaler.frozen


def test_frozen_statistics_do_not_let_the_query_at_hand_in():
    scaler = Scaler("running", 1)
    scaler.learn(np.array([[0.0], [2.0]]))  # mean 1, deviation 1
    assert scaler.apply(np.array([[11.0], [11.0]])).tolist() != [[10.0], [10.0]]
    scaler.frozen = True
    assert scaler.apply(np.array([[11.0], [11.0]])).tolist() == [[10.0], [10.0]]
    assert [part.tolist() for part in scaler.affine(np.array([[100.0]]))] == [[1.0], [1.0]]


def test_a_copy_keeps_what_it_had_when_the_original_goes_on():
    scaler = Scaler("running", 1)
    scaler.learn(np.array([[0.0], [2.0]]))
    copy = scaler.copy()
    scaler.learn(np.array([[50.0]]))
    scaler.frozen = True
    assert [part.tolist() for part in copy.affine()] == [[1.0], [1.0]]
    assert not copy.frozen


# A value beyond all others


def ordinary(pages: int, seed: int = 1, candidates: int = 20):
    """Features of very different scales: a price, a rate, seconds since 1970."""
    random = np.random.default_rng(seed)
    for _ in range(pages):
        price, rate = random.lognormal(8.0, 1.0, candidates), random.normal(0.004, 0.001, candidates)
        yield np.column_stack([price, rate, 1.7e9 + random.normal(0, 1e7, candidates)]).astype(np.float32)


def with_nanoseconds(X):
    wild = X.copy()
    wild[3, 2] = 1e18
    return wild


@pytest.mark.parametrize("first", [0, 40])
@pytest.mark.parametrize("scaling", ["running", "robust"])
def test_one_timestamp_in_nanoseconds_ruins_no_feature(scaling, first):
    told = []
    for wild in (False, True):
        scaler = Scaler(scaling, FEATURES)
        for page, X in enumerate(ordinary(60)):
            scaler.learn(with_nanoseconds(X) if wild and page == first else X)
        told.append(scaler.apply(next(ordinary(1, seed=9))))
    assert told[1].std(axis=0) == pytest.approx(told[0].std(axis=0), rel=0.15)


@pytest.mark.parametrize("learner", [ROLTR(), Posterior()], ids=lambda one: one.name)
@pytest.mark.parametrize("scaling", ["none", "running", "robust", Fixed((0.0,) * 3, (1e4, 0.001, 1e7))], ids=str)
def test_one_such_page_does_not_throw_the_weights_about(learner, scaling):
    """Without scaling it made a weight of 3·10¹⁶."""
    ends = []
    for wild in (False, True):
        diary = Diary(ModelSettings(name="m", features=3, seed=1, learner=learner, scaling=scaling, guards=FOR_ALL))
        for page, X in enumerate(ordinary(40)):
            if scaling == "none":
                X = (X / np.array([1e4, 0.001, 1e7])).astype(np.float32)
            shown = diary.show(with_nanoseconds(X) if wild and page == 20 else X)
            diary.close(shown, [1.0] + [0.0] * 9)
        ends.append(np.abs(diary.fold.ranker.weights * diary.fold.scaler.apply(X).std(axis=0)).max())
    assert ends[1] < 3 * ends[0] + 1.0


@pytest.mark.parametrize("scaling", ["none", "query", "running", "robust"])
def test_the_feature_is_named_and_its_pages_are_counted(scaling):
    settings = ModelSettings(name="m", features=["price", "rate", "made"], seed=1, scaling=scaling, guards=FOR_ALL)
    diary = Diary(settings)
    for page, X in enumerate(ordinary(20)):
        diary.close(diary.show(with_nanoseconds(X) if page in (12, 15) else X), [1.0] + [0.0] * 9)
    assert diary.fold.outliers == {"made": 2}
    assert Fold.restored(settings, diary.fold.state(), 1).outliers == {"made": 2}


# Robust


def literal_deviation(column) -> float:
    """The standard deviation of values brought in to 5 deviations of the middle half around the median."""
    values = sorted(float(v) for v in column)
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 5 * (high - low) / 1.349 if high > low else np.inf
    near = [min(max(v, median - reach), median + reach) for v in values]
    mean = sum(near) / len(near)
    return (sum((v - mean) ** 2 for v in near) / len(near)) ** 0.5


@examples(50)
@given(st.lists(QUERIES, min_size=1, max_size=9))
def test_robust_scaling_is_the_geometric_mean_of_deviations_at_the_last_doubling(queries):
    scaler = Scaler("robust", FEATURES)
    for X in queries:
        scaler.learn(X)
    doubled = 1 << (len(queries).bit_length() - 1)
    for j in range(FEATURES):
        deviations = [literal_deviation(X[:, j]) for X in queries[:doubled]]
        logs = [np.log(d) for d in deviations if d > 0]
        assert scaler.spread[j] == pytest.approx(np.exp(np.mean(logs)) if logs else 0.0, rel=1e-6)
    assert scaler.affine()[1].tolist() == scaler.spread.tolist()


def test_one_wild_value_moves_no_other_and_counts_for_ten():
    rng = np.random.default_rng(4)
    scaler, wild = Scaler("robust", 1), Scaler("robust", 1)
    for page in range(64):
        X = rng.normal(size=(30, 1)).astype(np.float32)
        scaler.learn(X)
        if page % 8 == 0:
            X[3] = 1e18
        wild.learn(X)
    assert wild.spread == pytest.approx(scaler.spread, rel=0.1)
    X[3] = 1e18
    assert wild.apply(X)[3] == 10.0
    assert np.delete(wild.apply(X), 3, 0) == pytest.approx(np.delete(scaler.apply(X), 3, 0), abs=0.3)


def test_robust_scaling_settles_for_good_and_survives_a_restart():
    rng = np.random.default_rng(5)
    scaler = Scaler("robust", 2)
    for _ in range(1_024):
        scaler.learn(rng.normal(size=(4, 2)))
    settled = scaler.spread.copy()
    for _ in range(2_048):
        scaler.learn(100 * rng.normal(size=(4, 2)))
    assert (scaler.spread == settled).all()
    again = Scaler("robust", 2)
    again.restore(scaler.state())
    X = rng.normal(size=(5, 2))
    assert again.apply(X).tobytes() == scaler.apply(X).tobytes()


def test_before_the_first_page_a_query_is_its_own_measure():
    X = np.array([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    scaled = Scaler("robust", 2).apply(X)
    assert scaled[:, 0] == pytest.approx((X[:, 0] - 2.0) / X[:, 0].std(), rel=1e-6)
    assert scaled[:, 1].tolist() == [0.0, 0.0, 0.0]
