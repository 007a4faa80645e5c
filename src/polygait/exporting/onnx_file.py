"""A policy as an ONNX graph: normaliser, layers and action scaling, from raw observations to controls.

obs → Sub → Mul → Clip → [Gemm → Tanh or Relu]… → Gemm → Tanh → actions → Mul → Add → Clip → controls
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.learning.learner import PlainPolicy
from polygait.learning.normalizer import CLIP
from polygait.tasks.actions import ActionLaw
from polygait.versions import versions

OPSET, IR_VERSION = 17, 8
"""Old enough for every onnxruntime since 1.13."""
BATCH = "batch"
"""The name of the first axis, of any length."""


def onnx_bytes(policy: PlainPolicy, law: ActionLaw, metadata: Mapping[str, str]) -> bytes:
    """The file's content; inputs and outputs are called as rsl_rl calls them, and `controls` besides."""
    helper = _onnx().helper
    graph = _Graph(policy, law)
    sizes = {"obs": len(policy.weights[0]), "actions": len(law.scale), "controls": len(law.scale)}
    values = {
        name: helper.make_tensor_value_info(name, _onnx().TensorProto.FLOAT, [BATCH, size])
        for name, size in sizes.items()
    }
    made = helper.make_graph(
        graph.nodes, "policy", [values["obs"]], [values["actions"], values["controls"]], graph.constants
    )
    model = helper.make_model(
        made,
        producer_name="polygait",
        producer_version=versions()["polygait"],
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, dict(metadata))
    _onnx().checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


class _Graph:
    """Nodes in the order of computation, and the constants that they read."""

    def __init__(self, policy: PlainPolicy, law: ActionLaw) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        value = "obs"
        if policy.center is not None and policy.factor is not None:
            value = self._add("Sub", value, {"center": policy.center})
            value = self._add("Mul", value, {"factor": policy.factor})
            value = self._add("Clip", value, {"lowest": np.array(-CLIP), "highest": np.array(CLIP)})
        layers = list(zip(policy.weights, policy.biases, strict=True))
        for index, (weight, bias) in enumerate(layers):
            value = self._add("Gemm", value, {f"weight_{index}": weight, f"bias_{index}": bias})
            if index < len(layers) - 1:
                value = self._add("Tanh" if policy.activation == "tanh" else "Relu", value, {})
        actions = self._add("Tanh", value, {}, "actions")
        numbers = law.numbers
        scaled = self._add("Mul", actions, {"scale": numbers["scale"]})
        shifted = self._add("Add", scaled, {"default": numbers["default"]})
        # Clip takes one bound for all; Max and Min one for each, which may be infinite.
        raised = self._add("Max", shifted, {"low": numbers["low"]})
        self._add("Min", raised, {"high": numbers["high"]}, "controls")

    def _add(self, operator: str, value: str, constants: Mapping[str, np.ndarray], result: str = "") -> str:
        """One node that reads a value and some constants; the name of what it gives."""
        helper, numpy_helper = _onnx().helper, _onnx().numpy_helper
        for name, array in constants.items():
            self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32, order="C"), name))
        result = result or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [value, *constants], [result]))
        return result


def _onnx() -> ModuleType:
    """The package of that name, which is not needed otherwise."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise UserError(
            "Writing ONNX needs the package onnx, which is not installed.",
            "Install it: pip install 'polygait[export]'; or write a file for NumPy alone: `format='numpy'`.",
        ) from error
    return onnx
