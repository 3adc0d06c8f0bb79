"""Reductions over axes, and ArgMax / ArgMin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import INDEX_DTYPES, Attribute, Op, Sample, ShapeRule, op
from tracejit.ops.sets import ALL, NUMBERS, REALS
from tracejit.ops.shapes import normalize_axes, normalize_axis, reduce

AXIS = Attribute("axis", checks.axes, ())
KEEP_DIMS = Attribute("keep_dims", checks.boolean, False)


def _over_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: np.ndarray, axis: tuple[int, ...] = (), keep_dims: bool = False) -> np.ndarray:
        return np.asarray(function(x, axis=axis or None, keepdims=keep_dims))

    return reference


def _reduction(
    class_name: str,
    method: str,
    doc: str,
    accepts: Any,
    function: Callable[..., Any],
    shape: ShapeRule = reduce,
    **options: Any,
):
    dtypes = ("f32", "i8") if accepts is not ALL else ("b1", "i8")
    refused = [] if accepts is ALL else [Sample("b1[3]", raises=DTypeError)]
    refused += [Sample("f32[2,0]", raises=ShapeError)] if shape is not reduce else []
    samples = [f"{dtypes[0]}[2,3]", Sample(f"{dtypes[1]}[2,3]", {"axis": (1,)})]
    samples.append(Sample(f"{dtypes[0]}[2,3,2]", {"axis": (0, -1), "keep_dims": True}))
    samples.append(Sample(f"{dtypes[0]}[2,0]", {"axis": 0}))
    samples.append(Sample(f"{dtypes[0]}[]"))
    samples.append(Sample("f32[2,3]", {"axis": 2}, raises=AttributeValueError))
    samples.append(Sample("f32[2,3]", {"axis": (0, -2)}, raises=AttributeValueError))
    samples.append(Sample("f32[2,3]", {"axis": True}, raises=AttributeTypeError))
    samples.append(Sample("f32[2,3]", {"axis": 0, "keep_dims": 1}, raises=AttributeTypeError))
    samples += refused
    return op(
        class_name,
        "x:T, axis",
        doc=f"{doc} over the axes given, over all of them by default.",
        accepts=accepts,
        attributes=(AXIS, KEEP_DIMS),
        shape=shape,
        reference=_over_axes(function),
        methods=(method,),
        method_keywords={"keepdims": "keep_dims"},
        samples=samples,
        **options,
    )


def _not_empty(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Reduce, but not over no elements at all: a maximum and a minimum have no value there."""
    shape = types[0].shape
    if any(shape[axis] == 0 for axis in normalize_axes(op, attributes["axis"], len(shape))):
        raise ShapeError(
            f"{op.class_name}: {types[0]} has no elements to choose from",
            types=op.names_of(types),
            rule="the reduced axes need at least one element",
        )
    return reduce(op, types, attributes)


def _integer_mean(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if not np.issubdtype(x.dtype, np.integer):
        return np.mean(x, axis=axis, keepdims=keepdims, dtype=np.result_type(x.dtype, np.float32)).astype(x.dtype)
    return np.trunc(np.mean(x.astype(np.float64), axis=axis, keepdims=keepdims)).astype(x.dtype)


reduce_sum = _reduction(
    "ReduceSum", "sum", "Sum; integers keep their dtype and wrap,", NUMBERS,
    lambda x, **options: np.sum(x, dtype=x.dtype, **options),
)  # fmt: skip
reduce_prod = _reduction(
    "ReduceProd", "prod", "Product; integers keep their dtype and wrap,", NUMBERS,
    lambda x, **options: np.prod(x, dtype=x.dtype, **options),
)  # fmt: skip
reduce_max = _reduction("ReduceMax", "max", "Maximum", REALS, np.max, _not_empty)
reduce_min = _reduction("ReduceMin", "min", "Minimum", REALS, np.min, _not_empty)
reduce_mean = _reduction(
    "ReduceMean", "mean", "Mean; that of integers keeps the dtype and truncates,", NUMBERS, _integer_mean
)
reduce_all = _reduction("ReduceAll", "all", "Whether all elements are non-zero", ALL, np.all, result="bool")
reduce_any = _reduction("ReduceAny", "any", "Whether any element is non-zero", ALL, np.any, result="bool")


def _along_axis(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape = types[0].shape
    axis = normalize_axis(op, attributes["axis"], len(shape))
    if shape[axis] == 0:
        raise ShapeError(f"{op.class_name}: axis {axis} of {types[0]} has no elements to choose from")
    if attributes["output_type"] not in INDEX_DTYPES:
        raise DTypeError(f"{op.class_name}: output_type must be int32 or int64, not {attributes['output_type']}")
    return [shape[:axis] + shape[axis + 1 :]]


def _arg(class_name: str, method: str, word: str, function: Callable[..., Any]):
    return op(
        class_name,
        "x:T",
        doc=f"The index of the {word} along an axis; the first of equals, NaN counts as the {word}.",
        result=":output_type",
        accepts=REALS,
        attributes=(Attribute("axis", checks.integer, -1), Attribute("output_type", checks.dtype, dt.int32)),
        shape=_along_axis,
        reference=lambda x, axis=-1, output_type=dt.int32: function(x, axis=axis).astype(output_type.numpy),
        methods=(method,),
        samples=(
            "f32[2,3]",
            Sample("i8[3,4]", {"axis": 0}),
            Sample("f16[4]", {"output_type": dt.int64}),
            Sample("f32[]", raises=AttributeValueError),
            Sample("f32[2,0]", raises=ShapeError),
            Sample("b1[3]", raises=DTypeError),
            Sample("f32[3]", {"output_type": dt.float32}, raises=DTypeError),
        ),
    )


argmax = _arg("Argmax", "argmax", "maximum", np.argmax)
argmin = _arg("Argmin", "argmin", "minimum", np.argmin)
