"""The model is made through the API, and a rival where one is asked for: what they are told, and what clicks teach."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.client import ServiceError
from rankloop.errors import SettingsError
from rankloop.web.demo.comparison import MODEL, POSTERIOR, RIVAL, RIVALS, Comparison, DrawnPage, Rules, start_of
from rankloop.web.demo.engine import engine_order
from rankloop.web.demo.explaining import order_of
from rankloop.web.demo.features import FEATURES
from rankloop.web.demo.pages import EXAMPLES

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
    return DrawnPage(model, CANDIDATES, impression, RANKING, 0, None if impression else "the store is down")


def taught(service, shown, clicked):
    return asyncio.run(Comparison(service, seed=1).teach(shown, clicked))


def begun(service, rules):
    asyncio.run(Comparison(service, seed=3).begin(rules))
    return service.made


def test_a_rival_that_does_not_exist_is_refused():
    with pytest.raises(SettingsError, match="demo: rival must be one of"):
        Rules(rival="Oracle")


def test_unless_one_is_asked_for_there_is_no_rival_and_an_earlier_one_goes():
    service = Service(existing=["shop", RIVAL])
    assert list(begun(service, Rules())) == [MODEL]
    assert service.deleted == [RIVAL]


@pytest.mark.parametrize("rival", [rival for rival in RIVALS.values() if rival.learner is not None])
def test_model_and_rival_are_made_anew_each_with_its_own_method(rival):
    service = Service(existing=[MODEL, "shop", RIVAL])
    assert list(begun(service, Rules(rival=rival.name))) == [MODEL, RIVAL]
    assert service.deleted == [MODEL, RIVAL]
    assert service.made[MODEL]["learner"]["learner"] == "Posterior"
    assert service.made[RIVAL]["learner"]["reward"] == rival.learner.reward
    assert service.made[RIVAL]["learner"]["learning_rate"] == rival.learner.learning_rate
    assert service.made[RIVAL]["start"]["weights"] == engine_order().tolist()
    assert service.made[MODEL]["start"]["weights"] == start_of(POSTERIOR).tolist()
    assert {made["seed"] for made in service.made.values()} == {3}


def test_what_a_page_says_of_a_rival_is_words_and_no_symbols():
    for rival in RIVALS.values():
        assert not set(rival.label + rival.sentence) & set("+α=")
        assert bool(rival.sentence) == (rival.learner is not None)


def test_the_only_visitor_of_a_demo_is_not_bounded():
    [made] = begun(Service(), Rules()).values()
    assert made["guards"]["client_pages"] == made["guards"]["one_sided"] == 0


def test_the_model_starts_from_the_engines_order_and_shows_its_best(engine):
    for query in EXAMPLES:
        candidates = engine.search(query)
        assert order_of(candidates, start_of(POSTERIOR)) == list(range(len(candidates)))
    assert POSTERIOR.exploration == POSTERIOR.early_exploration == 0.0


def test_a_click_is_reported_and_its_page_closed():
    service = Service()
    assert taught(service, page(), ["b"])
    assert service.clicked == [("signed", ["b"])]
    assert not taught(Service(closes=False), page(), ["b"])


def test_what_the_service_could_not_take_is_said():
    with pytest.raises(ServiceError, match="cannot be learned from: the store is down"):
        taught(Service(), page(impression=None), ["b"])
    with pytest.raises(ServiceError, match="did not accept the clicks"):
        taught(Service(closes=None), page(), [])
