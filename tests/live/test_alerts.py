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


def found(**known):
    usual = {"guarded": False, "damage": None, "trouble": None, "lag": 0, "fold": Fold(SHOP), "suspects": None}
    return conditions(**(usual | known))


def kinds(**known):
    return [condition.kind for condition in found(**known)]


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


def test_a_model_from_before_there_were_alerts_still_names_a_feature_with_values_that_are_mistakes():
    unwatched = Fold(ModelSettings(name="shop", features=["price", "made"], seed=1, alerts=False))
    unwatched.outliers["made"] = 3
    assert found(fold=unwatched) == [("outlying", "made")]


@pytest.mark.parametrize(
    ("clients", "client_pages", "is_told"),
    [
        ([b""] * 99, 20, False),
        ([b""] * 100, 20, True),
        ([b""] * 100, 0, False),
        ([b""] * 80 + [bytes([n]) * 16 for n in range(20)], 20, False),
    ],
)
def test_a_model_that_is_never_told_who_it_is_says_that_it_has_no_protection(clients, client_pages, is_told):
    fold = Fold(ModelSettings(name="shop", features=2, seed=1, guards=Guards(client_pages=client_pages)))
    fold.fates["learned"] = len(clients)
    for client in clients:
        fold.influence.note(client, fold.settings.guards)
    assert kinds(fold=fold) == (["nameless"] if is_told else [])


def test_clients_who_may_be_steering_are_counted_with_what_to_type():
    known = [Suspicion("feature", "vendor", "more", ["hash:1", "hash:2"], 0.1, 0.5)]
    known += [Suspicion("document", name, "more", ["hash:2"], 0.1, 0.5) for name in ("secret-1", "secret-2")]
    assert found(suspects=Suspects("shop", 100, 50, [])) == []
    [(_, told)] = found(suspects=Suspects("shop", 100, 50, known))
    assert told == (
        "2 clients may be steering this model, for more vendor and one document: "
        "look with rankloop log suspects LOG --model shop"
    )
