"""Losses: cross-entropies and distances, each with MindSpore's reductions."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ir import ABSENT
from tracejit.ops import checks
from tracejit.ops.normalization import wide
from tracejit.ops.record import INDEX_DTYPES, Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS, REALS
from tracejit.ops.shapes import broadcast_shapes

Shape = tuple[int, ...]
_ONE_OF = ("none", "mean", "sum")


def _reduction(default: str = "mean", *more: str) -> Attribute:
    return Attribute("reduction", checks.one_of(*_ONE_OF, *more), default)


def _reduced(shape: Shape, attributes: Mapping[str, Any]) -> list[Shape]:
    return [shape if attributes["reduction"] == "none" else ()]


def reduce_reference(loss: np.ndarray, reduction: str, dtype: Any) -> np.ndarray:
    """Reduce a loss as its attribute says, and return it in the dtype of its operands."""
    total = {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum, "batchmean": lambda: loss.sum() / len(loss)}
    return np.asarray(total[reduction]()).astype(dtype)


# Classes


def _class_axis(type_: Any) -> int:
    return 0 if type_.ndim == 1 else 1


def _check_classes(op: Op, types: Sequence[Any]) -> Shape:
    """Check class indices and weights against the input, and return the indices' shape."""
    x, target, weight = types
    if x.ndim == 0:
        raise ShapeError(f"{op.name}: {op.operands[0].name} has no axis of classes", types=op.names_of(types))
    axis = _class_axis(x)
    if weight is not ABSENT and weight.shape != (x.shape[axis],):
        raise ShapeError(f"{op.name}: weight must have one element for each class", types=op.names_of(types))
    if target.dtype not in INDEX_DTYPES:
        raise DTypeError(
            f"{op.name}: target must hold int32 or int64 class indices, not {target.dtype.name}",
            types=op.names_of(types),
            fix="convert it, as in ops.cast(target, tracejit.int32)",
        )
    wanted = x.shape[:axis] + x.shape[axis + 1 :]
    if target.shape != wanted:
        raise ShapeError(
            f"{op.name}: target has the shape {list(target.shape)}, the input has {list(wanted)} besides its classes",
            types=op.names_of(types),
        )
    return wanted


def _nll(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    return _reduced(_check_classes(op, types), attributes)


def _nll_reference(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis, dtype, x = int(x.ndim > 1), x.dtype, wide(x)
    weight = np.ones(x.shape[axis]) if weight is None else weight
    kept, exists = target != ignore_index, (target >= 0) & (target < x.shape[axis])
    safe = np.where(kept & exists, target, 0)
    picked = np.take_along_axis(x, np.expand_dims(safe, axis), axis).squeeze(axis)
    picked = np.where(kept & ~exists, np.nan, picked)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    smooth = (x * weight.reshape(shape)).sum(axis) / x.shape[axis]
    loss = -((1 - label_smoothing) * picked * weight[safe] + label_smoothing * smooth)
    loss, weights = np.where(kept, loss, 0), np.where(kept, weight[safe], 0)
    with np.errstate(all="ignore"):
        return (loss.sum() / weights.sum() if reduction == "mean" else reduce_reference(loss, reduction, dtype)).astype(
            dtype
        )


def _log_softmax(x: np.ndarray) -> np.ndarray:
    axis = int(x.ndim > 1)
    x = wide(x)
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def _cross_reference(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis, logs = int(x.ndim > 1), _log_softmax(x)
    if not np.issubdtype(target.dtype, np.floating):
        return _nll_reference(logs, target, weight, ignore_index, reduction, label_smoothing).astype(x.dtype)
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    weight = np.ones(x.shape[axis]) if weight is None else weight
    loss = -(logs * target * weight.reshape([-1 if i == axis else 1 for i in range(x.ndim)])).sum(axis)
    return reduce_reference(loss, reduction, x.dtype)


def _cross_entropy(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, target, weight = types
    if target.dtype not in FLOATS:
        return _nll(op, types, attributes)
    if target.shape != x.shape:
        raise ShapeError(f"{op.name}: probabilities must have the input's shape", types=op.names_of(types))
    if target.dtype is not x.dtype:
        raise DTypeError(
            f"{op.name}: probabilities must be of the input's dtype",
            types=op.names_of(types),
            fix=f"convert them, as in ops.cast(target, tracejit.{x.dtype.name})",
        )
    wanted = _check_classes(op, (x, _as_indices(x), weight))
    return _reduced(wanted, attributes)


def _as_indices(x: Any) -> Any:
    axis = _class_axis(x)
    return type(x)(dt.int32, x.shape[:axis] + x.shape[axis + 1 :])


_CLASS_ATTRIBUTES = (
    Attribute("ignore_index", checks.integer, -100),
    _reduction(),
    Attribute("label_smoothing", checks.real_where(lambda x: 0 <= x <= 1, "must be from 0 to 1"), 0.0),
)
_OUT_OF_RANGE = "A class that does not exist and is not ignore_index gives NaN."

nll_loss = op(
    "NLLLossExt",
    "inputs:T, target:index, weight:T?",
    name="nll_loss",
    doc="Minus the logarithm of the probability, which inputs hold, of each target class; the mean is weighted.",
    accepts=FLOATS,
    attributes=_CLASS_ATTRIBUTES,
    tensors_only=True,
    shape=_nll,
    reference=_nll_reference,
    samples=(
        "f32[2,3] i32[2] f32[3]",
        Sample("f64[2,3,2] i64[2,2]", {"reduction": "none", "label_smoothing": 0.25}),
        Sample("f32[2,3] i32[3]", raises=ShapeError),
        Sample("f32[2,3] i8[2]", raises=DTypeError),
    ),
    differs=_OUT_OF_RANGE,
)
cross_entropy = op(
    "CrossEntropyLoss",
    "input:T, target:-, weight:T?",
    name="cross_entropy",
    doc="The loss between logits and class indices (int32, int64) or probabilities (floats) along the second axis.",
    accepts=FLOATS,
    attributes=_CLASS_ATTRIBUTES,
    tensors_only=True,
    shape=_cross_entropy,
    reference=_cross_reference,
    samples=(
        "f32[2,3] i32[2] f32[3]",
        Sample("f32[2,3] i32[2]", {"reduction": "sum", "ignore_index": 0}),
        Sample("f64[2,3] f64[2,3]", {"label_smoothing": 0.5}),
        Sample("f32[3] i64[]", {"reduction": "none"}),
        Sample("f32[2,3] i8[2]", raises=DTypeError),
        Sample("f32[2,3] f32[2,2]", raises=ShapeError),
        Sample("f32[2,3] i32[2]", {"reduction": "max"}, AttributeValueError),
    ),
    differs=f"{_OUT_OF_RANGE} Probabilities must be of the input's dtype.",
)


def _sparse_reference(logits: np.ndarray, labels: np.ndarray, is_grad: bool = False) -> np.ndarray:
    logs = _log_softmax(logits)
    if not is_grad:
        return _nll_reference(logs, labels).astype(logits.dtype)
    return ((np.exp(logs) - np.eye(logits.shape[1])[labels]) / len(labels)).astype(logits.dtype)


def _sparse(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    logits, labels = types
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ShapeError(f"{op.class_name}: logits must be [N,C] and labels [N]", types=op.names_of(types))
    return [logits.shape if attributes["is_grad"] else ()]


sparse_softmax_cross_entropy_with_logits = op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "logits:T, labels:index",
    doc="The mean cross-entropy of logits and class indices; with is_grad its gradient by the logits.",
    accepts=FLOATS,
    attributes=(Attribute("is_grad", checks.boolean, False),),
    shape=_sparse,
    reference=_sparse_reference,
    samples=(
        "f32[2,3] i32[2]",
        Sample("f32[4,2] i32[4]", {"is_grad": True}),
        Sample("f32[2,3] i32[3]", raises=ShapeError),
    ),
    differs=_OUT_OF_RANGE,
)


def _dense_reference(logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    logs = _log_softmax(logits)
    return -(logs * labels).sum(1).astype(logits.dtype), (np.exp(logs) - labels).astype(logits.dtype)


def _dense(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if types[0].ndim != 2 or types[0].shape != types[1].shape:
        raise ShapeError(f"{op.class_name}: logits and labels must both be [N,C]", types=op.names_of(types))
    return [types[0].shape[:1], types[0].shape]


softmax_cross_entropy_with_logits = op(
    "SoftmaxCrossEntropyWithLogits",
    "logits:=T, labels:=T",
    doc="The cross-entropy of logits and probabilities for each row, and its gradient by the logits.",
    result=("T", "T"),
    accepts=FLOATS,
    tensors_only=True,
    shape=_dense,
    reference=_dense_reference,
    samples=(
        "f32[2,3] f32[2,3]",
        Sample("f32[2,3] f32[2]", raises=ShapeError),
        Sample("f32[2,3] f16[2,3]", raises=DTypeError),
    ),
)

# Distances


def _equal(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = types[0].shape
    if types[1].shape != shape:
        raise ShapeError(
            f"{op.name}: the shapes {list(shape)} and {list(types[1].shape)} differ", types=op.names_of(types)
        )
    for type_, spec in zip(types[2:], op.operands[2:]):
        if type_ is not ABSENT and broadcast_shapes([shape, type_.shape]) != shape:
            raise ShapeError(f"{op.name}: {spec.name} does not broadcast to {list(shape)}", types=op.names_of(types))
    return _reduced(shape, attributes)


def _broadcast(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = broadcast_shapes([type_.shape for type_ in types])
    if shape is None:
        raise ShapeError(f"{op.name}: the shapes do not broadcast", types=op.names_of(types))
    return _reduced(shape, attributes)


def _in_floats(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    return groups["T"] if groups["T"] in FLOATS else dt.float32


def _distance(class_name: str, doc: str, function: Callable[..., Any], **options: Any) -> Op:
    floats = options.get("result") is _in_floats

    def reference(x: np.ndarray, y: np.ndarray, reduction: str, **attributes: Any) -> np.ndarray:
        dtype = np.dtype(np.float32) if floats and not np.issubdtype(x.dtype, np.floating) else x.dtype
        loss = function(x.astype(np.promote_types(x.dtype, dtype)), y.astype(dtype), **attributes)
        return reduce_reference(
            np.trunc(loss.mean()) if reduction == "mean" and dtype.kind in "iu" else loss, reduction, dtype
        )

    return op(class_name, "input:T, target:T", doc=doc, tensors_only=True, reference=reference, **options)


_REFUSED = (Sample("f32[2] f32[3]", raises=ShapeError), Sample("b1[2] b1[2]", raises=DTypeError))

mse_loss = _distance(
    "MSELossExt", "The squared difference; integers are taken to float32 first.", lambda x, y: (x - y) ** 2,
    name="mse_loss", accepts=REALS, attributes=(_reduction(),), shape=_broadcast, result=_in_floats,
    samples=("f32[2,3] f32[3]", Sample("i8[2,3] f16[2,3]", {"reduction": "none"}), "i32[4] i32[4]", *_REFUSED),
)  # fmt: skip
l1_loss = _distance(
    "L1LossExt", "The absolute difference; the mean of integers truncates.", lambda x, y: np.abs(x - y),
    name="l1_loss", accepts=REALS, attributes=(_reduction(),), shape=_broadcast,
    samples=("f32[2,3] f32[3]", Sample("f16[2,3] f32[2,3]", {"reduction": "sum"}), "i32[4] i32[4]", *_REFUSED),
)  # fmt: skip
smooth_l1_loss = _distance(
    "SmoothL1Loss",
    "Half the squared difference over beta where the difference is below beta, else the difference less beta / 2.",
    lambda x, y, beta: np.where(np.abs(x - y) < beta, (x - y) ** 2 / (2 * beta), np.abs(x - y) - beta / 2),
    name="smooth_l1_loss",
    accepts=FLOATS,
    attributes=(Attribute("beta", checks.positive, 1.0), _reduction("none")),
    shape=_equal,
    samples=("f32[2,3] f32[2,3]", Sample("f16[4] f64[4]", {"beta": 0.5, "reduction": "mean"}), *_REFUSED),
)


def _delta(value: Any) -> float:
    return checks.positive(float(value) if value.__class__ is int else value)


huber_loss = _distance(
    "HuberLoss",
    "Half the squared difference where it is at most delta, else delta times (the difference less delta / 2).",
    lambda x, y, delta: np.where(np.abs(x - y) <= delta, (x - y) ** 2 / 2, delta * (np.abs(x - y) - delta / 2)),
    accepts=REALS,
    attributes=(_reduction(), Attribute("delta", _delta, 1.0)),
    shape=_broadcast,
    result=_in_floats,
    samples=(
        "f32[2,3] f32[3]",
        Sample("f16[4] f64[4]", {"delta": 0.5, "reduction": "sum"}),
        "i32[4] i32[4]",
        *_REFUSED,
    ),
)


def _kl_reference(logits: np.ndarray, labels: np.ndarray, reduction: str = "mean") -> np.ndarray:
    with np.errstate(all="ignore"):
        loss = np.where(labels > 0, labels * (np.log(labels) - logits), 0)
    return reduce_reference(loss, reduction, logits.dtype)


kl_div = op(
    "KLDivLoss",
    "logits:=T, labels:=T",
    name="kl_div",
    doc="labels * (log(labels) - logits), 0 where labels are not positive; logits are logarithms of probabilities.",
    accepts=FLOATS,
    attributes=(_reduction("mean", "batchmean"),),
    tensors_only=True,
    shape=_equal,
    reference=_kl_reference,
    samples=(
        "f32[2,3] f32[2,3]",
        Sample("f64[2,3] f64[2,3]", {"reduction": "batchmean"}),
        Sample("f32[2] f16[2]", raises=DTypeError),
        Sample("f32[2] f32[3]", raises=ShapeError),
    ),
)


def _bce_reference(x, y, weight=None, reduction="mean"):
    least = max(1e-12, float(np.finfo(x.dtype).tiny))
    first, second = (np.log(np.maximum(value, least)) for value in (x, 1 - x))
    loss = -(y * first + (1 - y) * second) * (1 if weight is None else weight)
    return reduce_reference(loss, reduction, x.dtype)


binary_cross_entropy = op(
    "BinaryCrossEntropy",
    "logits:=T, labels:=T, weight:=T?",
    name="binary_cross_entropy",
    doc="The cross-entropy of probabilities and labels from 0 to 1; the probability counts as 1e-12 at least.",
    accepts=FLOATS,
    attributes=(_reduction(),),
    tensors_only=True,
    shape=_equal,
    reference=_bce_reference,
    samples=(
        "f32[2,3] f32[2,3]",
        Sample("f64[4] f64[4] f64[4]", {"reduction": "sum"}),
        Sample("f32[2] f16[2]", raises=DTypeError),
        Sample("f32[2] f32[3]", raises=ShapeError),
    ),
    differs="A probability outside of 0 to 1 is no error: it counts as the nearest one, 1e-12 at least.",
)


def _bce_logits_reference(x, y, weight=None, pos_weight=None, reduction="mean"):
    softplus = np.logaddexp(0, -wide(x))
    factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * y
    loss = ((1 - y) * wide(x) + factor * softplus) * (1 if weight is None else weight)
    return reduce_reference(loss, reduction, x.dtype)


binary_cross_entropy_with_logits = op(
    "BCEWithLogitsLoss",
    "input:T, target:T, weight:T?, pos_weight:T?",
    name="binary_cross_entropy_with_logits",
    doc="The cross-entropy of sigmoid(input) and labels from 0 to 1, without overflow; pos_weight multiplies the part "
    "of the label 1.",
    accepts=FLOATS,
    attributes=(_reduction(),),
    tensors_only=True,
    shape=_equal,
    reference=_bce_logits_reference,
    samples=(
        "f32[2,3] f32[2,3] f32[3] f32[3]",
        Sample("f16[4] f32[4]", {"reduction": "none"}),
        Sample("i32[2] i32[2]", raises=DTypeError),
        Sample("f32[2] f32[2] f32[3]", raises=ShapeError),
    ),
)
