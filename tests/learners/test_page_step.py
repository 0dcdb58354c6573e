"""A page's step, with merits, against the same step written down with full matrices and a dictionary."""

import numpy as np
import pytest

from rankloop.data.naming import document_numbers
from rankloop.learners import Posterior
from rankloop.learners.merits import recall
from rankloop.online import OnlineRanker

from ..proofs.dense_posterior import Dense

PAGE, FEATURES, QUERIES, CANDIDATES = 4, 3, 6, 9


@pytest.mark.parametrize("weights", [None, [0.5, 0.0, -1.0]], ids=["from nothing", "given"])
def test_weights_examination_and_merits_are_those_of_the_dense_update(weights):
    """150 pages of six queries that come back; some documents are better than their features say."""
    rng = np.random.default_rng(5)
    queries = [rng.normal(size=(CANDIDATES, FEATURES)).astype(np.float32) for _ in range(QUERIES)]
    own = rng.normal(size=(QUERIES, CANDIDATES))
    learner = Posterior()
    ranker = OnlineRanker(learner, FEATURES, seed=3, page_size=PAGE, weights=weights)
    dense = Dense(learner, FEATURES, PAGE, None if weights is None else np.array(weights))
    ids = [str(document) for document in range(CANDIDATES)]
    for _ in range(150):
        q = int(rng.integers(QUERIES))
        page = ranker.rank(queries[q], query=f"q{q}", ids=ids)
        liked = 1 / (1 + np.exp(1.0 - queries[q][page.documents] @ [1.0, -0.5, 0.0] - own[q, page.documents]))
        clicks = (rng.random(PAGE) < liked / np.arange(1, PAGE + 1)).astype(float)
        ranker.learn(page, clicks)
        dense.learn(queries[q], page.documents, clicks, [(q, document) for document in page.documents.tolist()])
    np.testing.assert_allclose(ranker.weights, dense.mean[PAGE:], rtol=1e-6)
    np.testing.assert_allclose(ranker.model.log_examination[1:], dense.mean[1:PAGE], rtol=1e-6)
    assert ranker.model.merits.variance[0] == pytest.approx(dense.tau, rel=1e-6)
    for (q, document), (h, _) in dense.records.items():
        [number] = document_numbers(f"q{q}", [ids[document]])
        believed, informed = recall(ranker.model.merits, number, 0.3)
        assert informed == pytest.approx(h, rel=1e-6)
        assert believed == pytest.approx(dense.believed((q, document), 0.3), rel=1e-5)
    # What documents are worth beyond their features is found, as far as 150 pages of noisy clicks tell.
    known = list(dense.records)
    found = [dense.believed(name, 0.0) for name in known]
    assert np.corrcoef(found, [own[name] for name in known])[0, 1] > 0.25
