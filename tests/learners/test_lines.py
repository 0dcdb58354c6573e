"""Lines that do not learn: fixed weights and the oracle."""

from collections import Counter

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.evaluation import evaluate
from rankloop.learners import FixedWeights, Oracle
from rankloop.loop import draw_query
from rankloop.online import OnlineRanker
from rankloop.simulation import simulate
from rankloop.users import noisy

from ..proofs import literal, small
from ..proofs.chisquare import agrees


def test_fixed_weights_sort_by_score_and_never_change():
    data = small.collection()
    weights = (1.0, 0.0, 0.0, 0.0, 0.5)
    run = simulate(FixedWeights(weights=weights), noisy(), data, 50, seed=1, evaluate_every=20)
    assert run.weights.tolist() == list(weights)
    assert set(run.offline_curve[:, 1]) == {evaluate(weights, data.test)}
    ranker = OnlineRanker(FixedWeights(weights=weights), features=5, seed=1)
    X = data.train.features[:12]
    assert list(ranker.rank(X)) == np.argsort(-(X @ np.array(weights)))[:10].tolist()


def test_fixed_weights_of_zero_shuffle_uniformly():
    ranker = OnlineRanker(FixedWeights(), features=1, seed=2)
    pages = Counter(tuple(ranker.rank([[1.0], [2.0], [3.0]])) for _ in range(6000))
    assert agrees(pages, dict.fromkeys(literal.all_pages(3, 3), 1 / 6))


def test_the_oracle_shows_the_best_possible_page_for_every_query():
    data = small.collection()
    run = simulate(Oracle(), noisy(), data, 200, seed=1, evaluate_every=100)
    queries = [draw_query(np.uint64(1), i, data.train.queries) for i in range(200)]
    relevant = (data.train.ideal_dcg > 0)[queries].astype(float)
    np.testing.assert_allclose(run.online_curve, relevant, rtol=1e-14)  # a sum of ten terms
    assert run.offline_curve[:, 1].tolist() == [1.0, 1.0, 1.0]


def test_the_oracle_works_only_where_grades_are_known():
    with pytest.raises(SettingsError, match="needs the true grades"):
        OnlineRanker(Oracle(), features=2, seed=1)
    with pytest.raises(SettingsError, match="no weights"):
        simulate(Oracle(), noisy(), small.collection(), 10, seed=1, weights=[0.0] * 5)
