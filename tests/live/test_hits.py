"""A search engine's hits as a page to rank. Shapes as the engines' documentation has them, data of our own."""

import msgspec
import pytest

from rankloop.answers import Ranked
from rankloop.live.errors import RequestError
from rankloop.live.hits import RescoreBody, page_to_rank, rescored
from rankloop.live.settings import IncomingOrder, ModelSettings

from .diary import FOR_ALL

HITS = [
    {
        "_index": "shop", "_id": "oak", "_score": 7.25, "_source": {"price": 120, "reviews": {"stars": 4.5}},
        "fields": {"_ltrlog": [{"shop": [{"name": "title", "value": 9.5}, {"name": "body"}]}]},
        "matched_queries": {"rankloop_features": 0.0, "meaning": 0.75},
    },
    {
        "_index": "shop", "_id": "pine", "_score": 6.5, "_source": {"price": 45.5, "reviews": {"stars": 3.0}},
        "fields": {"_ltrlog": [{"shop": [{"name": "title", "value": 8.0}, {"name": "body", "value": 2.0}]}]},
        "matched_queries": {"rankloop_features": 0.0},
    },
]  # fmt: skip
"""As a search with feature logging and scores of named queries answers them; `body` did not match the oak."""


def settings_of(*names, **other):
    return ModelSettings(**{"name": "shop", "features": names, "seed": 1, "guards": FOR_ALL} | other)


def ranked(body, settings):
    came, page = page_to_rank(msgspec.convert(body, RescoreBody), settings)
    return came, page, [candidate.features for candidate in page.candidates]


def test_features_come_from_the_log_named_queries_the_score_and_the_document():
    settings = settings_of("title", "body", "_score", "price", "reviews.stars", "meaning", missing=0.0)
    came, page, features = ranked({"hits": HITS, "query": "table"}, settings)
    assert came == ["oak", "pine"]
    assert (page.query, page.rest) == ("table", True)
    assert features == [
        {"title": 9.5, "body": 0.0, "_score": 7.25, "price": 120.0, "reviews.stars": 4.5, "meaning": 0.75},
        {"title": 8.0, "body": 2.0, "_score": 6.5, "price": 45.5, "reviews.stars": 3.0},  # a vector too far away
    ]


def test_the_engines_score_has_the_name_of_the_feature_that_the_model_starts_with():
    settings = settings_of("bm25", "price", start=IncomingOrder("bm25"))
    assert ranked({"hits": HITS}, settings)[2] == [{"bm25": 7.25, "price": 120.0}, {"bm25": 6.5, "price": 45.5}]
    logged = HITS[0] | {"matched_queries": {"bm25": 3.0}}
    assert ranked({"hits": [logged]}, settings)[2] == [{"bm25": 3.0, "price": 120.0}]  # a value of its own comes first
    documents = {"id": ["pine", "oak"], "price": [45.5, 120], "_score": [6.5, 7.25]}
    came, page, features = ranked({"documents": documents}, settings)
    assert came == ["pine", "oak"]
    assert [candidate.id for candidate in page.candidates] == ["oak", "pine"]  # the engine's order
    assert features == [{"price": 120.0, "bm25": 7.25}, {"price": 45.5, "bm25": 6.5}]
    partly = ranked({"documents": documents | {"bm25": [8.0, None]}}, settings)[2]  # where nothing else has a value
    assert [one["bm25"] for one in partly] == [7.25, 8.0]
    assert ranked({"hits": HITS}, settings_of("bm25", missing=0.0))[2] == [{}, {}]  # nobody said that it is the score


def test_what_was_logged_comes_before_a_named_query_and_that_before_a_field():
    hit = HITS[0] | {"matched_queries": {"title": 0.1, "price": 0.2}}
    assert ranked({"hits": [hit]}, settings_of("title", "price"))[2] == [{"title": 9.5, "price": 0.2}]


def test_names_of_matched_queries_alone_are_no_scores():
    hit = HITS[0] | {"matched_queries": ["meaning"]}
    assert ranked({"hits": [hit]}, settings_of("meaning", missing=0.0))[2] == [{}]


def test_of_several_log_entries_one_must_be_named():
    logged = {"_ltrlog": [{"mine": [{"name": "a", "value": 1.0}], "live": [{"name": "a", "value": 2.0}]}]}
    hit = {"_id": "x", "fields": logged}
    settings = settings_of("a")
    assert ranked({"hits": [hit], "entry": "live"}, settings)[2] == [{"a": 2.0}]
    with pytest.raises(RequestError, match='there are the log entries mine, live; send "entry"'):
        ranked({"hits": [hit]}, settings)
    with pytest.raises(RequestError, match="there is no log entry 'other'; there is mine, live"):
        ranked({"hits": [hit], "entry": "other"}, settings)


def test_a_batch_is_one_list_per_field_and_the_engines_order_is_that_of_its_score():
    """A pipeline that brings the engine's score along has sorted the documents by something else."""
    batch = {"id": [3, 1, 2], "price": [1.0, 2.0, None], "_score": [0.5, 0.9, 0.7], "colour": ["red", "blue", "red"]}
    came, page, features = ranked(
        {"documents": batch, "query": ["chair"] * 3}, settings_of("price", "_score", missing=0)
    )
    assert came == ["3", "1", "2"]
    assert [candidate.id for candidate in page.candidates] == ["1", "2", "3"]
    assert features == [{"price": 2.0, "_score": 0.9}, {"_score": 0.7}, {"price": 1.0, "_score": 0.5}]
    assert page.query == "chair"
    assert ranked({"documents": {"id": []}, "query": []}, settings_of("price"))[0] == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, 'send either "hits", as the engine answered them, or "documents"'),
        ({"hits": [], "documents": {}}, 'send either "hits"'),
        ({"documents": {"price": [1.0]}}, 'one list must be called "id"'),
        ({"documents": {"id": ["a"], "price": []}}, "there are 1 ids, and 0 values of 'price'"),
        ({"documents": {"id": ["a", None], "price": [1, 2]}}, "an id must be text of 1 to 512 characters; got None"),
        ({"documents": {"id": ["a", ""], "price": [1, 2]}}, "an id must be text of 1 to 512 characters; got ''"),
        ({"documents": {"id": [["a"]], "price": [1]}}, "an id must be text of 1 to 512 characters; got ['a']"),
        ({"documents": {"id": [True], "price": [1]}}, "an id must be text of 1 to 512 characters; got True"),
        ({"documents": {"id": ["a" * 513], "price": [1]}}, "an id must be text of 1 to 512 characters; got 'aaa"),
        ({"documents": {"id": ["a"], "price": ["cheap"]}}, "feature 'price' must be a number; got 'cheap'"),
        ({"documents": {"id": ["a"], "price": [10**400]}}, "feature 'price' is too large a number"),
        ({"hits": [{"_id": "a", "_source": {"price": True}}]}, "feature 'price' must be a number; got True"),
        ({"hits": [{"_id": "a", "fields": {"_ltrlog": [{"e": [{"value": 1}]}]}}]}, "hit 'a': _ltrlog must be"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence(body, said):
    with pytest.raises(RequestError) as refused:
        ranked(body, settings_of("price"))
    assert said in str(refused.value)


def test_a_page_is_never_larger_than_the_models():
    page = page_to_rank(msgspec.convert({"hits": HITS, "size": 100}, RescoreBody), settings_of("price", page_size=10))
    assert page[1].size == 10


def test_sorted_by_their_numbers_documents_begin_with_the_page():
    answer = Ranked("id", ["c", "a"], "learned", 7, ["b", "d"])
    found = rescored(["a", "b", "c", "d"], answer)
    assert found.scores == [3.0, 2.0, 4.0, 1.0]
    assert (found.impression, found.ranking, found.group, found.version) == ("id", ["c", "a"], "learned", 7)
