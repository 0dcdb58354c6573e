"""Which simulations have device code, and what is said of the others."""

import pytest

import rankloop as rl
from rankloop.gpu import Request
from rankloop.gpu.support import why_not


def asked(learner=None, user=None, **settings):
    return Request(learner or rl.ROLTR(), user or rl.users.noisy(), rl.load("tiny"), 100, 1, settings)


@pytest.mark.parametrize(
    "learner",
    [
        rl.ROLTR(),
        rl.ROLTR(propensities=rl.propensities.learned()),
        rl.MDPRank(),
        rl.PDGD(),
        rl.Posterior(),
        rl.Posterior(memory=0, half_life=100.0),
        rl.DBGD(),
        rl.DBGD(interleaving="team-draft"),
        rl.PMGD(),
        rl.PMGD(candidates=500),
        rl.COLTR(),
        rl.COLTR(candidates=1),
    ],
    ids=str,
)
def test_these_have_device_code(learner):
    assert why_not(asked(learner)) is None


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (asked(rl.PLRank()), "PLRank has no device code"),
        (asked(rl.ROLTR(ranker=rl.MLP())), "linear rankers only"),
        (asked(delay=3), "late updates"),
        (asked(page_size=33), "more than 32"),
        (asked(rl.Posterior(intervals=True)), "no device code for intervals"),
        (asked(rl.Posterior(), delay=3), "late updates"),
    ],
    ids=["learner", "ranker", "delay", "page", "intervals", "a late posterior"],
)
def test_others_run_on_the_cpu_and_say_why(request_, words):
    assert words in why_not(request_)


@pytest.mark.parametrize("learner", [rl.ROLTR(), rl.Posterior(), rl.DBGD(), rl.PMGD(), rl.COLTR()], ids=str)
def test_lists_that_are_too_long_for_a_block_are_ranked_on_the_cpu(monkeypatch, learner):
    monkeypatch.setattr("rankloop.gpu.support._shared", lambda: 11_000)
    assert "35 candidates do not fit" in why_not(asked(learner))


def test_people_who_are_not_tables_have_no_device_code():
    assert "no device code" in why_not(asked(user=lambda grades, draws: grades > 0))
