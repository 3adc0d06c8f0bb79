"""Reductions that say how values are spread and how long vectors are."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS, NUMBERS
from tracejit.ops.shapes import normalize_axes


def _over(axis_name: str, keep_name: str) -> Any:
    def rule(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
        shape = types[0].shape
        axes = normalize_axes(op, attributes[axis_name] or (), len(shape))
        kept = attributes[keep_name]
        return [tuple([1 if i in axes else n for i, n in enumerate(shape) if kept or i not in axes])]

    return rule


def _degrees(value: Any) -> int:
    return int(value) if isinstance(value, bool | np.bool_) else checks.integer(value)


def _spread(class_name: str, doc: str, function: Callable[..., Any]) -> Op:
    def reference(x: np.ndarray, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> np.ndarray:
        with np.errstate(all="ignore"):
            wide = np.promote_types(x.dtype, np.float32)
            return np.asarray(function(x, axis=axis or None, ddof=ddof, keepdims=keepdims, dtype=wide)).astype(x.dtype)

    return op(
        class_name,
        "input:T",
        doc=f"{doc} over the axes given, over all of them by default; the divisor is the number of elements less ddof.",
        accepts=FLOATS,
        attributes=(
            Attribute("axis", checks.axes, None),
            Attribute("ddof", _degrees, 0),
            Attribute("keepdims", checks.boolean, False),
        ),
        shape=_over("axis", "keepdims"),
        reference=reference,
        methods=(class_name.lower(),),
        samples=(
            "f32[2,3]",
            Sample("f16[2,4]", {"axis": (1,), "ddof": 1, "keepdims": True}),
            Sample("f32[2]", {"axis": 1}, AttributeValueError),
            Sample("f32[2]", {"axis": True}, AttributeTypeError),
            Sample("i32[2]", raises=DTypeError),
        ),
    )


var = _spread("Var", "The variance", np.var)
std = _spread("Std", "The standard deviation", np.std)


def _logsumexp_reference(x: np.ndarray, dim: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    return np.log(np.sum(np.exp(wide), axis=dim or None, keepdims=keepdim)).astype(x.dtype)


logsumexp = op(
    "LogSumExp",
    "input:T, dim",
    name="logsumexp",
    doc="The logarithm of the sum of the exponentials over the axes given, without overflow; `()` means all.",
    accepts=FLOATS,
    attributes=(Attribute("dim", checks.axes), Attribute("keepdim", checks.boolean, False)),
    shape=_over("dim", "keepdim"),
    reference=_logsumexp_reference,
    methods=("logsumexp",),
    samples=(
        Sample("f32[2,3]", {"dim": (1,)}),
        Sample("f64[2,3]", {"dim": (), "keepdim": True}),
        Sample("f32[2]", {"dim": (0, 0)}, AttributeValueError),
        Sample("i32[2]", {"dim": 0}, DTypeError),
    ),
)


def _order(value: Any) -> Any:
    if value in ("fro", "nuc") and isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError("must be an int, a float, 'fro' or 'nuc'")
    return value.item() if isinstance(value, np.generic) else value


def _norm(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Check the axes: two of them hold matrices, which have norms of a few orders only."""
    order, dim, rank = attributes["ord"], attributes["dim"], types[0].ndim
    axes = normalize_axes(op, dim or (), rank)
    if order is not None and len(axes) not in (1, 2):
        raise AttributeValueError(
            f"norm: ord {order!r} is for vectors and matrices, and here are {len(axes)} axes: name one or two in dim",
            types={"A": types[0]},
        )
    if (len(axes) == 1 and isinstance(order, str)) or (len(axes) == 2 and order not in _MATRIX_ORDERS):
        raise AttributeValueError(
            f"norm: there is no norm of order {order!r} over {len(axes)} axes", types={"A": types[0]}
        )
    return _over("dim", "keepdim")(op, types, attributes)


_MATRIX_ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"))


def _norm_dtype(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    found = attributes["dtype"] or groups["T"]
    real = {dt.complex64: dt.float32, dt.complex128: dt.float64}.get(found, found)
    return real if real in FLOATS else dt.float32


def _norm_reference(a, ord=None, dim=None, keepdim=False, dtype=None):
    a = a if dtype is None else a.astype(dtype.numpy)
    a = a if np.issubdtype(a.dtype, np.inexact) else a.astype(np.float32)
    axes = dim if dim is None or len(dim) != 1 else dim[0]
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.norm(a, ord, axes or None if axes == () else axes, keepdim)).astype(a.real.dtype)


norm = op(
    "Norm",
    "A:T",
    doc="The norm of vectors (one axis in dim) or matrices (two), by default of all elements as one vector. Integers "
    "are taken to float32 first.",
    result=_norm_dtype,
    accepts=NUMBERS,
    attributes=(
        Attribute("ord", checks.optional(_order), None),
        Attribute("dim", checks.axes, None),
        Attribute("keepdim", checks.boolean, False),
        Attribute("dtype", checks.optional(checks.dtype), None),
    ),
    shape=_norm,
    reference=_norm_reference,
    methods=("norm",),
    samples=(
        "f32[2,3]",
        Sample("f32[2,3]", {"ord": 1, "dim": (1,), "keepdim": True}),
        Sample("i32[3]", {"ord": float("inf")}),
        Sample("f64[2,3]", {"ord": "fro"}),
        Sample("f32[2,3]", {"ord": 3}, AttributeValueError),
        Sample("f32[2,3]", {"ord": "max"}, AttributeTypeError),
        Sample("b1[2]", raises=DTypeError),
    ),
    differs="The norm of complex numbers is real.",
)  # fmt: skip
