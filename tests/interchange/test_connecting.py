"""What `rankloop connect` writes, held to the shapes in the engines' documentation. No engine was run."""

import re

import pytest

from rankloop.errors import SettingsError
from rankloop.interchange.connecting import (
    Connection,
    Feature,
    connection_files,
    connector,
    feature_set,
    left_behind,
    live_model,
    pipeline,
    search,
    trust,
)
from rankloop.live.settings import ModelSettings

ALL = ["_score", "price", "stars=field:reviews.stars", "title=match:name", "meaning=knn:embedding"]


def connection(*features, **other):
    given = {"model": "shop", "url": "http://rankloop:8080", "id_field": "sku", "query_path": None} | other
    return Connection.of(features=list(features or ALL), **given)


def test_the_feature_set_has_text_scores_and_numbers_of_documents():
    made = feature_set(connection())["featureset"]
    assert made["name"] == "shop"
    assert [feature["name"] for feature in made["features"]] == ["price", "stars", "title"]
    title, stars = made["features"][2], made["features"][1]
    assert title == {
        "name": "title", "params": ["keywords"], "template_language": "mustache",
        "template": {"match": {"name": "{{keywords}}"}},
    }  # fmt: skip
    [factor] = stars["template"]["function_score"]["functions"]
    assert factor == {"field_value_factor": {"field": "reviews.stars", "missing": 0}}


def test_a_search_logs_the_feature_set_and_names_its_vector_queries():
    body = search(connection())
    should, [logged] = body["query"]["bool"]["should"], body["query"]["bool"]["filter"]
    assert should[0]["multi_match"]["fields"] == ["name"]
    assert should[1]["knn"]["embedding"]["_name"] == "meaning"
    assert logged["sltr"]["featureset"] == "shop"
    specs = body["ext"]["ltr_log"]["log_specs"]
    assert specs == {"name": "shop", "named_query": logged["sltr"]["_name"], "missing_as_zero": True}
    assert "ext" not in search(connection("_score", "meaning=knn:embedding"))


def test_each_engine_has_its_own_shape_of_a_vector_query():
    """OpenSearch names the field as a key; Elasticsearch has `field` and `query_vector`."""
    ours = connection()
    searches = {
        engine: connection_files(engine, ours)["3-search.json"]["body"] for engine in ("opensearch", "elasticsearch")
    }
    vectors = {engine: body["query"]["bool"]["should"][1]["knn"] for engine, body in searches.items()}
    assert vectors["opensearch"] == {"embedding": {"vector": "<vector of the query>", "k": 100, "_name": "meaning"}}
    assert vectors["elasticsearch"] == {
        "field": "embedding", "query_vector": "<vector of the query>", "num_candidates": 100, "_name": "meaning",
    }  # fmt: skip


def test_no_part_of_the_pipeline_fails_a_search():
    """`rerank` by a field fails where one document lacks the field."""
    for processor in pipeline(connection())["response_processors"]:
        [settings] = processor.values()
        assert settings["ignore_failure"] is True, processor


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://localhost:8080", True),
        ("http://rankloop:8080", True),
        ("http://10.0.0.7:8080", True),
        ("http://[::1]:8080", True),
        ("https://rankloop.svc.cluster.local", True),
        ("https://rankloop.example.com", False),
        ("https://93.184.216.34", False),
    ],
)
def test_ml_commons_may_call_private_addresses_only_where_the_service_has_one(url, private):
    settings = trust(connection(url=url))["persistent"]
    assert settings.get("plugins.ml_commons.connector.private_ip_enabled", False) is private


def test_what_a_pipeline_leaves_behind_is_said():
    said = left_behind("opensearch", connection())
    assert said == [
        "the pipeline does not send title, meaning: it sees what is stored with documents; send hits to /rescore if "
        "you need them, or leave these features out",
        "the pipeline does not send what was searched for, so nothing is learned or counted by query; give "
        "--query-path, such as $._request.query.multi_match.query",
    ]
    assert left_behind("opensearch", connection("price", query_path="$._request.query.match.name.query")) == []
    assert left_behind("elasticsearch", connection()) == []
    assert left_behind("opensearch", connection("title=match:name")) == []  # no pipeline is written


def test_the_pipeline_brings_the_engines_score_along_and_sorts_by_the_model():
    first, inference, last = pipeline(connection())["response_processors"]
    assert first["rerank"]["by_field"] == {"target_field": "price", "keep_previous_score": True}
    called = inference["ml_inference"]
    assert called["input_map"] == [
        {"id": "sku", "price": "price", "stars": "reviews.stars", "engine_score": "previous_score"}
    ]
    assert called["output_map"] == [{"rankloop_score": "$.scores", "rankloop_impression": "$.impression"}]
    assert (called["function_name"], called["one_to_one"], called["ignore_failure"]) == ("remote", False, True)
    assert last["rerank"]["by_field"]["target_field"] == "rankloop_score"
    without = pipeline(connection("price", query_path="$._request.query.match.name.query"))["response_processors"]
    assert len(without) == 2
    assert without[0]["ml_inference"]["input_map"][0]["query"] == "$._request.query.match.name.query"


def test_the_connector_sends_every_parameter_of_the_pipeline_and_no_other():
    for path in (None, "$._request.query.match.name.query"):
        given = connection(query_path=path)
        [action] = connector(given)["actions"]
        [inputs] = pipeline(given)["response_processors"][1]["ml_inference"]["input_map"]
        assert set(re.findall(r"\$\{parameters\.(\w+)\}", action["request_body"])) == set(inputs)
        assert action["url"] == "http://rankloop:8080/v1/models/shop/rescore"
        assert action["headers"]["authorization"] == "Bearer ${credential.key}"
        assert set(connector(given)) == {"name", "description", "version", "protocol", "credential", "actions"}
        pattern = trust(given)["persistent"]["plugins.ml_commons.trusted_connector_endpoints_regex"]
        assert re.fullmatch(pattern[0], action["url"])
        assert not re.fullmatch(pattern[0], "http://rankloop:80801/v1/models/shop/rescore")


def test_the_model_starts_in_the_engines_order_by_its_score_or_by_places():
    import msgspec

    settings = msgspec.convert(live_model(connection()), ModelSettings)
    assert (settings.names[0], settings.start.feature, settings.missing) == ("_score", "_score", 0.0)
    without = msgspec.convert(live_model(connection("price")), ModelSettings)
    assert (without.names, without.sent, without.start.feature) == (("price", "_incoming"), ("price",), None)


def test_the_engines_score_may_have_a_name_of_its_own():
    import msgspec

    named = connection("bm25=_score", "price")
    settings = msgspec.convert(live_model(named), ModelSettings)
    assert (settings.sent, settings.start.feature) == (("bm25", "price"), "bm25")
    # The service knows the engine's score as _score, whatever the model calls it.
    plain = connection("_score", "price")
    assert (connector(named), pipeline(named), search(named)) == (connector(plain), pipeline(plain), search(plain))
    assert [feature["name"] for feature in feature_set(named)["featureset"]["features"]] == ["price"]


def test_elasticsearch_has_no_pipeline_and_a_pipeline_needs_numbers_of_documents():
    assert list(connection_files("elasticsearch", connection()))[-1] == "3-search.json"
    assert list(connection_files("opensearch", connection()))[-1] == "7-pipeline.json"
    assert list(connection_files("opensearch", connection("title=match:name")))[-1] == "3-search.json"
    assert "2-feature-set.json" not in connection_files("opensearch", connection("_score", "m=knn:v"))
    for name, file in connection_files("opensearch", connection()).items():
        assert set(file) == {"request", "body"}, name
        assert re.match(r"(GET|POST|PUT) \S+$", file["request"]), name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"features": ["title=text:name"]}, "a feature is a name, or a name and where it is from"),
        ({"features": ["price", "price=field:net"]}, "give each feature once"),
        ({"features": ["_score", "bm25=_score"]}, "the engine has one score of its own; got it as _score and bm25"),
        ({"features": ["engine_score", "bm25=_score"]}, 'would stand in the same place as "the engine\'s own score"'),
        ({"features": ["bm25=_score", "_score=field:y"]}, "would stand in the same place as"),
        ({"features": ["a.b", "a_b"]}, "'a_b' would stand in the same place as 'a.b'"),
        ({"features": ["id"]}, "'id' would stand in the same place as \"the document's id\""),
        ({"features": ["query=field:q"]}, "call the feature something else, such as my_query=field:q"),
        ({"features": ["bm25=score:title"]}, "a feature is a name, or a name and where it is from"),
        ({"features": ["price="]}, "a feature is a name, or a name and where it is from"),
        ({"id_field": " "}, "--id-field names the field that holds document ids, such as sku; got ' '"),
        ({"query_path": ""}, "--query-path is such as $._request.query.multi_match.query; got ''"),
        ({"model": "a/b"}, "a model's name is"),
        ({"url": "rankloop:8080"}, "the service's address is such as http://rankloop:8080; got 'rankloop:8080'"),
    ],
)
def test_a_mistake_is_a_sentence(given, said):
    with pytest.raises(SettingsError) as refused:
        Connection.of(**{"model": "shop", "url": "http://r:1", "features": ["price"], "id_field": "id",
                         "query_path": None} | given)  # fmt: skip
    assert said in str(refused.value)
    with pytest.raises(SettingsError, match="the engine is opensearch or elasticsearch; got 'solr'"):
        connection_files("solr", connection())


def test_a_feature_is_a_number_of_the_document_unless_it_says_otherwise():
    assert Feature.parsed("price") == ("price", "field", "price")
    assert Feature.parsed("_score") == ("_score", "score", "_score")
