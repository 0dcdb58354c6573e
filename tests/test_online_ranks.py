"""Pages whose documents do not stand one below the other: every row is learned from with its own rank's tables."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR
from rankloop.online import OnlineRanker, Page
from rankloop.propensities import Known

from .proofs import literal

FEATURES, SIZE = 3, 5
EXAMINED = (1.0, 0.6, 0.5, 0.3, 0.2)
X = np.random.default_rng(2).normal(size=(7, FEATURES)).astype(np.float32)
START = np.array([0.3, -0.2, 0.5])


def ranker_of(learner, **more) -> OnlineRanker:
    return OnlineRanker(learner, features=FEATURES, seed=4, **({"page_size": SIZE, "weights": START} | more))


def at(ranker: OnlineRanker, ranks) -> Page:
    """A page of as many documents as there are ranks, standing at these."""
    page = ranker.rank(X)
    size = len(ranks)
    return Page(
        page.documents[:size], page.impression, page.candidates, page.scores, page.notes[:size], np.array(ranks)
    )


@pytest.mark.parametrize("ranks", [[0, 1, 2], [1, 3], [4], [0, 2, 3, 4]], ids=str)
@pytest.mark.parametrize("discount", [0.0, 0.6])
def test_rewards_are_those_of_the_ranks_where_documents_stand(ranks, discount):
    ranker = ranker_of(ROLTR(propensities=Known(EXAMINED), discount=discount, learning_rate=1.0))
    page = at(ranker, ranks)
    clicks = [float(place % 2) for place in range(len(ranks))]
    ranker.learn(page, clicks)
    earned = [
        literal.reward("ips+-", clicked, EXAMINED[rank], rank + 1) for rank, clicked in zip(ranks, clicks, strict=True)
    ]
    gradient = literal.policy_gradient(
        X.astype(np.float64) @ START, page.documents.tolist(), literal.returns(earned, discount)
    )
    # Scores are float32.
    np.testing.assert_allclose(ranker.weights - START, X.T.astype(np.float64) @ gradient, rtol=2e-5, atol=1e-6)


def test_a_running_baseline_is_that_of_the_rank_and_other_ranks_are_left_alone():
    ranker = ranker_of(ROLTR(baseline=True, propensities=Known(EXAMINED)))
    ranker.learn(at(ranker, [1, 3]), [1.0, 0.0])
    ranker.learn(at(ranker, [1, 4]), [0.0, 1.0])
    first = [literal.reward("ips+-", c, EXAMINED[1], 2) for c in (1, 0)]
    assert ranker.model.baseline_count.tolist() == [0, 2, 0, 1, 1]
    np.testing.assert_allclose(
        ranker.model.baseline,
        [0, sum(first) / 2, 0, literal.reward("ips+-", 0, 0.3, 4), literal.reward("ips+-", 1, 0.2, 5)],
        rtol=1e-12,
    )


LEARNERS = [ROLTR(), ROLTR(baseline=True, decay=0.9), PDGD(), DBGD(), PMGD(candidates=3), COLTR(candidates=3)]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("as_drawn", [False, True])
def test_ranks_from_the_top_are_what_a_page_has_without_saying_so(learner, as_drawn):
    said, unsaid = ranker_of(learner), ranker_of(learner)
    for number in range(6):
        clicks = np.roll([1.0, 0.0, 0.0, 1.0, 0.0], number).tolist()
        said.learn(at(said, range(SIZE)), clicks, as_drawn=as_drawn)
        unsaid.learn(unsaid.rank(X), clicks, as_drawn=as_drawn)
    assert said.weights.tobytes() == unsaid.weights.tobytes()


@pytest.mark.parametrize("ranks", [[0, 5], [0, 1, 2]], ids=str)
def test_ranks_that_do_not_fit_are_refused(ranks):
    ranker = ranker_of(ROLTR())
    page = ranker.rank(X)
    wrong = Page(page.documents[:2], page.impression, page.candidates, page.scores, page.notes[:2], np.array(ranks))
    with pytest.raises(SettingsError, match="other features, page size or method"):
        ranker.learn(wrong, [1.0, 0.0])
    assert ranker.weights.tolist() == START.tolist()
