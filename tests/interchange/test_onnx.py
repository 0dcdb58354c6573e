"""What a runtime for ONNX is given."""

import builtins
import sys

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.interchange import (
    LinearModel,
    NeuralModel,
    onnx_model,
)
from rankloop.rankers import MLP

from .foreign import onnx_scores


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


def test_the_shift_of_a_feature_that_says_nothing_is_left_out():
    """Single precision could not hold it; with a weight of 0 nobody needs it."""
    model = LinearModel(weights=(1.0, 0.0), shift=(2.0, 1e300), spread=(4.0, 1.0))
    X = np.array([[2.0, 5.0], [10.0, -5.0]])
    assert onnx_scores(onnx_model(model), X).tolist() == model.scores(X).tolist() == [0.0, 2.0]


def test_candidates_are_as_many_as_there_are():
    content = onnx_model(LinearModel(weights=(1.0, 2.0)))
    for candidates in (1, 7):
        assert onnx_scores(content, np.ones((candidates, 2))).tolist() == [3.0] * candidates


@pytest.mark.parametrize("scaling", [{}, {"shift": (3.0, 1e9, 7.0), "spread": (2.0, 1e3, 0.0)}], ids=["none", "fixed"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(4,), (16, 5)], ids=str)
def test_a_network_scores_as_it_does_here(hidden, activation, scaling):
    shape = MLP(hidden=hidden, activation=activation)
    draws = np.random.default_rng(4)
    model = NeuralModel(network=shape, weights=tuple(draws.normal(size=shape.count(3)).tolist()), **scaling)
    X = draws.normal(size=(9, 3)) * [2.0, 1e3, 50.0] + [3.0, 1e9 if scaling else 0.0, 7.0]
    X = (X if scaling else draws.normal(size=(9, 3))).astype(np.float32)
    assert onnx_scores(onnx_model(model), X) == pytest.approx(model.scores(X), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("spread", [1e-300, 1e300])
def test_a_spread_that_single_precision_cannot_fold_is_refused(spread):
    model = NeuralModel(network=MLP(hidden=(2,)), weights=(1.0,) * 6, shift=(0.0,), spread=(spread,))
    with pytest.raises(SettingsError, match="cannot hold the weights of feature 'f1' divided by its spread"):
        onnx_model(model)


def test_a_weight_beyond_single_precision_is_refused():
    with pytest.raises(SettingsError, match="a weight of 'rankloop' does not fit single precision"):
        onnx_model(NeuralModel(network=MLP(hidden=(1,)), weights=(1.0, 0.0, 1e39)))
