"""What a replay says it can conclude, for every kind of learner, on logs of every kind."""

import numpy as np
import pytest

from rankloop.learners import DBGD, ROLTR, Posterior
from rankloop.live.as_drawn import page_as_drawn
from rankloop.live.events import Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.settings import Guards
from rankloop.live.stores import open_store
from rankloop.logs.replay import Replay, open_log, other_settings, replay
from rankloop.logs.replay.concluding import HARDLY, IDENTICAL, LEARNED, NOTHING, ROUGHLY
from rankloop.logs.replay.replaying import Options
from rankloop.policies.plackett_luce import page_log_probability

from ..writing import Log, model_settings


def replayed(path, logged, learner=None, changes=(), impressions=60, evaluate=0.0):
    everybody = Guards(control=0.0, client_pages=0)  # a handful of clients: all that they did is to be learned
    Log.filled(open_store(path), model_settings(learner=logged, guards=everybody), impressions=impressions)
    return replay(path, Options(learner=learner, changes=changes, evaluate=evaluate))


@pytest.mark.parametrize(
    ("logged", "learner", "changes", "verdict"),
    [
        (ROLTR(), None, (), IDENTICAL),
        (ROLTR(), "Posterior", (), LEARNED),
        (Posterior(), "Posterior", ("exploration=0.5",), LEARNED),
        (ROLTR(), "COLTR", ("candidates=3",), LEARNED),
        (ROLTR(), "FixedWeights", (), LEARNED),
        (ROLTR(), "ROLTR", ("learning_rate=0.011",), ROUGHLY),
        (DBGD(), "DBGD", ("learning_rate=0.02",), NOTHING),
        (Posterior(), "ROLTR", (), HARDLY),
        (Posterior(), "PDGD", (), HARDLY),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_it_says_what_its_weights_are_worth(tmp_path, logged, learner, changes, verdict):
    found = replayed(tmp_path / "log.db", logged, learner, changes).conclusion
    assert found.verdict == verdict
    assert found.pages == 60
    assert (found.worth is None) == (verdict in (IDENTICAL, LEARNED) or logged.needs_own_pages)
    assert found.sentences[-1] == "What it would have earned was not estimated."


def test_a_policy_gradient_on_the_pages_of_a_posterior_learns_next_to_nothing_and_says_so(tmp_path):
    """Its pages, but for the very first, are all but sorted: hardly one that a softmax from zero might have drawn."""
    for learner in ("ROLTR", "PDGD"):
        found = replayed(tmp_path / f"{learner}.db", Posterior(), learner, impressions=300)
        assert found.fates["stale"] > 250
        assert found.conclusion.worth < 15
        assert found.conclusion.verdict == NOTHING
        assert f"{found.fates['stale']} pages, less than 1% as likely" in " ".join(found.conclusion.sentences)


def test_with_ten_times_the_temperature_the_pages_are_another_policys(tmp_path):
    found = replayed(tmp_path / "log.db", ROLTR(learning_rate=0.1), "ROLTR", ("temperature=10",), impressions=200)
    assert found.conclusion.verdict in (HARDLY, NOTHING)
    assert "drew with another policy altogether" in found.conclusion.sentences[1]


def test_updates_from_others_pages_are_weighed_as_defined(tmp_path):
    """Against the sum of min(1, π_now/π_drawn), and each step against one against current scores, shortened by it."""
    log = Log.filled(open_store(tmp_path / "log.db"), model_settings(learner=ROLTR(learning_rate=0.3)), impressions=30)
    other = other_settings(log.settings, "PDGD", [])
    worth, twin = 0.0, Fold(other)
    with open_log(tmp_path / "log.db") as store:
        made = Replay(store, store.models()[0], other)
        made.follow(store.last_offset())
        for event in store.events(0, 1_000, kinds=(Kind.CLOSED,)):
            closing = decode(event.kind, event.body)
            shown = store.event(closing.shown)
            impression = decode(shown.kind, shown.body)
            X = impression.matrix("float32").copy()
            drawn = impression, shown.number, X, closing.clicks
            page, clicks = page_as_drawn(*drawn, other.learner, log.settings.learner)
            now = page_log_probability(twin.view().scores(X), page.documents, 1.0)
            weight = min(1.0, float(np.exp(now - impression.log_probability)))
            worth += weight
            before = twin.ranker.weights.copy()
            if weight >= 0.01:
                twin.ranker.learn(page, clicks)
                weights = before + weight * (twin.ranker.weights - before)
                twin.ranker.model.ranker.weights[:] = weights
                twin.ranker.model.ranker.rounded[:] = weights.astype(np.float32)
    assert 1 < worth < 30
    assert made.fold.worth == pytest.approx(worth, rel=1e-6)
    assert made.fold.ranker.weights == pytest.approx(twin.ranker.weights, rel=1e-9)


def test_what_it_would_have_earned_is_a_sentence(tmp_path):
    found = replayed(tmp_path / "log.db", ROLTR(learning_rate=0.001), "ROLTR", ("learning_rate=0.1",), 600, 0.5)
    assert found.conclusion.sentences[-1].startswith("On pages held back it would have earned more clicks")
    few = replay(tmp_path / "log.db", Options(learner="PDGD", evaluate=0.05))
    assert "cannot be estimated as usual: only" in few.conclusion.sentences[-2]
    assert few.conclusion.sentences[-1].startswith("What can be said instead: Logged pages are worth")
