"""Taking parts by position and putting parts back: slices, elements at indices, masks."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeValueError, DTypeError, IndexBoundsError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Bound, Op, Sample, op
from tracejit.ops.sets import ALL, BOOL
from tracejit.ops.shapes import broadcast, broadcast_shapes, normalize_axis

Shape = tuple[int, ...]
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def index_of(begin: Shape, end: Shape, strides: Shape, masks: Sequence[int]) -> tuple[Any, ...]:
    """Return what `x[...]` takes for the arguments of a strided slice; bit i of a mask is about entry i."""
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    index: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << i
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(first)
        else:
            index.append(slice(None if begin_mask & bit else first, None if end_mask & bit else last, step))
    return tuple(index)


def _strided_slice(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    begin, end, strides = (attributes[name] for name in ("begin", "end", "strides"))
    masks = [attributes[name] for name in MASKS]
    if not len(begin) == len(end) == len(strides):
        raise AttributeValueError(f"strided_slice: begin {begin}, end {end} and strides {strides} differ in length")
    if 0 in strides:
        raise AttributeValueError(f"strided_slice: strides {strides} contain 0")
    if masks[2].bit_count() > 1:
        raise AttributeValueError(f"strided_slice: ellipsis_mask {masks[2]} names more than one entry")
    index = index_of(begin, end, strides, masks)
    model = np.broadcast_to(np.zeros((), np.bool_), types[0].shape)
    try:
        return [model[index].shape]
    except IndexError as error:
        raise ShapeError(f"strided_slice: {str(error).partition(', but')[0]}", types={"input_x": types[0]}) from None


def _strided_reference(x: np.ndarray, begin: Shape, end: Shape, strides: Shape, **masks: int) -> np.ndarray:
    return x[index_of(begin, end, strides, [masks.get(name, 0) for name in MASKS])]


strided_slice = op(
    "StridedSlice",
    "input_x:-, begin, end, strides",
    doc="x[begin:end:strides] over the first axes. Bit i of a mask changes entry i: begin_mask and end_mask leave the "
    "bound out, ellipsis_mask makes it `...`, new_axis_mask a new axis, shrink_axis_mask the index begin[i].",
    result="-",
    attributes=(
        *[Attribute(name, checks.integers) for name in ("begin", "end", "strides")],
        *[Attribute(name, checks.size, 0) for name in MASKS],
    ),
    shape=_strided_slice,
    reference=_strided_reference,
    differs="MindSpore 2.10 on CPUs gives other elements where ellipsis_mask or new_axis_mask is set.",
    samples=(
        Sample("f32[3,4]", {"begin": (0, 1), "end": (3, 4), "strides": (2, 1)}),
        Sample("i8[3,4]", {"begin": (2, -1), "end": (0, -4), "strides": (-1, -2), "end_mask": 1}),
        Sample(
            "f32[2,3]",
            {"begin": (1, 0, 0), "end": (2, 1, 2), "strides": (1, 1, 1), "shrink_axis_mask": 1, "new_axis_mask": 2},
        ),
        Sample("f32[4]", {"begin": 0, "end": 2, "strides": 0}, AttributeValueError),
        Sample("f32[4]", {"begin": (0, 0), "end": (2, 2), "strides": (1, 1)}, ShapeError),
    ),
)


def _slice(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, begin, size = types[0].shape, attributes["begin"], attributes["size"]
    if not len(begin) == len(size) == len(shape):
        raise AttributeValueError(f"slice: begin {begin} and size {size} need one entry for each axis of {types[0]}")
    sizes = [n - first if length == -1 else length for n, first, length in zip(shape, begin, size)]
    if any(first < 0 or length < 0 or first + length > n for n, first, length in zip(shape, begin, sizes)):
        raise AttributeValueError(f"slice: begin {begin} and size {size} reach out of {types[0]}")
    return [tuple(sizes)]


slice_ = op(
    "Slice",
    "input_x:-, begin, size",
    doc="The part that begins somewhere and has some size; -1 means as far as there are elements.",
    result="-",
    attributes=(Attribute("begin", checks.integers), Attribute("size", checks.integers)),
    shape=_slice,
    reference=lambda x, begin, size: x[tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size))],
    samples=(
        Sample("f32[2,3]", {"begin": (0, 1), "size": (1, 2)}),
        Sample("i8[4]", {"begin": 1, "size": -1}),
        Sample("f32[2]", {"begin": 1, "size": 2}, AttributeValueError),
    ),
)


def _slice_scatter(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, src = types
    axis = normalize_axis(op, attributes["axis"], x.ndim)
    if attributes["step"] < 1:
        raise AttributeValueError(f"slice_scatter: step {attributes['step']} is not positive")
    places = range(x.shape[axis])[slice(attributes["start"], attributes["end"], attributes["step"])]
    wanted = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    if src.shape != wanted:
        raise ShapeError(
            f"slice_scatter: src has the shape {list(src.shape)}, and the slice has {list(wanted)}",
            types=op.names_of(types),
        )
    return [x.shape]


def _slice_scatter_reference(x, src, axis=0, start=None, end=None, step=1):
    x = x.copy()
    np.moveaxis(x, axis, 0)[start:end:step] = np.moveaxis(src, axis, 0)
    return x


slice_scatter = op(
    "SliceScatter",
    "input:=T, src:=T",
    doc="input with the slice start:end:step of an axis replaced by src; negative bounds count from the end.",
    accepts=ALL,
    attributes=(
        Attribute("axis", checks.integer, 0),
        Attribute("start", checks.optional(checks.integer), None),
        Attribute("end", checks.optional(checks.integer), None),
        Attribute("step", checks.integer, 1),
    ),
    tensors_only=True,
    shape=_slice_scatter,
    reference=_slice_scatter_reference,
    samples=(
        Sample("i32[4,6] i32[4,3]", {"axis": 1, "start": -6, "end": 5, "step": 2}),
        Sample("f32[4] f32[2]", {"end": -2}),
        Sample("f32[4] f32[3]", {"end": -2}, ShapeError),
        Sample("f32[4] i32[2]", {"end": 2}, DTypeError),
    ),
)


def _gather_nd(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, indices = types
    if indices.ndim == 0 or indices.shape[-1] > x.ndim:
        raise ShapeError(
            f"gather_nd: the last axis of {indices} holds coordinates, and {x} has {x.ndim} axes",
            types=op.names_of(types),
        )
    return [indices.shape[:-1] + x.shape[indices.shape[-1] :]]


gather_nd = op(
    "GatherNd",
    "input_x:-, indices:index",
    doc="The slice at each row of coordinates: the last axis of indices says where, one number for each leading axis.",
    result="-",
    shape=_gather_nd,
    bounds=lambda op, types, attributes: [
        Bound(1, types[0].shape[: types[1].shape[-1] if types[1].ndim else 0], coordinates=True)
    ],
    reference=lambda x, indices: x[tuple(np.moveaxis(indices, -1, 0))],
    methods=("gather_nd",),
    samples=(
        "f32[2,3] i32[4,2]",
        "i8[3,2] i64[2,2,1]",
        Sample("f32[2] i32[3,2]", raises=ShapeError),
        Sample("f32[1,2] i32[2,1]", raises=IndexBoundsError),
    ),
    differs="A bad index raises in eager calls; traced with unknown indices it gives 0.",
)


def _gather_elements(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, index = types
    dim = normalize_axis(op, attributes["dim"], x.ndim, "dim")
    if index.ndim != x.ndim or any(m > n for i, (m, n) in enumerate(zip(index.shape, x.shape)) if i != dim):
        raise ShapeError(
            f"gather_elements: index has the shape {list(index.shape)}",
            types=op.names_of(types),
            rule="it has as many axes as input, none longer than input's but dim",
        )
    return [index.shape]


def _gather_elements_reference(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    kept = tuple([slice(None) if i == dim % x.ndim else slice(n) for i, n in enumerate(index.shape)])
    return np.take_along_axis(x[kept], index, dim)


gather_elements = op(
    "GatherD",
    "input:-, dim, index:index",
    name="gather_elements",
    doc="The element at each index along an axis, at the place of the index along the others; negative ones count "
    "from the end.",
    result="-",
    attributes=(Attribute("dim", checks.integer),),
    functions=("gather_elements", "gather_d"),
    shape=_gather_elements,
    bounds=lambda op, types, attributes: [Bound(1, (types[0].shape[attributes["dim"]],), negative=True)],
    reference=_gather_elements_reference,
    methods=("gather_elements",),
    samples=(
        Sample("f32[3,3] i32[3,2]", {"dim": 1}),
        Sample("i8[3,2] i64[1,2]", {"dim": 0}),
        Sample("f32[3,1] i32[3,2]", {"dim": 1}, IndexBoundsError),
        Sample("f32[3] i32[3,2]", {"dim": 0}, ShapeError),
    ),
    differs="A bad index raises in eager calls; traced with unknown indices it gives 0.",
)
take = op(
    "Take",
    "input:-, index:index",
    doc="The elements at positions of the flattened tensor; negative ones count from the end.",
    result="-",
    shape=lambda op, types, attributes: [types[1].shape],
    bounds=lambda op, types, attributes: [Bound(1, (types[0].size,), negative=True)],
    reference=lambda x, index: np.take(x, index),
    methods=("take",),
    samples=("f32[2,3] i64[2,2]", "i8[4] i32[3]", Sample("f32[1] i32[2]", raises=IndexBoundsError)),
    differs="A bad index raises in eager calls; traced with unknown indices it gives 0.",
)


def _masked_fill(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, mask, value = types
    shape = broadcast_shapes([x.shape, mask.shape])
    if value.shape or shape is None:
        raise ShapeError(
            "masked_fill: " + ("value must be 0-d" if value.shape else "the mask does not broadcast"),
            types=op.names_of(types),
        )
    return [shape]


masked_fill = op(
    "MaskedFill",
    "input_x:=T, mask:C, value:=T",
    doc="value where the mask is true, else x; x and the mask broadcast.",
    accepts={"T": ALL, "C": BOOL},
    shape=_masked_fill,
    reference=lambda x, mask, value: np.where(mask, np.asarray(value).astype(x.dtype), x),
    methods=("masked_fill",),
    samples=(
        "f32[2,3] b1[2,3] 9.0",
        "i8[3] b1[2,1] i8[]",
        Sample("i8[3] b1[3] 0.5", raises=DTypeError),
        Sample("f32[3] b1[2] 1.0", raises=ShapeError),
    ),
)
where = op(
    "Where",
    "condition:C, input:T, other:T",
    doc="input where the condition is true, else other; shapes broadcast. Two Python scalars make a tensor.",
    accepts={"C": BOOL, "T": ALL},
    shape=broadcast,
    scalars="default",
    reference=lambda condition, x, y: np.where(condition, x, y),
    samples=(
        "b1[2,3] f32[2,3] f32[2,3]",
        "b1[3] i8[3] f32[2,3]",
        "b1[3] f32[3] 0.0",
        Sample("i32[3] f32[3] f32[3]", raises=DTypeError),
        Sample("b1[3] f32[2] f32[3]", raises=ShapeError),
    ),
)
