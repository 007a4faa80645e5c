"""A policy as an ONNX graph: normaliser, layers and action scaling, from raw observations to controls.

obs → Sub → Mul → Clip → [Gemm → Tanh or Relu]… → Gemm → Tanh → actions → Mul → Add → Clip → controls

Where a policy sends the mean of clipped noise (learning/clipping.py), that comes between Tanh and actions.
"""

from __future__ import annotations

import math
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
        if policy.std is None:
            actions = self._add("Tanh", value, {}, "actions")
        else:
            actions = self._add_clipped_mean(self._add("Tanh", value, {}), policy.std)
        numbers = law.numbers
        scaled = self._add("Mul", actions, {"scale": numbers["scale"]})
        shifted = self._add("Add", scaled, {"default": numbers["default"]})
        # Clip takes one bound for all; Max and Min one for each, which may be infinite.
        raised = self._add("Max", shifted, {"low": numbers["low"]})
        self._add("Min", raised, {"high": numbers["high"]}, "controls")

    def _add_clipped_mean(self, mean: str, std: np.ndarray) -> str:
        """σ·(u − g(1/σ − u) + g(1/σ + u)) with u = μ/σ."""
        scaled = self._add("Mul", mean, {"inverse_std": 1 / std})
        negative = self._add("Neg", scaled, {})
        above = self._add_beyond(self._add("Add", negative, {"upper_edge": 1 / std}), "upper")
        below = self._add_beyond(self._add("Add", scaled, {"lower_edge": 1 / std}), "lower")
        lowered = self._add("Sub", scaled, {}, other=above)
        raised = self._add("Add", lowered, {}, other=below)
        return self._add("Mul", raised, {"std": std}, "actions")

    def _add_beyond(self, edge: str, name: str) -> str:
        """g(z) = φ(z) − z·(1 − erf(z/√2))/2."""
        square = self._add("Mul", edge, {}, other=edge)
        density = self._add("Exp", self._add("Mul", square, {f"{name}_half": np.array(-0.5)}), {})
        density = self._add("Mul", density, {f"{name}_density": np.array(1 / math.sqrt(2 * math.pi))})
        inside = self._add("Erf", self._add("Mul", edge, {f"{name}_root": np.array(math.sqrt(0.5))}), {})
        outside = self._add("Mul", inside, {f"{name}_minus": np.array(-0.5)})
        outside = self._add("Add", outside, {f"{name}_plus": np.array(0.5)})
        return self._add("Sub", density, {}, other=self._add("Mul", edge, {}, other=outside))

    def _add(
        self,
        operator: str,
        value: str,
        constants: Mapping[str, np.ndarray],
        result: str = "",
        other: str | None = None,
    ) -> str:
        """One node that reads a value, maybe another, and some constants; the name of what it gives."""
        helper, numpy_helper = _onnx().helper, _onnx().numpy_helper
        for name, array in constants.items():
            self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32, order="C"), name))
        values = [] if other is None else [other]
        result = result or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [value, *values, *constants], [result]))
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
