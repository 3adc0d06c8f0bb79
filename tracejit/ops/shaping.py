"""Operators that move elements without changing them: reshape, transpose, concatenate, stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import ALL
from tracejit.ops.shapes import broadcast_shapes, normalize_axis


def _reshape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    old, new = types[0], list(attributes["shape"])
    known = 1
    for length in new:
        known *= length if length != -1 else 1
    if new.count(-1) == 1 and known and old.size % known == 0:
        new[new.index(-1)] = old.size // known
        known = old.size
    if known != old.size or any(length < 0 for length in new):
        raise ShapeError(
            f"reshape: {list(old.shape)} has {old.size} elements and cannot take the shape {attributes['shape']}",
            types={"input_x": old},
            fix="the product of the lengths must stay; one length may be -1",
        )
    return [tuple(new)]


reshape = op(
    "Reshape",
    "input_x:-, shape",
    doc="The same elements in another shape; one length may be -1.",
    result="-",
    attributes=(Attribute("shape", checks.integers),),
    shape=_reshape,
    reference=lambda x, shape: x.reshape(shape),
    methods=("reshape",),
    samples=(
        Sample("f32[2,3]", {"shape": (3, 2)}),
        Sample("i8[4]", {"shape": (2, -1)}),
        Sample("f64[1]", {"shape": ()}),
        Sample("f32[0,3]", {"shape": (3, 0)}),
        Sample("f32[2,3]", {"shape": (4, 2)}, raises=ShapeError),
        Sample("f32[2,3]", {"shape": (-1, -1)}, raises=ShapeError),
        Sample("f32[2,3]", {"shape": (True, 6)}, raises=AttributeTypeError),
        Sample("2.5", {"shape": (1,)}, raises=DTypeError),
    ),
)


def _transpose(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape, axes = types[0].shape, attributes["input_perm"]
    normal = [normalize_axis(op, axis, len(shape), "input_perm") for axis in axes]
    if sorted(normal) != list(range(len(shape))):
        raise AttributeValueError(
            f"Transpose: input_perm {axes} is no permutation of the axes of {types[0]}",
            fix=f"name each of 0 to {len(shape) - 1} once",
        )
    return [tuple([shape[axis] for axis in normal])]


transpose = op(
    "Transpose",
    "input_x:-, input_perm",
    doc="Permute the axes.",
    result="-",
    attributes=(Attribute("input_perm", checks.integers),),
    shape=_transpose,
    reference=lambda x, input_perm: np.transpose(x, input_perm),
    methods=("transpose",),
    samples=(
        Sample("f32[2,3]", {"input_perm": (1, 0)}),
        Sample("i8[2,3,4]", {"input_perm": (2, 0, -2)}),
        Sample("f32[2,3]", {"input_perm": (0, 0)}, raises=AttributeValueError),
        Sample("f32[2,3]", {"input_perm": (0, 2)}, raises=AttributeValueError),
    ),
)


def _broadcast_to(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape = attributes["shape"]
    if broadcast_shapes([types[0].shape, shape]) != shape:
        raise ShapeError(f"broadcast_to: {types[0]} does not broadcast to {list(shape)}", types={"input_x": types[0]})
    return [shape]


broadcast_to = op(
    "BroadcastTo",
    "input_x:-",
    doc="Repeat along new axes and axes of length 1.",
    result="-",
    attributes=(Attribute("shape", checks.shape),),
    shape=_broadcast_to,
    reference=lambda x, shape: np.broadcast_to(x, shape),
    methods=("broadcast_to",),
    samples=(
        Sample("f32[3]", {"shape": (2, 3)}),
        Sample("i8[2,1]", {"shape": (2, 4)}),
        Sample("f32[3]", {"shape": (2, 4)}, raises=ShapeError),
        Sample("f32[3]", {"shape": (-1, 3)}, raises=AttributeValueError),
    ),
)


def _concat(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    first = types[0].shape
    axis = normalize_axis(op, attributes["axis"], len(first))
    rests = {type_.shape[:axis] + type_.shape[axis + 1 :] for type_ in types if type_.ndim == len(first)}
    if len(rests) != 1 or any(type_.ndim != len(first) for type_ in types):
        raise ShapeError(
            f"concat: shapes {', '.join(str(list(t.shape)) for t in types)} differ outside axis {axis}",
            types=op.names_of(types),
            fix="all axes but the one named must have equal lengths",
        )
    total = sum(type_.shape[axis] for type_ in types)
    return [(*first[:axis], total, *first[axis + 1 :])]


concat = op(
    "Concat",
    "*tensors:T",
    doc="Join tensors along an axis; they are converted to one dtype.",
    accepts=ALL,
    attributes=(Attribute("axis", checks.integer, 0),),
    shape=_concat,
    tensors_only=True,
    reference=lambda *tensors, axis=0: np.concatenate(tensors, axis),
    samples=(
        "f32[2,3] f32[1,3]",
        Sample("i8[2,3] f16[2,1]", {"axis": -1}),
        "u8[2] i8[2] f16[2]",
        "b1[0] b1[2]",
        Sample("f32[2,3] f32[2,2]", raises=ShapeError),
        Sample("f32[2,3] f32[3]", raises=ShapeError),
        Sample("f32[] f32[]", raises=AttributeValueError),
        Sample("f32[2] 1.0", raises=DTypeError),
    ),
)


def _stack(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    shape = types[0].shape
    if any(type_.shape != shape for type_ in types):
        raise ShapeError("stack: the tensors' shapes differ", types=op.names_of(types))
    axis = normalize_axis(op, attributes["axis"], len(shape) + 1)
    return [(*shape[:axis], len(types), *shape[axis:])]


stack = op(
    "Stack",
    "*tensors:T",
    doc="Join tensors of one shape along a new axis; they are converted to one dtype.",
    accepts=ALL,
    attributes=(Attribute("axis", checks.integer, 0),),
    shape=_stack,
    tensors_only=True,
    reference=lambda *tensors, axis=0: np.stack(tensors, axis),
    samples=(
        "f32[2,3] f32[2,3]",
        Sample("i8[2] f16[2]", {"axis": -1}),
        "i32[] i32[] i32[]",
        Sample("f32[2,3] f32[3,2]", raises=ShapeError),
        Sample("f32[2] f32[2]", {"axis": 2}, raises=AttributeValueError),
    ),
)
