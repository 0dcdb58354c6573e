"""A linear model as an ONNX graph, for any runtime that reads ONNX.

    features (candidates, features) float32  →  Sub shift  →  MatMul weight/spread  →  scores (candidates,) float32

The spread is folded into the weights; the shift is subtracted first, because folded into a constant it would cancel
against large scores in single precision. Operators as in the ONNX specification, operator set 17 (2022).
"""

import json
from typing import Any

import numpy as np

from rankloop.errors import SettingsError
from rankloop.interchange.models import LinearModel
from rankloop.interchange.targets import SINGLE, require_one_scaling, require_single

TARGET = "ONNX"
OPERATOR_SET = 17
IR_VERSION = 8


def onnx_model(model: LinearModel) -> bytes:
    """The model as the bytes of an `.onnx` file; needs the extra `onnx`.

    The input `features` is raw, in the order of the metadata entry `feature_names`, a JSON list.
    """
    require_one_scaling(model, TARGET)
    onnx = _onnx()
    make, tensor = onnx.helper, onnx.TensorProto.FLOAT
    weights, _ = model.folded()
    constants = {"weights": require_single(model, TARGET, weights)}
    nodes = []
    source = "features"
    if model.shift is not None:
        # Where the weight is 0 the feature contributes nothing, so its shift may be anything, and is 0.
        constants["shift"] = np.where(weights != 0, model.shift, 0.0)
        if not (np.abs(constants["shift"]) <= SINGLE.max).all():
            raise SettingsError(f"{TARGET}: a shift of {model.name!r} does not fit single precision: {model.shift!r}")
        nodes.append(make.make_node("Sub", ["features", "shift"], ["shifted"]))
        source = "shifted"
    nodes.append(make.make_node("MatMul", [source, "weights"], ["scores"]))
    graph = make.make_graph(
        nodes,
        "rankloop",
        [make.make_tensor_value_info("features", tensor, ["candidates", len(weights)])],
        [make.make_tensor_value_info("scores", tensor, ["candidates"])],
        [onnx.numpy_helper.from_array(values.astype(np.float32), name) for name, values in constants.items()],
    )
    built = make.make_model(
        graph,
        producer_name="rankloop",
        ir_version=IR_VERSION,
        opset_imports=[make.make_opsetid("", OPERATOR_SET)],
    )
    make.set_model_props(
        built, {"name": model.name, "feature_names": json.dumps(model.feature_names, ensure_ascii=True)}
    )
    onnx.checker.check_model(built, full_check=True)
    return bytes(built.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError:
        raise SettingsError("exporting to ONNX needs the onnx package: pip install 'rankloop[onnx]'") from None
    return onnx
