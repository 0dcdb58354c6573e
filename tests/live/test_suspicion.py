"""Who clicks for one thing alone is found among people with tastes of their own, and nobody else is."""

from functools import cache

import numpy as np
import pytest

from rankloop.live.events import Closing, Event, Group, Impression, Kind, encode
from rankloop.live.settings import ModelSettings
from rankloop.live.suspicion import suspects_among

FEATURES = ("price", "rating", "vendor")
SETTINGS = ModelSettings(name="m", features=FEATURES, page_size=5, seed=1)
CANDIDATES = 12


@cache
def name(client: int) -> bytes:
    return np.random.default_rng(client).bytes(16)


def hashed(clients) -> set[str]:
    return {f"hash:{name(client).hex()}" for client in clients}


def visits(clients, pages: int, clicks, seed: int = 1, group: Group = Group.LEARNED, *, same_price: bool = False):
    """Pages of these clients, in random orders of random candidates, and what each clicks on."""
    random = np.random.default_rng(seed)
    for page in range(pages):
        client = clients[page % len(clients)]
        X = random.normal(size=(CANDIDATES, 3)).astype(np.float32)
        X[:, 2] = random.random(CANDIDATES) < 0.25
        X[:, 0] = 1.0 if same_price else X[:, 0]
        documents = random.permutation(60)[:CANDIDATES]
        shown = random.permutation(CANDIDATES)[:5]
        ids = [f"d{document}" for document in documents]
        scores = np.zeros(CANDIDATES, np.float32).tobytes()
        impression = Impression("q", ids, X.tobytes(), scores, shown.tolist(), [], b"", int(group), 0, 0.0, 0.0)
        body = encode(impression)
        told = clicks(random, client, X[shown], documents[shown]).astype(float).tolist()
        yield Event(1, 1, int(Kind.SHOWN), page, 0, name(client), body), Closing(1, told, "asked")


@cache
def taste_of(client):
    return 0.3 * np.random.default_rng(client).normal() + 0.5


BY_RANK = 0.35 / np.sqrt(np.arange(1, 6))


def as_people_do(random, client, X, documents):
    """By rank, and by a taste for ratings that is everybody's own."""
    return random.random(5) < BY_RANK * np.exp(taste_of(client) * X[:, 1].clip(-1, 1) - 0.3)


def for_the_vendor(random, client, X, documents):
    return X[:, 2] == 1


def for_a_document(random, client, X, documents):
    return documents < 6


@pytest.mark.slow
def test_where_people_are_people_nobody_is_suspected():
    found = suspects_among(visits(range(300), 4_000, as_people_do), SETTINGS)
    assert (found.pages, found.clients, found.found) == (4_000, 300, [])


@pytest.mark.thorough
def test_who_comes_often_and_likes_what_everybody_likes_is_no_suspect():
    def for_ratings(random, client, X, documents):
        return random.random(5) < 0.12 * np.exp(2 * np.clip(X[:, 1], -1, 1))

    often = visits(range(1_000, 1_010), 3_000, for_ratings, seed=2)
    found = suspects_among([*visits(range(100), 500, for_ratings), *often], SETTINGS)
    assert (found.clients, found.found) == (110, [])


@pytest.mark.filterwarnings("error")
def test_of_a_feature_that_nowhere_varies_nothing_is_said_and_nobody_is_warned():
    people = visits(range(100), 500, as_people_do, same_price=True)
    bots = visits(range(1_000, 1_020), 400, for_the_vendor, seed=2, same_price=True)
    found = suspects_among([*people, *bots], SETTINGS)
    assert {one.name for one in found.found if one.kind == "feature"} == {"vendor"}


@pytest.mark.slow
def test_a_botnet_that_clicks_for_a_feature_is_found_whole():
    people = visits(range(300), 4_000, as_people_do)
    bots = visits(range(1_000, 1_020), 400, for_the_vendor, seed=2)
    found = suspects_among([*people, *bots], SETTINGS)
    [suspicion] = [one for one in found.found if one.name == "vendor"]
    assert (suspicion.kind, suspicion.direction) == ("feature", "more")
    assert set(suspicion.clients) <= hashed(range(1_000, 1_020))
    assert len(suspicion.clients) >= 18
    assert suspicion.pages == pytest.approx(400 / 4_400, abs=0.01)
    assert suspicion.gain > 0.3


@pytest.mark.slow
def test_whoever_always_clicks_on_one_document_is_found():
    people = visits(range(300), 6_000, as_people_do)
    bots = visits([1_000], 150, for_a_document, seed=2)
    found = suspects_among([*people, *bots], SETTINGS)
    documents = [one for one in found.found if one.kind == "document"]
    assert {one.name for one in documents} <= {f"d{number}" for number in range(6)}
    assert len(documents) >= 3
    assert found.everybody == sorted(hashed([1_000]))


@pytest.mark.thorough
def test_of_a_handful_of_clients_and_of_pages_in_another_order_nothing_is_said():
    few = visits(range(19), 500, for_the_vendor)
    assert suspects_among(few, SETTINGS).found == []
    control = visits(range(1_000, 1_100), 500, for_the_vendor, group=Group.CONTROL)
    assert suspects_among([*visits(range(300), 2_000, as_people_do), *control], SETTINGS).pages == 2_000
