"""What is said of each kind of alert, and what a running service knows beside a model's state."""

import pytest

from rankloop.live.alerts import KINDS, LAGS, alert_of, conditions
from rankloop.live.fold import Fold
from rankloop.live.settings import Guards, ModelSettings
from rankloop.live.suspicion import Suspects, Suspicion
from rankloop.live.watching import Period

SHOP = ModelSettings(name="shop", features=2, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_sentence_without_gaps(kind):
    told = alert_of("shop", Period(kind, "price", 7), "so much")
    assert told.sentence
    assert "{" not in told.sentence
    assert told.id == f"shop-{kind}-price-7"
    assert told.severity in ("bad", "notice")


def kinds(**known):
    usual = {"guarded": False, "damage": None, "trouble": None, "lag": 0, "fold": Fold(SHOP), "suspects": None}
    return [condition.kind for condition in conditions(**(usual | known))]


def taught(**guards):
    fold = Fold(ModelSettings(name="shop", features=2, seed=1, guards=Guards(**guards)))
    fold.fates["learned"] = 500
    return fold


def test_nothing_is_wrong_with_a_new_model():
    assert kinds() == []


def test_what_a_running_service_knows():
    suspects = Suspects("shop", 100, 30, [Suspicion("feature", "price", "less", ["hash:aa"], 0.1, 0.5)])
    assert kinds(damage="its kept state is damaged") == ["damaged"]
    assert kinds(trouble="learning waits: the disk is full", lag=LAGS + 1) == ["learner"]
    assert kinds(lag=LAGS + 1) == ["behind"]
    assert kinds(lag=LAGS) == []
    challenger = Fold(ModelSettings(name="second", features=2, seed=1, challenges="shop"))
    assert kinds(lag=LAGS + 1, fold=challenger) == []  # it begins with the oldest page of the log
    assert kinds(fold=taught()) == ["nameless"]
    assert kinds(fold=taught(client_pages=0)) == []
    assert kinds(suspects=suspects) == ["steered"]


def test_a_model_from_before_there_were_alerts_still_tells_that_it_is_worse():
    unwatched = Fold(ModelSettings(name="shop", features=2, seed=1, alerts=False))
    assert kinds(fold=unwatched, guarded=True) == ["worse"]
    assert kinds(guarded=True) == []  # there its state says so, with the time
