"""What a page's clicks say for each feature, against its literal definition."""

import numpy as np
import pytest

from rankloop.live.events import Impression
from rankloop.live.pulls import deviations, pull_of, usual_shares

SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def impression(X, page) -> Impression:
    ids, scores = [f"d{place}" for place in range(len(X))], np.zeros(len(X), np.float32).tobytes()
    return Impression("q", ids, X.astype(np.float32).tobytes(), scores, page, [], b"", 0, 0, 0.0, 0.0)


def literal_pull(X, page, clicks, shares, most=np.inf):
    """Σ_k (c_k − C q_k) z_k, one feature and one rank after the other, each z so large at most."""
    pulls = []
    for feature in range(X.shape[1]):
        values = [float(X[document, feature]) for document in page]
        mean, deviation = np.mean(values), np.std(values)
        z = [(value - mean) / deviation if deviation else 0.0 for value in values]
        z = [max(-most, min(most, at)) for at in z]
        usual = [share / sum(shares[: len(page)]) for share in shares[: len(page)]]
        pulls.append(sum((click - sum(clicks) * q) * at for click, q, at in zip(clicks, usual, z, strict=True)))
    return pulls


def test_a_pull_is_where_clicks_fell_less_where_they_would_have_by_rank_alone():
    X = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    X[:, 2] = 5.0
    page, clicks = [4, 0, 2], np.array([0.0, 1.0, 0.25])
    found = pull_of(deviations(impression(X, page), "float32"), clicks, usual_shares(SHARES, 3))
    assert found == pytest.approx(literal_pull(X, page, clicks, SHARES))
    assert found[2] == 0.0


def test_what_is_the_same_everywhere_is_exactly_nothing():
    """The mean of ten equal values is not always that value."""
    X = np.tile(np.array([0.1, 1 / 3, 1e12], np.float32), (10, 1))
    assert not deviations(impression(X, list(range(10))), "float32").any()


def test_by_rank_alone_its_mean_is_zero():
    X, page = np.random.default_rng(2).normal(size=(4, 3)), [0, 1, 2, 3]
    z = deviations(impression(X, page), "float32")
    pulls = np.array([pull_of(z, click, SHARES) for click in np.eye(4)])
    assert SHARES @ pulls == pytest.approx([0.0] * 3, abs=1e-12)
