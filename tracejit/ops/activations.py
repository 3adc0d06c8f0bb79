"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.maths import quiet
from tracejit.ops.normalization import wide
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS
from tracejit.ops.shapes import normalize_axis, same_as_first


def _number(value: Any) -> float:
    return checks.finite(float(value) if value.__class__ is int else value)


def _activation(class_name: str, doc: str, function: Callable[..., Any], *attributes: Attribute, **options: Any) -> Op:
    def reference(x: np.ndarray, **given: Any) -> np.ndarray:
        return quiet(function)(wide(x), **given).astype(x.dtype)

    samples = options.pop("samples", ("f32[2,3]", "f16[4]", "f64[3]"))
    return op(
        class_name,
        f"{options.pop('operand', 'input')}:T",
        doc=doc,
        accepts=FLOATS,
        attributes=attributes,
        shape=same_as_first,
        reference=reference,
        samples=(*samples, Sample("i32[2]", raises=DTypeError)),
        **options,
    )


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softplus(x: np.ndarray, beta: float = 1, threshold: float = 20) -> np.ndarray:
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def _exact_gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x / math.sqrt(2))) / 2


def _tanh_gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805
_LIMIT = Attribute("lambd", _number, 0.5)

relu6 = _activation("ReLU6", "x where 0 < x < 6, else the nearer of 0 and 6.", lambda x: np.clip(x, 0, 6), operand="x")
leaky_relu = _activation(
    "LeakyReLUExt", "x where x > 0, else alpha * x.", lambda x, alpha=0.2: np.where(x > 0, x, alpha * x),
    Attribute("alpha", _number, 0.2), name="leaky_relu", samples=("f32[2,3]", Sample("f16[4]", {"alpha": 0.5})),
)  # fmt: skip
elu = _activation(
    "Elu", "x where x > 0, else alpha * (exp(x) - 1).", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)),
    Attribute("alpha", _number, 1.0), operand="input_x", samples=("f32[2,3]", Sample("f16[4]", {"alpha": 0.5})),
)  # fmt: skip
celu = _activation(
    "CeLU", "x where x > 0, else alpha * (exp(x / alpha) - 1).",
    lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
    Attribute("alpha", _number, 1.0), name="celu", operand="x", samples=("f32[2,3]", Sample("f16[4]", {"alpha": 0.5})),
)  # fmt: skip
selu = _activation(
    "SeLU", "The elu with the scale and alpha that keep mean 0 and variance 1.",
    lambda x: _SCALE * np.where(x > 0, x, _ALPHA * np.expm1(x)), name="selu", operand="input_x",
)  # fmt: skip
gelu = _activation(
    "GeluExt", "x times the normal distribution's probability below x; approximate='tanh' computes it with tanh.",
    lambda x, approximate="none": (_exact_gelu if approximate == "none" else _tanh_gelu)(x),
    Attribute("approximate", checks.one_of("none", "tanh"), "none"), name="gelu",
    samples=("f32[2,3]", "f64[3]", Sample("f32[4]", {"approximate": "tanh"})),
)  # fmt: skip
gelu_class = _activation(
    "GeLU",
    "The gelu computed with tanh, as MindSpore's class has it.",
    _tanh_gelu,
    name="gelu_tanh",
    aliases=("Gelu",),
)
silu = _activation("SiLU", "x * sigmoid(x).", lambda x: x * _sigmoid(x), name="silu")
mish = _activation("Mish", "x * tanh(log(1 + exp(x))).", lambda x: x * np.tanh(_softplus(x)), operand="x")
softplus = _activation(
    "Softplus", "log(1 + exp(beta * x)) / beta, and x where beta * x > threshold.", _softplus,
    Attribute("beta", _number, 1.0), Attribute("threshold", _number, 20.0),
    samples=("f32[2,3]", Sample("f16[4]", {"beta": 2, "threshold": 1})),
)  # fmt: skip
softsign = _activation("Softsign", "x / (1 + |x|).", lambda x: x / (1 + np.abs(x)), operand="x")
hardswish = _activation("HSwish", "x * relu6(x + 3) / 6.", lambda x: x * np.clip(x + 3, 0, 6) / 6, name="hardswish")
hardsigmoid = _activation("HSigmoid", "relu6(x + 3) / 6.", lambda x: np.clip(x + 3, 0, 6) / 6, name="hardsigmoid")
hardtanh = _activation(
    "Hardtanh",
    "x between min_val and max_val, else the nearer of them.",
    lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    Attribute("min_val", _number, -1.0),
    Attribute("max_val", _number, 1.0),
    samples=("f32[2,3]", Sample("f16[4]", {"min_val": 0})),
)
hardshrink = _activation(
    "HShrink", "x where |x| > lambd, else 0.", lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0), _LIMIT,
    name="hardshrink",
)  # fmt: skip
softshrink = _activation(
    "SoftShrink", "x brought nearer to 0 by lambd, and 0 where it is that near.",
    lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), _LIMIT, name="softshrink",
)  # fmt: skip
logsigmoid = _activation(
    "LogSigmoid", "log(sigmoid(x)), without overflow.", lambda x: -np.logaddexp(0, -x), name="logsigmoid"
)


def _prelu(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    x, weight = types
    channels = x.shape[1] if x.ndim > 1 else 1
    if x.ndim == 0 or weight.shape not in ((1,), (channels,)):
        raise ShapeError(
            f"prelu: weight must have the shape [1] or [{channels}]", types=op.names_of(types),
            rule="one for all, or one for each channel (the second axis)",
        )  # fmt: skip
    return [x.shape]


def _prelu_reference(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, x * weight.reshape(-1, *[1] * max(x.ndim - 2, 0)))


prelu = op(
    "PReLU",
    "input:=T, weight:=T",
    doc="x where x > 0, else x times the weight of its channel.",
    accepts=FLOATS,
    tensors_only=True,
    shape=_prelu,
    reference=_prelu_reference,
    samples=(
        "f32[2,3] f32[3]",
        "f64[2,3,2] f64[3]",
        "f32[4] f32[1]",
        Sample("f32[2,3] f32[2]", raises=ShapeError),
        Sample("f32[2,3] f16[3]", raises=DTypeError),
    ),
)


def _glu(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape = types[0].shape
    axis = normalize_axis(op, attributes["axis"], len(shape))
    if shape[axis] % 2:
        raise AttributeValueError(f"glu: axis {axis} of {types[0]} cannot be cut in halves", types={"x": types[0]})
    return [(*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])]


def _glu_reference(x: np.ndarray, axis: int = -1) -> np.ndarray:
    value, gate = np.split(wide(x), 2, axis)
    return (value * _sigmoid(gate)).astype(x.dtype)


glu = op(
    "GLU",
    "x:T",
    name="glu",
    doc="The first half along an axis times the sigmoid of the second.",
    accepts=FLOATS,
    attributes=(Attribute("axis", checks.integer, -1),),
    shape=_glu,
    reference=_glu_reference,
    samples=(
        "f32[2,4]",
        Sample("f16[2,3]", {"axis": 0}),
        Sample("f32[2,3]", raises=AttributeValueError),
        Sample("i32[4]", raises=DTypeError),
    ),
)
