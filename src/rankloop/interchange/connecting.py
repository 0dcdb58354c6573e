"""What a search engine needs to re-rank with a live model, as the bodies of requests to it and to rankloop.

Shapes as the engines' documentation has them; no engine was run:
- https://docs.opensearch.org/latest/search-plugins/ltr/working-with-features/ and …/logging-features/
- https://docs.opensearch.org/latest/ml-commons-plugin/remote-models/blueprints/
- https://docs.opensearch.org/latest/search-plugins/search-pipelines/ml-inference-search-response/
- https://docs.opensearch.org/latest/search-plugins/search-relevance/rerank-by-field/
- https://www.elastic.co/docs/reference/query-languages/query-dsl/query-dsl-knn-query

`ml_inference` sees what is in `_source`, and nothing else of a hit. The engine's score gets there as `previous_score`,
which `rerank` by a field leaves behind: so a first `rerank` sorts by anything, and the last one by the model.
"""

import re
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rankloop.errors import SettingsError
from rankloop.settings import NAME

SCORE = "_score"
KINDS = ("field", "match", "knn", "score")
RANK_SCORE, IMPRESSION = "rankloop_score", "rankloop_impression"
LOGGED = "rankloop_features"
DEEP = 100
"""Hits that a search asks for, to be ranked anew."""


class Feature(NamedTuple):
    """A feature and where the engine has it: a document's number, the text score of a field, a vector's, or the score
    that the engine itself sorts by."""

    name: str
    kind: str
    field: str

    @classmethod
    def parsed(cls, text: str) -> "Feature":
        """`price`, `price=field:net_price`, `title=match:title`, `meaning=knn:embedding`, `_score` or `bm25=_score`.

        >>> Feature.parsed("title=match:name"), Feature.parsed("bm25=_score")
        (Feature(name='title', kind='match', field='name'), Feature(name='bm25', kind='score', field='_score'))
        """
        name, named, source = text.partition("=")
        if SCORE in (source, text):
            kind, field = "score", SCORE
        else:
            kind, _, field = source.partition(":") if named else ("field", "", name)
        if (
            kind not in KINDS
            or (kind == "score") != (field == SCORE)
            or not field
            or not re.fullmatch(r"[A-Za-z_][\w.]*", name)
        ):
            raise SettingsError(
                f"connect: a feature is a name, or a name and where it is from, such as price, price=field:net_price, "
                f"title=match:title, meaning=knn:embedding or bm25=_score; got {text!r}"
            )
        return cls(name, kind, field)


class Connection(NamedTuple):
    """What is connected: which model at which address, for which features."""

    model: str
    url: str
    features: tuple[Feature, ...]
    id_field: str = "id"
    query_path: str | None = None

    @classmethod
    def of(cls, model: str, url: str, features: list[str], id_field: str, query_path: str | None) -> "Connection":
        """Checked: a name that can be part of an address, and each feature once."""
        if not NAME.fullmatch(model):
            raise SettingsError(f"connect: a model's name is letters, digits, dots, dashes, underscores; got {model!r}")
        if not re.match(r"https?://[^/\s]+$", url.rstrip("/")):
            raise SettingsError(f"connect: the service's address is such as http://rankloop:8080; got {url!r}")
        if not id_field.strip():
            raise SettingsError(
                f"connect: --id-field names the field that holds document ids, such as sku; got {id_field!r}"
            )
        if query_path is not None and not query_path.strip():
            raise SettingsError(
                f"connect: --query-path is such as $._request.query.multi_match.query; got {query_path!r}"
            )
        parsed = tuple(Feature.parsed(text) for text in features)
        names = [feature.name for feature in parsed]
        if not names or len(set(names)) < len(names):
            raise SettingsError(f"connect: give each feature once, at least one; got {', '.join(names) or 'none'}")
        if len(twice := [feature.name for feature in parsed if feature.kind == "score"]) > 1:
            raise SettingsError(f"connect: the engine has one score of its own; got it as {' and '.join(twice)}")
        taken = {"id": "the document's id", "query": "the query", _parameter(SCORE): "the engine's own score"}
        for feature in (one for one in parsed if one.kind != "score"):
            other = taken.setdefault(_parameter(feature.name), feature.name)
            if other != feature.name:
                raise SettingsError(
                    f"connect: {feature.name!r} would stand in the same place as {other!r} of what the engine sends; "
                    f"call the feature something else, such as my_{_parameter(feature.name)}=field:{feature.field}"
                )
        return cls(model, url.rstrip("/"), parsed, id_field, query_path)

    def kind(self, *kinds: str) -> list[Feature]:
        """The features of some kinds."""
        return [feature for feature in self.features if feature.kind in kinds]


def connection_files(engine: str, connection: Connection) -> dict[str, Any]:
    """Files by name, in the order in which they are sent, each a request: {"request": "POST …", "body": {…}}."""
    if engine not in ("opensearch", "elasticsearch"):
        raise SettingsError(f"connect: the engine is opensearch or elasticsearch; got {engine!r}")
    files = {"1-rankloop-model.json": _request(f"POST {connection.url}/v1/models", live_model(connection))}
    if connection.kind("field", "match"):
        files["2-feature-set.json"] = _request(f"POST _ltr/_featureset/{connection.model}", feature_set(connection))
    found = search(connection, engine)
    files["3-search.json"] = _request("GET <index>/_search?include_named_queries_score=true", found)
    if _has_pipeline(engine, connection):
        files["4-trust.json"] = _request("PUT _cluster/settings", trust(connection))
        files["5-connector.json"] = _request("POST _plugins/_ml/connectors/_create", connector(connection))
        register = {
            "name": f"rankloop {connection.model}",
            "function_name": "remote",
            "connector_id": "<connector_id of 5>",
        }
        files["6-model.json"] = _request("POST _plugins/_ml/models/_register?deploy=true", register)
        address = f"PUT _search/pipeline/rankloop-{connection.model}"
        files["7-pipeline.json"] = _request(address, pipeline(connection))
    return files


def left_behind(engine: str, connection: Connection) -> list[str]:
    """What the pipeline cannot or does not send, in sentences; nothing where none is written."""
    if not _has_pipeline(engine, connection):
        return []
    said = []
    if unsent := [feature.name for feature in connection.kind("match", "knn")]:
        said.append(
            f"the pipeline does not send {', '.join(unsent)}: it sees what is stored with documents; send hits to "
            f"/rescore if you need them, or leave these features out"
        )
    if connection.query_path is None:
        said.append(
            "the pipeline does not send what was searched for, so nothing is learned or counted by query; give "
            "--query-path, such as $._request.query.multi_match.query"
        )
    return said


def _has_pipeline(engine: str, connection: Connection) -> bool:
    """Elasticsearch has none that calls out, and one without a number of the documents would have nothing to send."""
    return engine == "opensearch" and bool(connection.kind("field"))


def _request(request: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"request": request, "body": body}


def live_model(connection: Connection) -> dict[str, Any]:
    """The settings of the live model, which starts in the engine's order: by its score, or by where hits stand. A named
    query that does not match has no score, which counts as 0."""
    names = [feature.name for feature in connection.features]
    scores = connection.kind("score")
    start = {"from": "incoming", "feature": scores[0].name} if scores else "incoming"
    return {"name": connection.model, "features": names, "missing": 0.0, "start": start}


def feature_set(connection: Connection) -> dict[str, Any]:
    """The plugins' feature set: text scores and documents' numbers; vectors are asked for as named queries."""
    made = []
    for feature in connection.kind("field", "match"):
        if feature.kind == "match":
            template: dict[str, Any] = {"match": {feature.field: "{{keywords}}"}}
        else:
            factor = {"field_value_factor": {"field": feature.field, "missing": 0}}
            template = {"function_score": {"query": {"match_all": {}}, "functions": [factor]}}
        params = ["keywords"] if feature.kind == "match" else []
        made.append({"name": feature.name, "params": params, "template_language": "mustache", "template": template})
    return {"featureset": {"name": connection.model, "features": made}}


def search(connection: Connection, engine: str = "opensearch") -> dict[str, Any]:
    """A search whose hits carry all features: logged by the plugin, or as scores of named queries."""
    fields = [feature.field for feature in connection.kind("match")] or ["<text field>"]
    text: dict[str, Any] = {"multi_match": {"query": "<what was searched for>", "fields": fields}}
    vectors = [{"knn": _nearest(feature, engine)} for feature in connection.kind("knn")]
    query: dict[str, Any] = {"should": [text, *vectors], "minimum_should_match": 1}
    if not connection.kind("field", "match"):
        return {"size": DEEP, "query": {"bool": query}}
    logged = {"_name": LOGGED, "featureset": connection.model, "params": {"keywords": "<what was searched for>"}}
    query["filter"] = [{"sltr": logged}]
    specs = {"name": connection.model, "named_query": LOGGED, "missing_as_zero": True}
    return {"size": DEEP, "query": {"bool": query}, "ext": {"ltr_log": {"log_specs": specs}}}


def _nearest(feature: Feature, engine: str) -> dict[str, Any]:
    """A vector query with a name, as the engine writes one."""
    vector = "<vector of the query>"
    if engine == "elasticsearch":
        return {"field": feature.field, "query_vector": vector, "num_candidates": DEEP, "_name": feature.name}
    return {feature.field: {"vector": vector, "k": DEEP, "_name": feature.name}}


def trust(connection: Connection) -> dict[str, Any]:
    """The cluster settings that let ML Commons call this service; private addresses it calls only if told to."""
    address = "^" + re.escape(connection.url) + "/.*$"
    settings: dict[str, Any] = {"plugins.ml_commons.trusted_connector_endpoints_regex": [address]}
    if _is_private(connection.url):
        settings["plugins.ml_commons.connector.private_ip_enabled"] = True
    return {"persistent": settings}


def _is_private(url: str) -> bool:
    """Whether an address is one of a private network, as far as its name tells."""
    host = urlsplit(url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def connector(connection: Connection) -> dict[str, Any]:
    """ML Commons' connector: one call with all documents of a search."""
    columns = {"id": "id", **{name: name for name in _columns(connection)}}
    # Lists are put in as JSON by ML Commons: the body is a template, and only then JSON.
    documents = ", ".join(f'"{name}": ${{parameters.{_parameter(name)}}}' for name in columns)
    query = ', "query": ${parameters.query}' if connection.query_path else ""
    action = {
        "action_type": "predict",
        "method": "POST",
        "url": f"{connection.url}/v1/models/{connection.model}/rescore",
        "headers": {"content-type": "application/json", "authorization": "Bearer ${credential.key}"},
        "request_body": f'{{"documents": {{{documents}}}{query}}}',
    }
    return {
        "name": f"rankloop {connection.model}",
        "description": "A live model that learns from clicks.",
        "version": 1,
        "protocol": "http",
        "credential": {"key": "<a key with the scope rank: rankloop keys create opensearch --scope rank>"},
        "actions": [action],
    }


def pipeline(connection: Connection) -> dict[str, Any]:
    """The search pipeline: the engine's score as a field, one call to the model, and its order."""
    numbers = connection.kind("field")
    inputs = {"id": connection.id_field, **{_parameter(f.name): f.field for f in numbers}}
    first: list[dict[str, Any]] = []
    if connection.kind("score"):
        inputs[_parameter(SCORE)] = "previous_score"
        kept = {"target_field": numbers[0].field, "keep_previous_score": True}
        first = [{"rerank": {"by_field": kept, "ignore_failure": True}}]
    if connection.query_path:
        inputs["query"] = connection.query_path
    inference = {
        "model_id": "<model_id of 6>",
        "function_name": "remote",
        "input_map": [inputs],
        "output_map": [{RANK_SCORE: "$.scores", IMPRESSION: "$.impression"}],
        "one_to_one": False,
        "ignore_failure": True,
    }
    last = {"rerank": {"by_field": {"target_field": RANK_SCORE, "remove_target_field": True}, "ignore_failure": True}}
    return {
        "description": f"Re-ranks with rankloop's live model {connection.model}",
        "response_processors": [*first, {"ml_inference": inference}, last],
    }


def _columns(connection: Connection) -> list[str]:
    names = [feature.name for feature in connection.kind("field")]
    return [*names, SCORE] if connection.kind("score") else names


def _parameter(name: str) -> str:
    """A parameter of ML Commons has a plain name."""
    return "engine_score" if name == SCORE else name.replace(".", "_")
