"""One query, closely: both orders, what moved, why, and who clicked, against what the log says."""

import numpy as np
import pytest

from rankloop.learners import ROLTR, Posterior
from rankloop.live.events import Closing, Event, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import Guards, ModelSettings, Weights, Zeros
from rankloop.rankers import MLP
from rankloop.web.dashboard.explorer import OWN, asked, explained
from rankloop.web.dashboard.recent import Page

FEATURES = np.array([[3.0, 0.0], [2.0, 0.0], [1.0, 5.0]], np.float32)
GUARDS = Guards(control=0.0)


def settings(**more):
    known = {"features": ("engine", "rating"), "start": Weights((1.0, 1.0)), "scaling": "none", "guards": GUARDS}
    return ModelSettings(name="shop", seed=1, **known | more)


def page(of, number, query="red shoes", client=b"anna", clicks=(1.0, 0.0, 0.0), titles=None):
    fold = Fold(of)
    request = Request(query, client, ["a", "b", "c"], FEATURES, 3, {}, titles=titles or {})
    impression = Ranking(of).rank(fold.view(), request, number).impression
    by_name = dict(zip("abc", clicks, strict=True))
    clicked = np.array([by_name[name] for name in impression.shown()])
    return Page(Event(number, 1, Kind.SHOWN, number, 1000 * number, client, b""), impression, "asked", clicked)


def test_a_document_that_a_feature_lifts_moves_up_and_says_so():
    mine = settings()
    found = explained("red shoes", [page(mine, 1)], mine, Fold(mine).view())
    assert [one.id for one in found.model] == ["c", "a", "b"]
    assert [one.id for one in found.engine] == ["a", "b", "c"]
    assert [one.moved for one in found.model] == [2, -1, -1]
    assert found.changed == 3
    lifted = found.model[0].reasons[0]
    assert lifted.label == "rating"
    # Beside the average candidate: 5 − 5/3, and what it lacks of the engine's score, 1 − 2.
    assert {bar.label: pytest.approx(bar.value) for bar in found.model[0].reasons} == {"rating": 10 / 3, "engine": -1.0}


def test_titles_stand_in_the_place_of_ids_where_they_were_sent():
    mine = settings()
    found = explained("red shoes", [page(mine, 1, titles={"a": "Adidas", "c": "Clarks"})], mine, Fold(mine).view())
    assert [(one.id, one.title) for one in found.engine] == [("a", "Adidas"), ("b", "b"), ("c", "Clarks")]


def test_reasons_add_up_to_how_far_a_score_is_from_the_average():
    mine = settings()
    found = explained("red shoes", [page(mine, 1)], mine, Fold(mine).view())
    mean = np.mean([one.score for one in found.model])
    for one in found.model:
        assert sum(bar.value for bar in one.reasons) == pytest.approx(one.score - mean, abs=1e-5)


def test_clicks_and_people_are_those_of_the_query_however_it_was_typed():
    mine = settings()
    pages = [
        page(mine, 4, clicks=(1, 0, 0)),
        page(mine, 3, query="Red  SHOES", clicks=(1, 1, 0)),
        page(mine, 2, client=b"ben", clicks=(0, 1, 0)),
        page(mine, 1, query="else", clicks=(1, 1, 1)),
    ]
    found = explained("red shoes", pages, mine, Fold(mine).view())
    told = {one.id: (one.shown, one.clicks, one.people) for one in found.model}
    assert told == {"a": (3, 2.0, 1), "b": (3, 2.0, 2), "c": (3, 0.0, 0)}
    assert (found.pages, found.clients, found.at) == (3, 2, 4000)
    assert [(one.query, one.pages, one.clicks) for one in asked(pages)] == [("red shoes", 3, 4.0), ("else", 1, 3.0)]


def test_a_query_that_nobody_asked_is_not_explained_and_a_network_has_no_parts():
    mine = settings()
    assert explained("blue", [page(mine, 1)], mine, Fold(mine).view()) is None
    network = settings(learner=ROLTR(ranker=MLP(hidden=(4,))), start=Zeros())
    found = explained("red shoes", [page(network, 1)], network, Fold(network).view())
    assert all(one.reasons == [] for one in found.model)


def test_a_document_that_people_click_beyond_what_its_features_say_says_so():
    mine = settings(learner=Posterior(), start=Zeros(), scaling="robust")
    fold, ranking = Fold(mine), Ranking(mine)
    for number in range(60):
        request = Request("red shoes", b"", ["a", "b", "c"], FEATURES, 3, {})
        impression = ranking.rank(fold.view(), request, number).impression
        event = Event(2 * number + 1, 1, Kind.SHOWN, number, 0, b"", encode(impression))
        clicks = [float(name == "b") for name in impression.shown()]
        closing = encode(Closing(event.offset, clicks, "asked"))
        fold.apply(Event(2 * number + 2, 1, Kind.CLOSED, number, 0, b"", closing), event)
    found = explained("Red  shoes", [page(mine, 1)], mine, fold.view())
    by_id = {one.id: {bar.label: bar.value for bar in one.reasons} for one in found.model}
    assert found.model[0].id == "b"
    assert by_id["b"][OWN] > 0
    assert all(by_id[other].get(OWN, 0.0) < 0 for other in "ac")
