"""Reductions over axes, and ArgMax / ArgMin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import ALL, NUMBERS, REALS
from tracejit.ops.shapes import normalize_axis, reduce

AXIS = Attribute("axis", checks.axes, ())
KEEP_DIMS = Attribute("keep_dims", checks.boolean, False)


def _over_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: np.ndarray, axis: tuple[int, ...] = (), keep_dims: bool = False) -> np.ndarray:
        return np.asarray(function(x, axis=axis or None, keepdims=keep_dims))

    return reference


def _reduction(class_name: str, method: str, doc: str, accepts: Any, function: Callable[..., Any], **options: Any):
    dtypes = ("f32", "i8") if accepts is not ALL else ("b1", "i8")
    samples = [f"{dtypes[0]}[2,3]", Sample(f"{dtypes[1]}[2,3]", {"axis": (1,)})]
    samples.append(Sample(f"{dtypes[0]}[2,3,2]", {"axis": (0, -1), "keep_dims": True}))
    return op(
        class_name,
        "x:T, axis",
        doc=f"{doc} over the axes given, over all of them by default.",
        accepts=accepts,
        attributes=(AXIS, KEEP_DIMS),
        shape=reduce,
        reference=_over_axes(function),
        methods=(method,),
        method_keywords={"keepdims": "keep_dims"},
        samples=samples,
        **options,
    )


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
reduce_max = _reduction("ReduceMax", "max", "Maximum", REALS, np.max)
reduce_min = _reduction("ReduceMin", "min", "Minimum", REALS, np.min)
reduce_mean = _reduction(
    "ReduceMean", "mean", "Mean; that of integers keeps the dtype and truncates,", NUMBERS, _integer_mean
)
reduce_all = _reduction("ReduceAll", "all", "Whether all elements are non-zero", ALL, np.all, result="bool")
reduce_any = _reduction("ReduceAny", "any", "Whether any element is non-zero", ALL, np.any, result="bool")


def _along_axis(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape = types[0].shape
    axis = normalize_axis(op, attributes["axis"], len(shape))
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
        samples=("f32[2,3]", Sample("i8[3,4]", {"axis": 0})),
    )


argmax = _arg("Argmax", "argmax", "maximum", np.argmax)
argmin = _arg("Argmin", "argmin", "minimum", np.argmin)
