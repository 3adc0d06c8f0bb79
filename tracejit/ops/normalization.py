"""Softmax, normalizations over axes, batches and groups, and dropout."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ir import ABSENT
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS
from tracejit.ops.shapes import normalize_axes, normalize_axis

Shape = tuple[int, ...]
EPS = Attribute("eps", checks.real_where(lambda x: x >= 0, "must not be negative"), 1e-5)


def _along(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    axis = attributes["axis"]
    normalize_axes(op, axis if isinstance(axis, tuple) else (axis,), types[0].ndim)
    return [types[0].shape]


def wide(x: np.ndarray) -> np.ndarray:
    """Return the array in at least float32, in which references compute."""
    return x.astype(np.promote_types(x.dtype, np.float32))


def _softmax_reference(x: np.ndarray, axis: Any = -1, dtype: Any = None) -> np.ndarray:
    x = x if dtype is None else x.astype(dtype.numpy)
    e = np.exp(wide(x) - wide(x).max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


def _axis_or_axes(value: Any) -> Any:
    return checks.integers(value) if isinstance(value, list | tuple) else checks.integer(value)


def _float_result(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    return attributes["dtype"] or groups["T"]


softmax = op(
    "Softmax",
    "input:T",
    doc="exp(x) divided by its sum along an axis (or several); with a dtype, x is converted to that first.",
    result=_float_result,
    accepts=FLOATS,
    attributes=(Attribute("axis", _axis_or_axes, -1), Attribute("dtype", checks.optional(checks.dtype), None)),
    constructor=("axis",),
    shape=_along,
    reference=_softmax_reference,
    methods=("softmax",),
    samples=(
        "f32[2,3]",
        Sample("f16[3,4]", {"axis": 0}),
        Sample("f16[4]", {"dtype": dt.float32}),
        Sample("f32[2]", {"axis": 1}, AttributeValueError),
        Sample("i32[2]", raises=DTypeError),
    ),
)
log_softmax = op(
    "LogSoftmax",
    "logits:T",
    doc="The logarithm of the softmax along an axis.",
    accepts=FLOATS,
    attributes=(Attribute("axis", checks.integer, -1),),
    shape=_along,
    reference=lambda x, axis=-1: np.log(_softmax_reference(wide(x), axis)).astype(x.dtype),
    methods=("log_softmax",),
    samples=(
        "f32[2,3]",
        Sample("f64[3,4]", {"axis": 0}),
        Sample("f32[2]", {"axis": 1}, AttributeValueError),
        Sample("i32[2]", raises=DTypeError),
    ),
)


def _normalized(x: np.ndarray, axes: Shape, eps: float) -> np.ndarray:
    x = wide(x)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _scaled(x: np.ndarray, weight: Any, bias: Any, shape: Sequence[int]) -> np.ndarray:
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def _check_scale(op: Op, types: Sequence[Any], first: int, shape: Shape) -> None:
    for type_, spec in zip(types[first:], op.operands[first:]):
        if type_ is not ABSENT and type_.shape != shape:
            raise ShapeError(f"{op.name}: {spec.name} must have the shape {list(shape)}", types=op.names_of(types))


def _layer_norm(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, last = types[0].shape, attributes["normalized_shape"]
    if not last or shape[-len(last) :] != last:
        raise ShapeError(f"layer_norm: {types[0]} does not end in the shape {list(last)}", types={"input": types[0]})
    _check_scale(op, types, 1, last)
    return [shape]


def _layer_reference(x, weight=None, bias=None, normalized_shape=(), eps=1e-5):
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return _scaled(_normalized(x, axes, eps), weight, bias, normalized_shape).astype(x.dtype)


layer_norm = op(
    "LayerNormExt",
    "input:T, normalized_shape, weight:=T1?, bias:=T1?",
    name="layer_norm",
    doc="Subtract the mean over the last axes and divide by the deviation; then scale by weight and add bias.",
    accepts={"T": FLOATS, "T1": FLOATS},
    attributes=(Attribute("normalized_shape", checks.shape), EPS),
    shape=_layer_norm,
    reference=_layer_reference,
    samples=(
        Sample("f32[2,3] f32[3] f32[3]", {"normalized_shape": 3}),
        Sample("f16[2,2,3] f32[2,3] f32[2,3]", {"normalized_shape": (2, 3), "eps": 1e-3}),
        Sample("f64[4,3]", {"normalized_shape": (3,)}),
        Sample("f32[2,3]", {"normalized_shape": 2}, ShapeError),
        Sample("f32[2,3] f32[3] f16[3]", {"normalized_shape": 3}, DTypeError),
    ),
)


def _moments(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = types[0].shape
    first = normalize_axis(op, attributes["begin_norm_axis"], len(shape), "begin_norm_axis")
    of_scale = normalize_axis(op, attributes["begin_params_axis"], len(shape), "begin_params_axis")
    _check_scale(op, types, 1, shape[of_scale:])
    return [shape, *[shape[:first] + (1,) * (len(shape) - first)] * 2]


def _moments_reference(x, gamma, beta, begin_norm_axis, begin_params_axis, epsilon):
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    moments = wide(x).mean(axes, keepdims=True), wide(x).var(axes, keepdims=True)
    return ((_normalized(x, axes, epsilon) * gamma + beta).astype(x.dtype), *moments)


def _moment_dtype(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    return groups["T"] if groups["T"] is dt.float64 else dt.float32


layer_norm_class = op(
    "LayerNorm",
    "input_x:T, gamma:=T1, beta:=T1",
    name="layer_norm_with_moments",
    doc="Layer normalization over the axes from begin_norm_axis on; gives the result, and the means and variances.",
    result=("T", _moment_dtype, _moment_dtype),
    accepts={"T": FLOATS, "T1": FLOATS},
    attributes=(
        Attribute("begin_norm_axis", checks.integer, 1),
        Attribute("begin_params_axis", checks.integer, 1),
        Attribute("epsilon", checks.not_negative, 1e-7),
    ),
    shape=_moments,
    reference=_moments_reference,
    samples=(
        "f32[2,3] f32[3] f32[3]",
        Sample("f16[2,2,3] f32[3] f32[3]", {"begin_norm_axis": -1, "begin_params_axis": -1}),
        Sample("f32[2,3] f32[2] f32[2]", raises=ShapeError),
    ),
)


def _channels(op: Op, types: Sequence[Any]) -> int:
    if types[0].ndim < 2:
        raise ShapeError(
            f"{op.name}: {types[0]} has no channels: batch and channels come first", types=op.names_of(types)
        )
    return types[0].shape[1]


def _over_channels(x: np.ndarray) -> tuple[Shape, Shape]:
    """Return all axes but that of the channels, and the shape of a value per channel."""
    return tuple([i for i in range(x.ndim) if i != 1]), (1, -1, *[1] * (x.ndim - 2))


def _batch_norm(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    channels = _channels(op, types)
    _check_scale(op, types, 1, (channels,))
    if attributes["training"] and types[0].size <= channels:
        raise ShapeError("batch_norm: training needs more than one value per channel", types=op.names_of(types))
    return [types[0].shape, *([(channels,)] * 2 if attributes["training"] else [])]


def _batch_reference(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    axes, shape = _over_channels(x)
    if not training:
        plain = (wide(x) - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
        return _scaled(plain, weight, bias, shape).astype(x.dtype)
    new = wide(x).mean(axes), wide(x).var(axes, ddof=1)
    result = _scaled(_normalized(x, axes, eps), weight, bias, shape).astype(x.dtype)
    return (result, *[(old * (1 - momentum) + now * momentum).astype(old.dtype) for old, now in zip((mean, var), new)])


batch_norm = op(
    "BatchNormExt",
    "input_x:T, running_mean:=T1, running_var:=T1, weight:=T2?, bias:=T2?",
    name="batch_norm",
    doc="Normalize each channel (the second axis): by the running statistics, or when training by those of the batch, "
    "which then move the running ones, Parameters, by the share momentum.",
    result=("T", "T1", "T1"),
    accepts={"T": FLOATS, "T1": FLOATS, "T2": FLOATS},
    attributes=(
        Attribute("training", checks.boolean, False),
        Attribute("momentum", checks.real_where(lambda x: 0 <= x <= 1, "must be from 0 to 1"), 0.1),
        EPS,
    ),
    shape=_batch_norm,
    updates=lambda attributes: (1, 2) if attributes["training"] else (),
    reference=_batch_reference,
    samples=(
        "f32[2,3,4] f32[3] f32[3] f32[3] f32[3]",
        "f16[4,3] f32[3] f32[3] f32[3] f32[3]",
        "f64[4,3] f64[3] f64[3]",
        Sample("f32[4,3] f32[4] f32[4]", raises=ShapeError),
        Sample("f32[4,3] f32[3] f16[3]", raises=DTypeError),
    ),
    differs="weight and bias may be left out. The variance is taken as it is given: a negative one gives NaN.",
)


def _group_norm(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    channels, groups = _channels(op, types), attributes["num_groups"]
    _check_scale(op, types, 1, (channels,))
    if groups < 1 or channels % groups:
        raise ShapeError(f"group_norm: {channels} channels cannot form {groups} groups", types=op.names_of(types))
    return [types[0].shape]


def _group_reference(x, weight=None, bias=None, num_groups=1, eps=1e-5):
    rows = x.reshape(x.shape[0], num_groups, -1)
    plain = _normalized(rows, (2,), eps).reshape(x.shape)
    return _scaled(plain, weight, bias, _over_channels(x)[1]).astype(x.dtype)


group_norm = op(
    "GroupNorm",
    "input:=T, num_groups, weight:=T?, bias:=T?",
    doc="Normalize each sample over groups of channels (the second axis); then scale and shift each channel.",
    accepts=FLOATS,
    attributes=(Attribute("num_groups", checks.integer), EPS),
    tensors_only=True,
    shape=_group_norm,
    reference=_group_reference,
    samples=(
        Sample("f32[2,4,3] f32[4] f32[4]", {"num_groups": 2}),
        Sample("f64[2,3]", {"num_groups": 1, "eps": 1e-3}),
        Sample("f32[2,3]", {"num_groups": 2}, ShapeError),
        Sample("f16[2,4] f32[4]", {"num_groups": 2}, DTypeError),
    ),
)


def _instance_norm(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    _check_scale(op, types, 1, (_channels(op, types),))
    return [types[0].shape]


instance_norm = op(
    "InstanceNormExt",
    "input:=T, weight:=T?, bias:=T?",
    name="instance_norm",
    doc="Normalize each channel of each sample over the axes behind; then scale and shift each channel.",
    accepts=FLOATS,
    attributes=(EPS,),
    tensors_only=True,
    shape=_instance_norm,
    reference=lambda x, weight=None, bias=None, eps=1e-5: _group_reference(x, weight, bias, x.shape[1], eps),
    samples=("f32[2,3,4] f32[3] f32[3]", "f64[1,2,3,2]", Sample("f32[3]", raises=ShapeError)),
    differs="A function, without running statistics (MindSpore has a class for GPUs only).",
)


def _dropout(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if _drops(attributes) and types[1] is ABSENT:
        raise AttributeTypeError(
            "dropout misses its operand 'key': when training it needs random numbers",
            fix="pass key=tracejit.Generator(seed), which draws new ones at each call, or a key of your own",
        )
    return [types[0].shape]


def _drops(attributes: Mapping[str, Any]) -> bool:
    return attributes["training"] and attributes["p"] > 0


dropout = op(
    "DropoutExt",
    "input:T, p, training, key:key?",
    name="dropout",
    doc="When training, make each element 0 with probability p and divide the others by 1 - p; else change nothing.",
    accepts=FLOATS,
    attributes=(
        Attribute("p", checks.real_where(lambda x: 0 <= x <= 1, "must be from 0 to 1"), 0.5),
        Attribute("training", checks.boolean, True),
    ),
    draws=_drops,
    shape=_dropout,
    samples=(
        "f32[2,3] u32[2]",
        Sample("f16[4]", {"training": False}),
        Sample("f32[2]", raises=AttributeTypeError),
        Sample("f32[2]", {"p": 1.5}, AttributeValueError),
        Sample("f32[2] i32[2]", raises=DTypeError),
    ),
    differs="key, a Generator or a key, takes the place of seed.",
)
