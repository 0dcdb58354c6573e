"""A model is what it says, comes back from JSON to the bit, and is refused where it makes no sense."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.errors import DataError, SettingsError
from rankloop.interchange import (
    LinearModel,
    NeuralModel,
    Ranker,
    elasticsearch_model,
    export_model,
    load_model,
    load_ranker,
    model_text,
    save_ranker,
)
from rankloop.rankers import MLP


def test_folding_drops_nothing_but_the_constant():
    model = LinearModel(weights=(2.0, -1.0), shift=(8.0, 1.0), spread=(4.0, 0.5))
    weights, constant = model.folded()
    X = np.arange(10.0).reshape(5, 2)
    assert (X @ weights + constant == model.scores(X)).all()
    assert json.loads(elasticsearch_model(model, fold=True)["model"]["model"]["definition"]) == {"f1": 0.5, "f2": -2.0}


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
        ({"scaling": {"kind": "fixed", "shift": [1.0], "spread": [10**400]}}, "must be a finite number"),
        ({"weights": [10**400]}, "must be a finite number"),
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


# Networks


def network(**more) -> NeuralModel:
    shape = more.pop("network", MLP(hidden=(4, 3)))
    weights = np.random.default_rng(8).normal(size=shape.count(2))
    return NeuralModel(network=shape, weights=tuple(weights.tolist()), feature_names=("a", "b"), **more)


SCALINGS = [{}, {"shift": (3.0, 1.0), "spread": (2.0, 0.0)}, {"per_query": True}]


@pytest.mark.parametrize("scaling", SCALINGS, ids=["none", "fixed", "per query"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_network_comes_back_to_the_bit(scaling, activation, tmp_path):
    model = network(network=MLP(hidden=(4, 3), activation=activation), **scaling)
    (tmp_path / "model.json").write_text(model_text(model))
    assert load_model(tmp_path / "model.json") == model


def test_a_networks_scores_are_those_of_scaled_features():
    X = np.random.default_rng(9).normal(size=(5, 2))
    scaled = np.stack([(X[:, 0] - 3.0) / 2.0, np.zeros(5)], axis=1)
    model = network(shift=(3.0, 1.0), spread=(2.0, 0.0))
    assert model.scores(X) == pytest.approx(model.network.scores(model.weights, scaled))
    assert network(per_query=True).scores([[1.0, 5.0], [2.0, 5.0]]) == pytest.approx(
        model.network.scores(model.weights, [[0.0, 0.0], [1.0, 0.0]])
    )


def test_a_network_with_other_counts_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"NeuralModel: MLP\(.*\) has 26 weights on one feature.*; got 5"):
        NeuralModel(network=MLP(hidden=(4, 3)), weights=(1.0,) * 5)
    with pytest.raises(SettingsError, match="one text per feature; got 1 for 2"):
        NeuralModel(network=MLP(hidden=(4,)), weights=(1.0,) * 16, feature_names=("a",))
    document = json.loads(model_text(network())) | {"ranker": {"kind": "mlp", "hidden": [5]}}
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="the counts do not agree"):
        load_model(tmp_path / "model.json")
    (tmp_path / "model.json").write_text(json.dumps(document | {"ranker": None}))
    with pytest.raises(DataError, match="there must be its shape"):
        load_model(tmp_path / "model.json")
