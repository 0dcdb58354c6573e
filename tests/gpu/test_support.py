import pytest

import rankloop as rl
from rankloop.gpu import Request, why_not


def asked(learner=None, user=None, **settings):
    return Request(learner or rl.ROLTR(), user or rl.users.noisy(), rl.load("tiny"), 100, 1, settings)


@pytest.mark.parametrize(
    "learner", [rl.ROLTR(), rl.ROLTR(propensities=rl.propensities.learned()), rl.MDPRank(), rl.PDGD()], ids=str
)
def test_these_have_device_code(learner):
    assert why_not(asked(learner)) is None


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (asked(rl.COLTR()), "COLTR has no device code"),
        (asked(rl.ROLTR(ranker=rl.MLP())), "linear rankers only"),
        (asked(delay=3), "late updates"),
        (asked(page_size=33), "more than 32"),
    ],
    ids=["learner", "ranker", "delay", "page"],
)
def test_others_run_on_the_cpu_and_say_why(request_, words):
    assert words in why_not(request_)


def test_people_who_are_not_tables_have_no_device_code():
    assert "no device code" in why_not(asked(user=lambda grades, draws: grades > 0))
