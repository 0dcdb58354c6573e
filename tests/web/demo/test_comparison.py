"""Model and rival are made through the API; the shadow learns as the model does, from the rival's pages."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.client import ServiceError
from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.web.demo.comparison import MODEL, POSTERIOR, RIVAL, Comparison, Rules, Shown, start_of, words
from rankloop.web.demo.engine import engine_order
from rankloop.web.demo.features import FEATURES

RANKING = ["a", "b", "c"]
CANDIDATES = SimpleNamespace(ids=RANKING, features=np.random.default_rng(1).random((3, len(FEATURES)), np.float32))


class Service:
    """Answers as the service does, and remembers what it was asked."""

    def __init__(self, existing=(), closes=True):
        self.existing, self.closes = list(existing), closes
        self.made, self.deleted, self.clicked = {}, [], []

    async def models(self):
        return [{"name": name} for name in self.existing]

    async def delete_model(self, name):
        self.deleted.append(name)

    async def create_model(self, name, features, **settings):
        self.made[name] = settings

    async def click(self, impression, clicks):
        self.clicked.append((impression, clicks))

    async def close(self, impression, wait):
        return None if self.closes is None else SimpleNamespace(closed=self.closes)


def page(model=MODEL, impression="signed"):
    return Shown(model, CANDIDATES, impression, RANKING, 0, None if impression else "the store is down")


def taught(service, shown, clicked):
    comparison = Comparison(service, seed=1)
    return asyncio.run(comparison.teach(shown, clicked)), comparison.shadow_weights


@pytest.mark.parametrize(
    "wrong", [{"learner": "DBGD"}, {"reward": "ips"}, {"rival_reward": ""}, {"step": 0}, {"rival_step": 1.5}]
)
def test_rules_that_make_no_learner_are_refused(wrong):
    with pytest.raises(SettingsError, match=f"demo: {next(iter(wrong))}"):
        Rules(**wrong)


def test_both_models_are_made_anew_each_with_its_own_rule():
    service = Service(existing=["shop", RIVAL])
    asyncio.run(Comparison(service, seed=3).begin(Rules(rival_reward="naive+", rival_step=0.1)))
    assert service.deleted == [RIVAL]
    assert list(service.made) == [MODEL, RIVAL]
    assert service.made[MODEL]["learner"]["learner"] == "Posterior"
    assert service.made[RIVAL]["learner"]["reward"] == "naive+"
    assert service.made[RIVAL]["learner"]["learning_rate"] == 0.1
    assert service.made[RIVAL]["start"]["weights"] == engine_order().tolist()
    for made in service.made.values():
        order, scale = np.array(made["start"]["weights"]), engine_order()
        np.testing.assert_allclose(order / order.max(), scale / scale.max())
        assert made["seed"] == 3


def test_the_only_visitor_of_a_demo_is_not_bounded():
    service = Service()
    asyncio.run(Comparison(service, seed=3).begin(Rules()))
    assert [made["guards"]["client_pages"] for made in service.made.values()] == [0, 0]


def test_methods_in_a_few_words():
    assert words(Rules().model) == "Posterior, told nothing"
    assert words(Rules().rival) == "ROLTR, ips+-, α = 0.01"
    assert Rules(learner="ROLTR", step=0.1).model == ROLTR(learning_rate=0.1)
    assert Rules(rival_learner="Posterior").rival == POSTERIOR


def test_a_lesson_of_the_rival_teaches_the_shadow_and_one_of_the_model_does_not():
    service = Service()
    closed, shadow = taught(service, page(RIVAL), ["b"])
    assert closed
    assert service.clicked == [("signed", ["b"])]
    assert not np.array_equal(shadow, start_of(POSTERIOR))
    assert np.array_equal(taught(Service(), page(), ["b"])[1], start_of(POSTERIOR))


def test_a_page_that_was_closed_before_teaches_nobody():
    closed, shadow = taught(Service(closes=False), page(RIVAL), ["b"])
    assert not closed
    assert np.array_equal(shadow, start_of(POSTERIOR))


def test_what_the_service_could_not_take_is_said():
    with pytest.raises(ServiceError, match="cannot be learned from: the store is down"):
        taught(Service(), page(impression=None), ["b"])
    with pytest.raises(ServiceError, match="did not accept the clicks"):
        taught(Service(closes=None), page(), [])
