"""What a runtime for ONNX is given."""

import builtins
import sys

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.interchange import (
    LinearModel,
    onnx_model,
)

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
