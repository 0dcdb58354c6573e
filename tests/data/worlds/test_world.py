"""Facts about the synthetic worlds: shapes, grades, features and the levels that rankers reach on them.

The levels are what makes a world a stand-in: random, linear and tree-based rankers must be as far apart on it as
they are on the real set. They are measured on a part of each world, with margins of about three standard
errors of a mean over so few test queries (per-query nDCG has a standard deviation of 0.2 to 0.3).
"""

import dataclasses
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.ensemble import HistGradientBoostingRegressor

from rankloop.data.collection import Split
from rankloop.data.worlds import WORLDS, World
from rankloop.data.worlds.world import SPLITS
from rankloop.errors import DataError, RankloopError, SettingsError
from rankloop.metrics import dcg, gains, ideal_dcg, mean_over_queries

NAMES = tuple(WORLDS)
PART = {"mslr-like": 0.05, "yahoo-like": 0.04, "istella-like": 0.01, "tiny": 2.0}


def made_once(test):
    """For tests of `parts`: one worker makes them, for all; and that takes seconds."""
    return pytest.mark.slow(pytest.mark.xdist_group("worlds")(test))


def generate(world: World, split: str, scale: float, fold: int = 1, **options) -> Split:
    ids, offsets, features, grades = zip(*world.blocks(split, fold=fold, scale=scale, **options), strict=True)
    sizes = np.concatenate([np.diff(block) for block in offsets])
    return Split(
        features=np.concatenate(features),
        offsets=np.r_[0, np.cumsum(sizes)],
        grades=np.concatenate(grades),
        query_ids=np.concatenate(ids),
    )


@pytest.fixture(scope="module")
def parts() -> dict[str, Split]:
    return {name: generate(WORLDS[name], "train", PART[name]) for name in NAMES}


@made_once
@pytest.mark.parametrize(
    ("name", "features", "queries", "documents", "longest"),
    [
        ("mslr-like", 136, 10_000, 125.0, 1000),
        ("yahoo-like", 700, 29_921, 23.7, 140),
        ("istella-like", 220, 33_018, 315.0, 450),
        ("tiny", 20, 350, 12.0, 60),
    ],
)
def test_a_world_has_the_shape_of_what_it_stands_for(parts, name, features, queries, documents, longest):
    world, part = WORLDS[name], parts[name]
    assert world.features == len(world.feature_names) == len(set(world.feature_names)) == features
    assert part.features.shape == (part.offsets[-1], features)
    assert (part.features.dtype, part.grades.dtype, part.offsets.dtype, part.query_ids.dtype) == (
        np.float32,
        np.uint8,
        np.int64,
        np.int64,
    )
    assert sum(world.queries.values()) == queries
    sizes = np.diff(part.offsets)
    assert sizes.mean() == pytest.approx(documents, rel=4 * sizes.std() / documents / math.sqrt(len(sizes)))
    assert sizes.max() <= longest
    assert np.quantile(sizes, 0.95) > 3 * np.quantile(sizes, 0.05)


@made_once
@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("mslr-like", (52, 32, 13, 2, 1)),
        ("yahoo-like", (22, 36, 28, 11, 3)),
        ("istella-like", (96.0, 1.3, 1.3, 0.9, 0.5)),
    ],
)
def test_grades_are_distributed_as_in_the_real_set(parts, name, shares):
    found = 100 * np.bincount(parts[name].grades, minlength=5) / len(parts[name].grades)
    # Queries differ in how much is relevant, so a few hundred of them leave a percentage point or two.
    assert found == pytest.approx(shares, abs=2.0)
    assert found[3:] == pytest.approx(shares[3:], abs=0.7)


@made_once
@pytest.mark.parametrize(("name", "share"), [("mslr-like", 0.03), ("yahoo-like", 0.02), ("istella-like", 0.01)])
def test_some_queries_have_nothing_relevant(parts, name, share):
    assert 0 < np.mean(parts[name].ideal_dcg == 0) < 0.02 + 2 * share


@made_once
@pytest.mark.parametrize("name", NAMES)
def test_features_are_finite_and_lie_in_the_unit_interval(parts, name):
    features = parts[name].features
    assert np.isfinite(features).all()
    assert features.min() == 0.0
    assert features.max() == pytest.approx(1.0, abs=0.01)


@made_once
@pytest.mark.parametrize("name", ["mslr-like", "istella-like", "tiny"])
def test_a_feature_spans_the_unit_interval_in_each_query_or_is_zero(parts, name):
    part = parts[name]
    for begin, end in zip(part.offsets[:40], part.offsets[1:41], strict=True):
        rows = part.features[begin:end]
        low, high = rows.min(axis=0), rows.max(axis=0)
        assert (low == 0).all()
        assert np.isin(high, (0.0, 1.0)).all()


@made_once
def test_mslr_like_features_are_skewed_correlated_in_groups_and_often_empty(parts):
    X = parts["mslr-like"].features.astype(np.float64)
    X = X[:, X.std(axis=0) > 0]
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    skewness = (z**3).mean(axis=0)
    correlation = np.abs(z.T @ z / len(z))[np.triu_indices(X.shape[1], 1)]
    assert np.mean(skewness > 2) > 0.3, "heavy tails: a third of the features or more are far from normal"
    assert np.mean(correlation > 0.5) > 0.03, "groups: many pairs go together"
    assert np.median(correlation) < 0.25, "but most pairs do not"
    assert np.mean((X == 0).mean(axis=0) > 0.5) > 0.2, "zeros: a fifth of the features are empty half the time"


@made_once
def test_yahoo_like_features_are_sparse_and_partly_absent(parts):
    features = parts["yahoo-like"].features
    used = features.any(axis=0)
    assert used.sum() == 519
    assert 0.4 < np.mean(features[:, used] == 0) < 0.8


@made_once
def test_istella_like_sentinels_flatten_a_feature_to_zero_and_one(parts):
    # A sentinel of 1.8e308 leaves nothing between 0 and 1 for its query's other documents.
    part = parts["istella-like"]
    flat = 0
    for begin, end in zip(part.offsets[:-1], part.offsets[1:], strict=True):
        if end - begin > 100:
            rows = part.features[begin:end]
            flat += np.sum(np.isin(rows, (0.0, 1.0)).all(axis=0) & (rows.sum(axis=0) == 1.0))
    assert flat > 10


@pytest.mark.parametrize("name", NAMES)
def test_a_query_is_the_same_bits_however_the_world_is_cut(name):
    world, scale = WORLDS[name], PART[name] / 5
    whole = generate(world, "vali", scale)
    pieces = generate(world, "vali", scale, block_documents=100)
    shorter = generate(world, "vali", scale / 2)
    for left, right in zip(whole.arrays, pieces.arrays, strict=True):
        assert left.tobytes() == right.tobytes()
    assert whole.features[: len(shorter.features)].tobytes() == shorter.features.tobytes()
    assert whole.query_ids[: shorter.queries].tolist() == shorter.query_ids.tolist()


def test_splits_and_folds_hold_different_queries():
    world = WORLDS["tiny"]
    parts = [generate(world, split, 0.2, fold) for split in SPLITS for fold in range(1, world.folds + 1)]
    ids = np.concatenate([part.query_ids for part in parts])
    assert len(np.unique(ids)) == len(ids)
    assert len({part.features[:2].tobytes() for part in parts}) == len(parts)


def test_a_world_travels_between_processes():
    for world in WORLDS.values():
        assert pickle.loads(pickle.dumps(world)) == world
        assert hash(world) == hash(dataclasses.replace(world))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 10**400])
def test_a_scale_that_is_no_size_is_refused(scale):
    with pytest.raises(SettingsError, match="scale must be a positive number"):
        WORLDS["tiny"].blocks("train", scale=scale)


def test_splits_and_folds_that_do_not_exist_are_refused_before_anything_is_drawn():
    with pytest.raises(DataError, match="no split 'dev'; it has train, vali, test"):
        WORLDS["tiny"].blocks("dev")
    with pytest.raises(RankloopError, match="folds 1 to 5; got fold 6"):
        WORLDS["tiny"].blocks("train", fold=6)


def test_the_smallest_world_has_one_query():
    assert WORLDS["tiny"].size("vali", scale=1e-9) == 1
    assert generate(WORLDS["tiny"], "vali", 1e-9).queries == 1


def ndcg_of(scores: np.ndarray, part: Split) -> float:
    ideal = ideal_dcg(part.grades, part.offsets)
    reached = np.zeros(part.queries)
    for q, (begin, end) in enumerate(zip(part.offsets[:-1], part.offsets[1:], strict=True)):
        best = np.argsort(-scores[begin:end], kind="stable")[:10]
        reached[q] = dcg(part.grades[begin:end][best]) / ideal[q] if ideal[q] else 0.0
    return float(mean_over_queries(reached, ideal > 0))


def linear_ranker(part: Split, penalty: float = 1e-3, steps: int = 120) -> np.ndarray:
    """Weights that minimise the listwise cross-entropy between gains and softmax scores (convex, L-BFGS)."""
    X, starts, sizes = part.features, part.offsets[:-1], np.diff(part.offsets)
    gain = gains(part.grades)
    total = np.add.reduceat(gain, starts)
    target = gain / np.repeat(np.where(total > 0, total, 1.0), sizes)
    counts = total > 0

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        s = (X @ w.astype(np.float32)).astype(np.float64)
        s -= np.repeat(np.maximum.reduceat(s, starts), sizes)
        e = np.exp(s)
        z = np.add.reduceat(e, starts)
        slope = np.repeat(counts, sizes) * e / np.repeat(z, sizes) - target
        value = (np.log(z[counts]).sum() - target @ s) / counts.sum() + penalty / 2 * w @ w
        return value, (slope.astype(np.float32) @ X) / counts.sum() + penalty * w

    return minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": steps}).x


def trees(part: Split, rounds: int = 60) -> HistGradientBoostingRegressor:
    """Gradient-boosted trees on grades, centred per query: a query's level is no document's merit."""
    sizes = np.diff(part.offsets)
    level = np.add.reduceat(part.grades.astype(np.float64), part.offsets[:-1]) / sizes
    model = HistGradientBoostingRegressor(
        max_iter=rounds, learning_rate=0.2, max_bins=32, min_samples_leaf=50, early_stopping=False, random_state=0
    )
    return model.fit(part.features, part.grades - np.repeat(level, sizes))


def levels(name: str, scale: float, test_scale: float, effort: float = 1.0) -> tuple[float, float, float]:
    """nDCG@10 on test queries of a random, a linear and a tree-based ranker; the table in docs/worlds.md.

    With half the effort, on parts as small as the test's, no level moves by more than 0.007.
    """
    train, test = generate(WORLDS[name], "train", scale), generate(WORLDS[name], "test", test_scale)
    used = np.flatnonzero(train.features.any(axis=0))
    train, test = (
        Split(np.ascontiguousarray(part.features[:, used]), part.offsets, part.grades, part.query_ids)
        for part in (train, test)
    )
    rng = np.random.default_rng(1)
    by_chance = float(np.mean([ndcg_of(rng.random(len(test.grades)), test) for _ in range(3)]))
    by_line = ndcg_of(test.features @ linear_ranker(train, steps=int(120 * effort)), test)
    by_trees = ndcg_of(trees(train, rounds=int(60 * effort)).predict(test.features), test)
    return by_chance, by_line, by_trees


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "scale", "test_scale", "random", "linear", "tree"),
    [
        ("mslr-like", 0.04, 0.15, (0.17, 0.23), (0.38, 0.45), (0.42, 0.53)),
        ("yahoo-like", 0.03, 0.04, (0.48, 0.58), (0.70, 0.76), (0.73, 0.80)),
        ("istella-like", 0.012, 0.02, (0.05, 0.12), (0.50, 0.61), (0.60, 0.75)),
    ],
)
def test_random_linear_and_tree_rankers_reach_the_levels_of_the_real_set(name, scale, test_scale, random, linear, tree):
    by_chance, by_line, by_trees = levels(name, scale, test_scale, effort=0.5)
    assert random[0] < by_chance < random[1]
    assert linear[0] < by_line < linear[1]
    assert tree[0] < by_trees < tree[1]
    assert by_trees > by_line + 0.015, "relevance is not linear: trees see more"


def test_tiny_is_learnt_from_two_hundred_queries():
    train, test = generate(WORLDS["tiny"], "train", 1.0), generate(WORLDS["tiny"], "test", 2.0)
    assert ndcg_of(np.zeros(len(test.grades)), test) < 0.6
    weights = linear_ranker(train)
    assert ndcg_of(test.features @ weights, test) > 0.74
    assert np.linalg.norm(weights) < 5
