"""Choosing elements: Select, Gather, OneHot, and what `x[...]` and `x[...] = v` stand for."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, IndexBoundsError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Bound, Op, Sample, op
from tracejit.ops.sets import ALL, BOOL
from tracejit.ops.shapes import broadcast, normalize_axis

select = op(
    "Select",
    "condition:C, input_x:T, input_y:T",
    doc="x where the condition is true, else y; shapes broadcast.",
    accepts={"C": BOOL, "T": ALL},
    shape=broadcast,
    reference=lambda condition, x, y: np.where(condition, x, y),
    samples=(
        "b1[2,3] f32[2,3] f32[2,3]",
        "b1[3] i8[3] f32[3]",
        "b1[3] f32[3] 0.0",
        "b1[2,1] u8[3] i8[]",
        Sample("b1[2] f32[3] f32[3]", raises=ShapeError),
        Sample("i32[3] f32[3] f32[3]", raises=DTypeError),
        Sample("b1[3] u16[3] i16[3]", raises=DTypeError),
    ),
    differs="Shapes broadcast in both dialects.",
)


def _gather(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    params, indices = types
    axis = normalize_axis(op, attributes["axis"], params.ndim)
    return [params.shape[:axis] + indices.shape + params.shape[axis + 1 :]]


def _gather_bounds(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Bound]:
    axis = normalize_axis(op, attributes["axis"], types[0].ndim)
    return [Bound(1, (types[0].shape[axis],))]


gather = op(
    "Gather",
    "input_params:-, input_indices:index, axis",
    doc="Take slices along an axis, one per index. Indices are never negative.",
    result="-",
    attributes=(Attribute("axis", checks.integer, 0),),
    shape=_gather,
    bounds=_gather_bounds,
    reference=lambda x, indices, axis=0: np.take(x, indices, axis),
    samples=(
        Sample("f32[4,3] i32[2]", {"axis": 0}),
        Sample("i8[2,3] i64[2,2]", {"axis": 1}),
        Sample("b1[2,3] i32[]", {"axis": -1}),
        Sample("f32[4,3] i8[2]", {"axis": 0}, raises=DTypeError),
        Sample("f32[4,3] 1", {"axis": 0}, raises=DTypeError),
        Sample("f32[4,3] i32[2]", {"axis": 2}, raises=AttributeValueError),
        Sample("f32[4,3] i32[2]", {"axis": True}, raises=AttributeTypeError),
        Sample("f32[1,3] i32[2]", {"axis": 0}, raises=IndexBoundsError),
    ),
    differs="A bad index raises in eager calls; traced with unknown indices it gives 0.",
)


def _one_hot(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape = types[0].shape
    if types[1].shape or types[2].shape:
        raise ShapeError("one_hot: on_value and off_value must be 0-d or scalars", types=op.names_of(types))
    axis = normalize_axis(op, attributes["axis"], len(shape) + 1)
    return [(*shape[:axis], attributes["depth"], *shape[axis:])]


def _one_hot_reference(indices, on_value, off_value, depth, axis=-1):
    hot = indices[..., None] == np.arange(depth)
    return np.moveaxis(np.where(hot, on_value, off_value), -1, axis)


one_hot = op(
    "OneHot",
    "indices:index, depth, on_value:T, off_value:T",
    doc="on_value at the position that each index names along a new axis, off_value elsewhere.",
    accepts=ALL,
    attributes=(Attribute("depth", checks.size), Attribute("axis", checks.integer, -1)),
    shape=_one_hot,
    reference=_one_hot_reference,
    samples=(
        Sample("i32[3] f32[] f32[]", {"depth": 4}),
        Sample("i64[2,2] f32[] i8[]", {"depth": 3, "axis": 0}),
        Sample("i32[3] f32[] 0.5", {"depth": 1}),
        Sample("f32[3] f32[] f32[]", {"depth": 4}, raises=DTypeError),
        Sample("i32[3] f32[2] f32[]", {"depth": 4}, raises=ShapeError),
        Sample("i32[3] f32[] f32[]", {"depth": -1}, raises=AttributeValueError),
        Sample("i32[3] f32[] f32[]", {"depth": 4, "axis": 2}, raises=AttributeValueError),
    ),
    differs="on_value and off_value are converted to one dtype.",
)


def _indexed_axes(index: tuple[Any, ...], rank: int) -> list[int]:
    """Return the axis that each index tensor of `x[...]` picks from."""
    taken = sum(item[0] in ("int", "slice", "tensor") for item in index)
    axes, axis = [], 0
    for item in index:
        if item[0] == "tensor":
            axes.append(axis)
        if item[0] == "ellipsis":
            axis += rank - taken
        axis += item[0] in ("int", "slice", "tensor")
    return axes


def _item_bounds(first: int) -> Any:
    def bounds(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Bound]:
        shape = types[0].shape
        axes = _indexed_axes(attributes["index"], len(shape))
        return [Bound(first + i, (shape[axis],), negative=True) for i, axis in enumerate(axes)]

    return bounds


getitem = op(
    "GetItem",
    "x:-, *indices:-",
    name="getitem",
    doc="x[index] with NumPy's meaning: integers, slices, None, ..., index and bool tensors.",
    result="-",
    attributes=(Attribute("index", checks.anything),),
    bounds=_item_bounds(1),
    hidden=True,
)
setitem = op(
    "SetItem",
    "x:-, value:-, *indices:-",
    name="setitem",
    doc="x with x[index] replaced by value, broadcast; the value has x's dtype.",
    result="-",
    attributes=(Attribute("index", checks.anything),),
    bounds=_item_bounds(2),
    hidden=True,
)


check_indices = op(
    "CheckIndices",
    "indices:index",
    doc="Whether an index lies outside its axis (0 or 1), and the first such index.",
    result=lambda groups, attributes, dialect: groups["-"],
    attributes=tuple(Attribute(name, checks.anything) for name in ("limits", "coordinates", "negative")),
    shape=lambda op, types, attributes: [(2,)],
    hidden=True,
)
