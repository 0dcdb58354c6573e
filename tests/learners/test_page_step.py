"""A page's step, with merits, against the same step written down with full matrices and a dictionary."""

import numpy as np
import pytest

from rankloop.data.naming import document_numbers
from rankloop.learners import Posterior
from rankloop.learners.changes import part_of_change
from rankloop.learners.merits import recall
from rankloop.online import OnlineRanker

from ..proofs.dense_posterior import Dense

PAGE, FEATURES, QUERIES, CANDIDATES = 4, 3, 6, 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "changing"),
    [
        pytest.param(None, 0.0, id="from nothing, features stay"),
        pytest.param([0.5, 0.0, -1.0], 0.5, id="given, features change"),
        # What one begins with and what changes meet nowhere but in the sums that both tests above compare.
        pytest.param(None, 0.5, id="from nothing, features change", marks=pytest.mark.long),
        pytest.param([0.5, 0.0, -1.0], 0.0, id="given, features stay", marks=pytest.mark.long),
    ],
)
def test_weights_examination_and_merits_are_those_of_the_dense_update(weights, changing):
    """150 pages of six queries that come back; some documents are better than their features say."""
    rng = np.random.default_rng(5)
    queries = [rng.normal(size=(CANDIDATES, FEATURES)).astype(np.float32) for _ in range(QUERIES)]
    own = rng.normal(size=(QUERIES, CANDIDATES))
    learner = Posterior()
    ranker = OnlineRanker(learner, FEATURES, seed=3, page_size=PAGE, weights=weights)
    dense = Dense(learner, FEATURES, PAGE, None if weights is None else np.array(weights))
    ids = [str(document) for document in range(CANDIDATES)]
    numbers = np.array([document_numbers(f"q{q}", ids) for q in range(QUERIES)])
    for _ in range(150):
        q = int(rng.integers(QUERIES))
        X = queries[q] + (changing * rng.normal(size=queries[q].shape)).astype(np.float32)
        page = ranker.rank(X, query=f"q{q}", ids=ids)
        liked = 1 / (1 + np.exp(1.0 - X[page.documents] @ [1.0, -0.5, 0.0] - own[q, page.documents]))
        clicks = (rng.random(PAGE) < liked / np.arange(1, PAGE + 1)).astype(float)
        ranker.learn(page, clicks)
        dense.learn(X, page.documents, clicks, numbers[q, page.documents].tolist())
    np.testing.assert_allclose(ranker.weights, dense.mean[PAGE:], rtol=1e-6)
    np.testing.assert_allclose(ranker.model.log_examination[1:], dense.mean[1:PAGE], rtol=1e-6)
    assert ranker.model.merits.variance[0] == pytest.approx(dense.tau, rel=1e-6)
    part = part_of_change(ranker.model.changes)
    assert part == pytest.approx(dense.watched.changing, rel=1e-6)
    assert (part > 0.0) == (changing > 0.0)
    for number, (h, _, _) in dense.records.items():
        believed, informed = recall(ranker.model.merits, number, 0.3, part)
        assert informed == pytest.approx(h, rel=1e-6)
        assert believed == pytest.approx(dense.believed(number, 0.3), rel=1e-5)
    # What documents are worth beyond their features is found, as far as 150 pages of noisy clicks tell.
    worth = dict(zip(numbers.ravel().tolist(), own.ravel(), strict=True))
    found = [dense.believed(number, 0.0) for number in dense.records]
    assert np.corrcoef(found, [worth[number] for number in dense.records])[0, 1] > 0.25
