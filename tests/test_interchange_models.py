"""An exported model ranks in the other system as it does here; what could not is refused."""

import builtins
import json
import sys

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.errors import DataError, SettingsError
from rankloop.interchange import (
    EXPORT_FORMATS,
    LinearModel,
    Ranker,
    elasticsearch_model,
    export_model,
    load_model,
    load_ranker,
    model_text,
    onnx_model,
    save_ranker,
    solr_model,
)

ENGINES = ("elasticsearch", "solr", "onnx", "elasticsearch folded", "solr folded")
SINGLE = np.float32


def elasticsearch_scores(body, feature_set, X):
    """What the plugin does, from its documentation: parse by name, normalise in place, dot product, all in floats."""
    ranker = body["model"]["model"]
    assert ranker["type"] == "model/linear"
    weights, values = np.zeros(len(feature_set), SINGLE), X.astype(SINGLE)
    for name, weight in json.loads(ranker["definition"]).items():
        weights[feature_set.index(name)] = weight
    for name, kinds in ranker.get("feature_normalizers", {}).items():
        ((kind, numbers),) = kinds.items()
        assert kind == "standard"
        assert SINGLE(numbers["standard_deviation"]) > 0  # the plugin refuses any other
        ordinal = feature_set.index(name)
        values[:, ordinal] = (values[:, ordinal] - SINGLE(numbers["mean"])) / SINGLE(numbers["standard_deviation"])
    return dot(values, weights)


def solr_scores(body, feature_store, X):
    """What LinearModel does, from its documentation: a weight for every feature, a normaliser where one is named."""
    assert body["class"] == "org.apache.solr.ltr.model.LinearModel"
    columns, weights = [], []
    for feature in body["features"]:
        column = X[:, feature_store.index(feature["name"])].astype(SINGLE)
        if "norm" in feature:
            assert feature["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
            numbers = {name: SINGLE(text) for name, text in feature["norm"]["params"].items()}
            assert all(isinstance(text, str) for text in feature["norm"]["params"].values())
            assert numbers["std"] > 0  # Solr refuses any other
            column = (column - numbers["avg"]) / numbers["std"]
        columns.append(column)
        weights.append(SINGLE(body["params"]["weights"][feature["name"]]))
    return dot(np.stack(columns, axis=1), np.array(weights))


def dot(values, weights):
    total = np.zeros(len(values), SINGLE)
    for j in range(len(weights)):
        total += values[:, j] * weights[j]
    return total


def onnx_scores(content, X):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"features": X.astype(SINGLE)})
    return scores


def foreign_scores(engine, model, X):
    # The engine's own order of features is not ours: weights must travel by name.
    theirs = sorted(model.feature_names)
    raw = X[:, [model.feature_names.index(name) for name in theirs]]
    fold = engine.endswith("folded")
    if engine.startswith("elasticsearch"):
        return elasticsearch_scores(json.loads(json.dumps(elasticsearch_model(model, fold=fold))), theirs, raw)
    if engine.startswith("solr"):
        return solr_scores(json.loads(json.dumps(solr_model(model, fold=fold))), theirs, raw)
    return onnx_scores(onnx_model(model), X)


def assert_same_ranking(model, X, scores, folded):
    """Equal scores up to one constant and to what rounding n products in single precision can do."""
    exact = model.scores(X)
    shift, spread = np.array(model.shift or [0.0] * X.shape[1]), np.array(model.spread or [1.0] * X.shape[1])
    scale = np.where(spread > 0, np.abs(np.array(model.weights)) / np.where(spread > 0, spread, 1.0), 0.0)
    moved = np.abs(X) if folded else np.abs(X - shift) + np.abs(shift) * 2**-23
    tolerance = 4 * (len(shift) + 2) * 2.0**-24 * float((moved @ scale).max(initial=0.0)) + 1e-36
    difference = scores.astype(np.float64) - exact
    assert np.ptp(difference) <= 2 * tolerance
    order = np.argsort(-scores, kind="stable")
    assert (np.diff(exact[order]) <= 2 * tolerance).all(), "documents change places by more than rounding can explain"


numbers = st.floats(-100, 100, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3)


@st.composite
def models(draw):
    features = draw(st.integers(1, 6))
    names = draw(st.permutations([f"feature {j}" for j in range(features)]))
    listed = {"min_size": features, "max_size": features}
    weights = draw(st.lists(numbers, **listed))
    if draw(st.booleans()):
        return LinearModel(weights=weights, feature_names=names)
    spread = draw(st.lists(st.one_of(st.just(0.0), st.floats(0.1, 1000)), **listed))
    return LinearModel(weights=weights, feature_names=names, shift=draw(st.lists(numbers, **listed)), spread=spread)


@pytest.mark.parametrize("engine", ENGINES)
@given(model=models(), seed=st.integers(0, 2**32 - 1))
def test_every_engine_ranks_as_the_model_does(engine, model, seed):
    draws = np.random.default_rng(seed)
    spread = np.array(model.spread or [10.0] * len(model.weights))
    raw = draws.normal(size=(30, len(model.weights))) * spread + (model.shift or 0.0)
    X = raw.astype(SINGLE).astype(np.float64)
    folded = engine.endswith("folded")
    if folded and np.abs(model.folded()[0] * (model.shift or 0.0)).sum() > 4096 * np.abs(model.weights).max():
        with pytest.raises(SettingsError, match="folded weights would lose the ranking"):
            foreign_scores(engine, model, X)
    else:
        assert_same_ranking(model, X, foreign_scores(engine, model, X), folded)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_model_is_ranked_exactly(engine):
    """Numbers that single precision holds exactly: not even rounding is an excuse."""
    model = LinearModel(weights=(2.0, -1.0, 4.0), feature_names=("b", "a", "c"), shift=(8, 0, 3), spread=(4, 0.5, 0))
    X = np.array([[8, 1, 9], [16, 0, 1], [0, -2, 5], [4, 4, 4]], float)
    constant = 4.0 if engine.endswith("folded") else 0.0
    assert (foreign_scores(engine, model, X) - constant == model.scores(X)).all()
    assert model.scores(X).tolist() == [-2.0, 4.0, 0.0, -10.0]


def test_folding_drops_nothing_but_the_constant():
    model = LinearModel(weights=(2.0, -1.0), shift=(8.0, 1.0), spread=(4.0, 0.5))
    weights, constant = model.folded()
    X = np.arange(10.0).reshape(5, 2)
    assert (X @ weights + constant == model.scores(X)).all()
    assert json.loads(elasticsearch_model(model, fold=True)["model"]["model"]["definition"]) == {"f1": 0.5, "f2": -2.0}


def test_features_far_from_zero_keep_their_order_with_normalisers_and_are_refused_folded():
    """Timestamps: in seconds since 1970, a day apart; single precision resolves 128 s there."""
    model = LinearModel(weights=(1.0, 1.0), feature_names=("bm25", "time"), shift=(0, 1.7e9), spread=(1, 86400))
    X = np.array([[0.0, 1.7e9], [0.5, 1.7e9 - 864 * 40], [0.0, 1.7e9 + 86400 * 3]]).astype(SINGLE).astype(float)
    for engine in ("elasticsearch", "solr", "onnx"):
        assert np.argsort(foreign_scores(engine, model, X)).tolist() == np.argsort(model.scores(X)).tolist()
    for export in (elasticsearch_model, solr_model):
        with pytest.raises(SettingsError, match=r"'time' lies so far from 0.*without folding"):
            export(model, fold=True)


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch", "solr", "onnx"])
def test_a_scaling_per_query_is_refused_with_the_way_out(form):
    model = LinearModel(weights=(1.0,), per_query=True)
    with pytest.raises(SettingsError, match=r"per query.*scaling 'running', freeze it, and replay the log into it"):
        export_model(model, form)


def test_a_constant_feature_contributes_nothing_anywhere():
    model = LinearModel(weights=(3.0, 1.0), shift=(5.0, 0.0), spread=(0.0, 1.0))
    body = elasticsearch_model(model)["model"]["model"]
    assert json.loads(body["definition"]) == {"f1": 0.0, "f2": 1.0}
    assert list(body["feature_normalizers"]) == ["f2"]
    X = np.array([[5.0, 1.0], [7.0, 0.0]])
    assert model.scores(X).tolist() == onnx_scores(onnx_model(model), X).tolist() == [1.0, 0.0]


BAD_NAMES = {"empty": "", "blank at the end": "a ", "line end": "a\nb", "surrogate": "a\udc80", "invisible": "a\u200b"}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
@pytest.mark.parametrize("export", [elasticsearch_model, solr_model])
def test_names_that_cannot_identify_a_feature_are_refused(export, name):
    with pytest.raises(SettingsError, match="a feature's name must"):
        export(LinearModel(weights=(1.0, 2.0), feature_names=("ok", name)))


@pytest.mark.parametrize("export", [elasticsearch_model, solr_model])
def test_two_features_of_one_name_are_refused_where_weights_go_by_name(export):
    model = LinearModel(weights=(1.0, 2.0), feature_names=("a", "a"))
    with pytest.raises(SettingsError, match="two features are named 'a'"):
        export(model)
    assert onnx_scores(onnx_model(model), np.array([[1.0, 1.0]])).tolist() == [3.0]  # ONNX goes by position


def test_solr_could_not_log_a_feature_with_a_separator_in_its_name():
    for name in ("a=b", "a,b"):
        model = LinearModel(weights=(1.0,), feature_names=(name,))
        with pytest.raises(SettingsError, match="must not contain"):
            solr_model(model)
        assert json.loads(elasticsearch_model(model)["model"]["model"]["definition"]) == {name: 1.0}


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
def test_any_name_either_arrives_unchanged_or_is_refused(names):
    model = LinearModel(weights=range(len(names)), feature_names=names)
    for form in ("elasticsearch", "solr"):
        try:
            body = json.loads(export_model(model, form).decode("utf-8"))
        except SettingsError:
            continue
        weights = json.loads(body["model"]["model"]["definition"]) if "model" in body else body["params"]["weights"]
        assert weights == dict(zip(names, map(float, range(len(names))), strict=True))
    content = onnx_model(model)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == names
    assert json.loads(export_model(model, "json"))["feature_names"] == names


@pytest.mark.parametrize("name", ["a b", "a/b", "-a", ".a", "ä", "a}"])
@pytest.mark.parametrize("export", [elasticsearch_model, solr_model])
def test_model_names_must_fit_a_url(export, name):
    with pytest.raises(SettingsError, match="name stands in URLs"):
        export(LinearModel(weights=(1.0,), name=name))


@pytest.mark.parametrize("form", ["elasticsearch", "solr", "onnx"])
@pytest.mark.parametrize(
    "numbers",
    [
        {"weights": (1e39,)},
        {"weights": (1e-42,)},
        {"weights": (1.0,), "shift": (1e300,), "spread": (1.0,)},
        {"weights": (1.0,), "shift": (0.0,), "spread": (1e300,)},
        {"weights": (1.0,), "shift": (0.0,), "spread": (1e-300,)},
    ],
    ids=["weight too large", "weight too small", "shift", "spread too large", "spread too small"],
)
def test_numbers_that_single_precision_cannot_hold_are_refused(form, numbers):
    with pytest.raises(SettingsError, match="single precision"):
        export_model(LinearModel(**numbers), form)


def test_a_weight_that_no_score_would_show_does_not_stand_in_the_way():
    model = LinearModel(weights=(1.0, 1e-60))
    X = np.array([[1.0, 3.0], [2.0, -5.0]])
    for engine in ENGINES:
        assert foreign_scores(engine, model, X).tolist() == [1.0, 2.0]


def test_elasticsearch_holds_ten_thousand_features():
    elasticsearch_model(LinearModel(weights=[1.0] * 10_000))
    with pytest.raises(SettingsError, match="at most 10,000 features; got 10,001"):
        elasticsearch_model(LinearModel(weights=[1.0] * 10_001))


def test_solr_is_told_the_feature_store():
    model = LinearModel(weights=(1.0,))
    assert "store" not in solr_model(model)
    assert solr_model(model, store="shop")["store"] == "shop"
    with pytest.raises(SettingsError, match="name of a feature store"):
        solr_model(model, store=" ")


def test_without_onnx_the_sentence_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.partition(".")[0] == "onnx":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnx"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SettingsError, match=r"pip install 'rankloop\[onnx\]'"):
        onnx_model(LinearModel(weights=(1.0,)))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"weights": ()}, "at least one"),
        ({"weights": (1.0, float("nan"))}, r"weights\[1\] must be a finite number"),
        ({"weights": (1.0,), "feature_names": ("a", "b")}, "one text per weight"),
        ({"weights": (1.0,), "feature_names": (7,)}, "one text per weight"),
        ({"weights": (1.0,), "shift": (0.0,)}, "come together"),
        ({"weights": (1.0,), "shift": (0.0,), "spread": (1.0, 1.0)}, r"one number per feature \(1\); got 1 and 2"),
        ({"weights": (1.0,), "shift": (0.0,), "spread": (-1.0,)}, "must not be negative; got -1.0"),
        ({"weights": (1.0,), "shift": (float("inf"),), "spread": (1.0,)}, r"shift\[0\] must be a finite number"),
        ({"weights": (1.0,), "shift": (0.0,), "spread": (1.0,), "per_query": True}, "got both"),
        ({"weights": (1.0,), "name": ""}, "name must be non-empty text"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused(wrong, sentence):
    with pytest.raises(SettingsError, match=sentence):
        LinearModel(**wrong)


def test_per_query_scores_are_those_of_the_paper():
    model = LinearModel(weights=(1.0, 10.0), per_query=True)
    assert model.scores([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]).tolist() == [0.0, 1.0, 0.5]
    with pytest.raises(SettingsError, match="cannot be folded"):
        model.folded()
    with pytest.raises(SettingsError, match="2 features; got shape"):
        model.scores([[1.0]])


doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(doubles, min_size=n, max_size=n)] * 3)),
    st.sampled_from(["none", "fixed", "query"]),
    st.text(min_size=1).filter(lambda text: text.isprintable()),
)
def test_a_model_comes_back_from_json_to_the_bit(tmp_path_factory, lists, kind, name):
    weights, shift, spread = lists
    scaling = {"fixed": {"shift": shift, "spread": np.abs(spread)}, "query": {"per_query": True}, "none": {}}[kind]
    model = LinearModel(weights=weights, name=name, **scaling)
    path = tmp_path_factory.mktemp("model") / "model.json"
    path.write_bytes(export_model(model, "json"))
    assert load_model(path) == model
    assert repr(load_model(path)) == repr(model)  # −0.0 equals 0.0, but is not written like it


def test_rankers_of_before_are_models_without_scaling(tmp_path):
    path = save_ranker(tmp_path / "ranker.json", [0.1, -2.0], feature_names=["bm25", "length"])
    assert load_model(path) == LinearModel(weights=(0.1, -2.0), feature_names=("bm25", "length"))
    path.write_text(model_text(LinearModel(weights=(0.5,), name="shop"), settings={"seed": 1}))
    assert load_ranker(path) == Ranker(weights=(0.5,), settings={"seed": 1})
    assert LinearModel.of(load_ranker(path), per_query=True).per_query


def test_a_reader_that_does_not_scale_refuses_a_model_that_does(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(model_text(LinearModel(weights=(0.5,), shift=(1.0,), spread=(2.0,))))
    with pytest.raises(DataError, match=r"version 2.*read it with load_model"):
        load_ranker(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 3}, "format version 3"),
        ({"version": True}, "format version True"),
        ({"version": 1}, "a scaling makes it version 2"),
        ({"scaling": None}, "scaling must be of kind"),
        ({"scaling": {"kind": "fixed", "shift": [1.0]}}, "scaling must be of kind"),
        ({"scaling": {"kind": "fixed", "shift": [1.0], "spread": "1"}}, "spread must be a list"),
        ({"scaling": {"kind": "fixed", "shift": [1.0], "spread": [10**400]}}, "too large for a double"),
        ({"weights": [10**400]}, "too large for a double"),
        ({"name": 7}, "name must be non-empty text"),
        ({"features": 2}, "counts do not agree"),
    ],
)
def test_a_damaged_model_is_refused_with_the_file_named(tmp_path, change, sentence):
    document = json.loads(model_text(LinearModel(weights=(0.5,), shift=(1.0,), spread=(2.0,))))
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document | change))
    with pytest.raises(DataError, match=f"model.json: .*{sentence}"):
        load_model(path)


def test_every_format_has_an_export_and_others_are_refused():
    model = LinearModel(weights=(1.0,))
    assert export_model(model, "elasticsearch") == export_model(model, "opensearch")
    assert all(isinstance(export_model(model, form), bytes) for form in EXPORT_FORMATS)
    with pytest.raises(SettingsError, match="format must be one of"):
        export_model(model, "pmml")
