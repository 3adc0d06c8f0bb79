"""Sorting and searching, distinct values, and running sums, products and extremes."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ir import ABSENT
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import ALL, NUMBERS, REALS
from tracejit.ops.shapes import normalize_axis

AXIS = Attribute("axis", checks.integer, -1)
DESCENDING = Attribute("descending", checks.boolean, False)


def along(name: str) -> Any:
    """Make a shape rule of results that have the first operand's shape, and refuse an axis that it does not have."""

    def rule(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
        normalize_axis(op, attributes[name], types[0].ndim, name)
        return [types[0].shape] * len(op.results)

    return rule


def _order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(x, axis, kind="stable").astype(np.int32)
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis, kind="stable"), axis).astype(np.int32)


def _sort_reference(x: np.ndarray, axis: int = -1, descending: bool = False) -> tuple[np.ndarray, np.ndarray]:
    order = _order(x, axis, descending)
    return np.take_along_axis(x, order, axis), order


_SAMPLES = (
    "f32[2,3]",
    Sample("i8[4,2]", {"axis": 0, "descending": True}),
    Sample("f32[2]", {"axis": 1}, AttributeValueError),
    Sample("c64[2]", raises=DTypeError),
)
sort = op(
    "Sort",
    "input_x:T",
    doc="The elements in order along an axis, equal ones in the order in which they are, and where each came from.",
    result=("T", "int32"),
    accepts=REALS,
    attributes=(AXIS, DESCENDING),
    shape=along("axis"),
    reference=_sort_reference,
    methods=("sort",),
    samples=_SAMPLES,
)
argsort = op(
    "ArgSort",
    "input:T",
    name="argsort",
    doc="Where the elements in order along an axis come from; equal ones keep their order.",
    result="int32",
    accepts=REALS,
    attributes=(AXIS, DESCENDING),
    shape=along("axis"),
    reference=lambda x, axis=-1, descending=False: _order(x, axis, descending),
    methods=("argsort",),
    samples=_SAMPLES,
)


def _topk(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape, k, dim = types[0].shape, attributes["k"], attributes["dim"]
    axis = normalize_axis(op, -1 if dim is None else dim, len(shape), "dim")
    if not 0 < k <= shape[axis]:
        raise AttributeValueError(f"TopK: k is {k}, and axis {axis} of {types[0]} has {shape[axis]} elements")
    return [(*shape[:axis], k, *shape[axis + 1 :])] * 2


def _topk_reference(
    x: np.ndarray, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    axis = -1 if dim is None else dim
    order = np.take(_order(x, axis, largest), range(k), axis)
    return np.take_along_axis(x, order, axis), order


topk = op(
    "TopK",
    "input:T, k",
    name="topk",
    doc="The k greatest elements along an axis (the last by default), or the k least, and where they are.",
    result=("T", "int32"),
    accepts=REALS,
    attributes=(
        Attribute("k", checks.integer),
        Attribute("dim", checks.optional(checks.integer), None),
        Attribute("largest", checks.boolean, True),
        Attribute("sorted", checks.boolean, True),
    ),
    constructor=("sorted",),
    shape=_topk,
    reference=_topk_reference,
    methods=("topk",),
    samples=(
        Sample("f32[2,5]", {"k": 2}),
        Sample("i8[5,2]", {"k": 1, "dim": 0, "largest": False}),
        Sample("f32[2,5]", {"k": 6}, AttributeValueError),
        Sample("f32[2,5]", {"k": True}, AttributeTypeError),
    ),
    differs="The results are sorted whatever `sorted` says.",
)


def _searchsorted(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    row, values, sorter = types
    rows_fit = row.ndim == 1 or (row.ndim == values.ndim and row.shape[:-1] == values.shape[:-1])
    if row.ndim == 0 or not rows_fit or (sorter is not ABSENT and sorter.shape != row.shape):
        raise ShapeError(
            f"{op.name}: {values} cannot be looked up in {row}",
            types=op.names_of(types),
            rule="sorted_sequence (and sorter) is one row, or has the leading axes of values",
        )
    return [values.shape]


def _searchsorted_reference(row, values, sorter=None, out_int32=False, right=False, side=None, dtype=None):
    side = side or ("right" if right else "left")
    out = dtype.numpy if dtype else np.int32 if out_int32 else np.int64
    row = row if sorter is None else np.take_along_axis(row, sorter, -1)
    if row.ndim == 1:
        return np.searchsorted(row, values, side).astype(out)
    found = [
        np.searchsorted(r, v, side)
        for r, v in zip(row.reshape(-1, row.shape[-1]), values.reshape(-1, values.shape[-1]))
    ]
    return np.array(found, out).reshape(values.shape)  # fmt: skip


def _index_dtype(value: Any) -> dt.DType:
    dtype = checks.dtype(value)
    if dtype not in (dt.int32, dt.int64):
        raise ValueError("must be int32 or int64")
    return dtype


def _search_dtype(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    return attributes["dtype"] or (dt.int32 if attributes["out_int32"] else dt.int64)


searchsorted = op(
    "SearchSorted",
    "sorted_sequence:=T, values:=T, sorter:index?",
    name="searchsorted",
    doc="Where each value would have to stand in a sorted row: before equal ones, or behind them (right).",
    result=_search_dtype,
    accepts=REALS,
    attributes=(
        Attribute("out_int32", checks.boolean, False),
        Attribute("right", checks.boolean, False),
        Attribute("side", checks.optional(checks.one_of("left", "right")), None),
        Attribute("dtype", checks.optional(_index_dtype), None),
    ),
    constructor=("dtype", "right"),
    shape=_searchsorted,
    reference=_searchsorted_reference,
    samples=(
        "f32[2] f32[2,2]",
        Sample("i32[2,2] i32[2,3]", {"right": True}),
        Sample("f32[5] f16[2]", raises=DTypeError),
        Sample("f32[2,4] f32[3]", raises=ShapeError),
    ),
    differs="sorter is the third argument of the function too.",
)  # fmt: skip


def _unique_reference(x: np.ndarray, size: int, fill_value: Any = 0) -> tuple[np.ndarray, np.ndarray]:
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    found = x.ravel()[np.sort(first)][:size]
    indices = rank[inverse.ravel()].reshape(x.shape)
    found = np.pad(found, (0, size - len(found)), constant_values=fill_value)
    return found, indices.astype(np.int64 if x.dtype == np.int64 else np.int32)


def _number(value: Any) -> Any:
    if value.__class__ in (bool, int, float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError("must be a Python number")


unique = op(
    "Unique",
    "input:T",
    doc="The distinct elements in the order in which they first appear, filled up to the given size, and the position "
    "of each element's value among them.",
    result=("T", lambda groups, attributes, dialect: dt.int64 if groups["T"] is dt.int64 else dt.int32),
    accepts=REALS,
    attributes=(Attribute("size", checks.size), Attribute("fill_value", _number, 0)),
    shape=lambda op, types, attributes: [(attributes["size"],), types[0].shape],
    reference=_unique_reference,
    methods=("unique",),
    samples=(
        Sample("i32[6]", {"size": 4}),
        Sample("f32[2,2]", {"size": 6, "fill_value": -1}),
        Sample("i32[6]", raises=AttributeTypeError),
        Sample("c64[2]", {"size": 2}, DTypeError),
    ),
    differs="The number of results is an argument, size: shapes do not depend on values. What does not fit is dropped.",
)
nonzero = op(
    "NonZero",
    "input:T",
    name="nonzero",
    doc="The indices of the elements that are not 0, one a row, in order, filled up to the given number of rows.",
    result="int64",
    accepts=ALL,
    attributes=(Attribute("size", checks.size), Attribute("fill_value", checks.integer, -1)),
    shape=lambda op, types, attributes: [(attributes["size"], types[0].ndim)],
    reference=lambda x, size, fill_value=-1: np.concatenate(
        [np.argwhere(x)[:size], np.full((max(0, size - np.count_nonzero(x)), x.ndim), fill_value)]
    ).astype(np.int64),
    methods=("nonzero",),
    samples=(
        Sample("i32[6]", {"size": 8}),
        Sample("b1[2,2]", {"size": 2, "fill_value": 9}),
        Sample("i32[6]", {"size": -1}, AttributeValueError),
    ),
    differs="The number of rows is an argument, size: shapes do not depend on values. What does not fit is dropped.",
)


def _shifted(x: np.ndarray, axis: int, exclusive: bool, start: int) -> np.ndarray:
    if not exclusive:
        return x
    first = np.full_like(np.take(x, [0], axis), start) if x.shape[axis] else x
    return np.concatenate([first, np.take(x, range(x.shape[axis] - 1), axis)], axis) if x.shape[axis] else x


def _cumulative(class_name: str, axis: str, word: str, function: Callable[..., Any], start: int) -> Op:
    def reference(
        x: np.ndarray, dtype: Any = None, exclusive: bool = False, reverse: bool = False, **named: int
    ) -> Any:
        x, where = x if dtype is None else x.astype(dtype.numpy), named[axis]
        x = np.flip(x, where) if reverse else x
        x = _shifted(function(x, where, dtype=x.dtype), where, exclusive, start)
        return np.flip(x, where) if reverse else x

    name = class_name.lower()
    return op(
        class_name,
        f"x:T, {axis}",
        name=name,
        doc=f"The running {word} along an axis: of the elements before (exclusive), from the end (reverse).",
        result=lambda groups, attributes, dialect: attributes["dtype"] or groups["T"],
        accepts=NUMBERS,
        attributes=(
            Attribute(axis, checks.integer),
            Attribute("dtype", checks.optional(checks.dtype), None),
            Attribute("exclusive", checks.boolean, False),
            Attribute("reverse", checks.boolean, False),
        ),
        constructor=("exclusive", "reverse"),
        shape=along(axis),
        reference=reference,
        methods=(name,),
        samples=(
            Sample("f32[2,3]", {axis: 1}),
            Sample("i8[2,3]", {axis: -2, "exclusive": True, "reverse": True}),
            Sample("f16[4]", {axis: 0, "dtype": dt.float32}),
            Sample("f32[2,3]", {axis: 2}, AttributeValueError),
            Sample("b1[2]", {axis: 0}, DTypeError),
        ),
        differs="Integers keep their dtype in every form, as the class has it.",
    )


cumsum = _cumulative("CumSum", "axis", "sum", np.cumsum, 0)
cumprod = _cumulative("CumProd", "dim", "product", np.cumprod, 1)


def _extreme(class_name: str, word: str, index: str, function: Any) -> Op:
    def reference(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        values = function.accumulate(x, axis)
        shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
        places = np.where(x == values, np.arange(x.shape[axis]).reshape(shape), 0)
        return values, np.maximum.accumulate(places, axis).astype(index)

    return op(
        class_name,
        "input:T",
        doc=f"The running {word} along an axis, and where it is: the last of equals; a NaN stays.",
        result=("T", index),
        accepts=REALS,
        attributes=(Attribute("axis", checks.integer),),
        shape=along("axis"),
        reference=reference,
        methods=(class_name.lower(),),
        samples=(
            Sample("f32[2,3]", {"axis": 1}),
            Sample("i8[4,2]", {"axis": 0}),
            Sample("f32[2,3]", {"axis": -3}, AttributeValueError),
            Sample("b1[2]", {"axis": 0}, DTypeError),
        ),
    )


cummax = _extreme("Cummax", "maximum", "int64", np.maximum)
cummin = _extreme("Cummin", "minimum", "int32", np.minimum)
