"""A model as an ONNX graph, for any runtime that reads ONNX.

    features (candidates, features) float32  →  Sub shift  →  MatMul weight/spread  →  scores (candidates,) float32

and for a network, after its first MatMul, `Add` and `Relu` or `Tanh`, layer by layer. The spread is folded into the
weights of the features; the shift is subtracted first, because folded into a constant it would cancel against large
scores in single precision. Operators as in the ONNX specification, operator set 17 (2022).
"""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.interchange.models import LinearModel, Model, NeuralModel
from rankloop.interchange.targets import NEGLIGIBLE, SINGLE, require_one_scaling, require_single
from rankloop.scaling import divided

TARGET = "ONNX"
OPERATOR_SET = 17
IR_VERSION = 8


class Step(NamedTuple):
    """One operator of the chain, and the constant that it takes besides what came before."""

    operator: str
    name: str = ""
    constant: NDArray[np.float64] | None = None


def onnx_model(model: Model) -> bytes:
    """The model as the bytes of an `.onnx` file; needs the extra `onnx`.

    The input `features` is raw, in the order of the metadata entry `feature_names`, a JSON list.
    """
    require_one_scaling(model, TARGET)
    onnx = _onnx()
    make, tensor = onnx.helper, onnx.TensorProto.FLOAT
    steps = _network_steps(model) if isinstance(model, NeuralModel) else _linear_steps(model)
    wires = ["features", *(f"{step.operator.lower()}{place}" for place, step in enumerate(steps[:-1], 1)), "scores"]
    graph = make.make_graph(
        [
            make.make_node(step.operator, [source, step.name] if step.name else [source], [target])
            for step, source, target in zip(steps, wires, wires[1:], strict=False)
        ],
        "rankloop",
        [make.make_tensor_value_info("features", tensor, ["candidates", len(model.feature_names)])],
        [make.make_tensor_value_info("scores", tensor, ["candidates"])],
        [
            onnx.numpy_helper.from_array(step.constant.astype(np.float32), step.name)
            for step in steps
            if step.constant is not None
        ],
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


def _linear_steps(model: Model) -> list[Step]:
    assert isinstance(model, LinearModel)
    weights, _ = model.folded()
    return [*_shift(model, weights != 0), Step("MatMul", "weights", require_single(model, TARGET, weights))]


def _network_steps(model: NeuralModel) -> list[Step]:
    *hidden, (output, _) = model.network.layers(model.weights, len(model.feature_names))
    own = hidden[0][0]
    with np.errstate(over="ignore"):
        folded = own if model.spread is None else divided(own.T, model.spread).T
    hidden[0] = folded, hidden[0][1]
    _require_single_layers(model, own, [*(part for layer in hidden for part in layer), output])
    steps = _shift(model, (folded != 0).any(axis=1))
    for number, (W, b) in enumerate(hidden, 1):
        steps += [
            Step("MatMul", f"weights{number}", W),
            Step("Add", f"biases{number}", b),
            Step("Tanh" if model.network.activation == "tanh" else "Relu"),
        ]
    return [*steps, Step("MatMul", "weights", output[:, 0])]


def _require_single_layers(model: NeuralModel, own: NDArray[np.float64], parts: list[NDArray[np.float64]]) -> None:
    """Refuse what overflows, and a feature's weights that its spread makes too small for single precision."""
    size = np.abs(parts[0])
    lost = (size < SINGLE.smallest_normal) & (np.abs(own) > NEGLIGIBLE * np.abs(own).max())
    if model.spread is not None:
        lost &= np.array(model.spread)[:, None] > 0
    wrong = lost & (own != 0) | ~(size <= SINGLE.max)
    if wrong.any():
        feature = model.feature_names[int(np.argmax(wrong.any(axis=1)))]
        raise SettingsError(
            f"{TARGET}: computes in single precision, which cannot hold the weights of feature {feature!r} divided by "
            f"its spread; scale the feature at its source"
        )
    if not all((np.abs(part) <= SINGLE.max).all() for part in parts[1:]):
        raise SettingsError(f"{TARGET}: a weight of {model.name!r} does not fit single precision")


def _shift(model: Model, used: NDArray[np.bool_]) -> list[Step]:
    """What is subtracted first; of a feature that contributes nothing the shift may be anything, and is 0."""
    if model.shift is None:
        return []
    shift = np.where(used, model.shift, 0.0)
    if not (np.abs(shift) <= SINGLE.max).all():
        raise SettingsError(f"{TARGET}: a shift of {model.name!r} does not fit single precision: {model.shift!r}")
    return [Step("Sub", "shift", shift)]


def _onnx() -> Any:
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError:
        raise SettingsError("exporting to ONNX needs the onnx package: pip install 'rankloop[onnx]'") from None
    return onnx
