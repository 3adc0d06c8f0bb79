"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeTypeError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import NUMBERS
from tracejit.ops.shapes import broadcast_shapes


def _swapped(shape: tuple[int, ...], swap: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if swap and len(shape) > 1 else shape


def _matmul(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    left, right = (
        _swapped(types[0].shape, attributes["transpose_a"]),
        _swapped(types[1].shape, attributes["transpose_b"]),
    )
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    batch = broadcast_shapes([left[:-2], right[:-2]])
    fits = left and right and left[-1] == right[-2 if len(right) > 1 else 0]
    if not fits or batch is None:
        raise ShapeError(
            f"{op.name}: {list(left)} and {list(right)} cannot be multiplied",
            types=op.names_of(types),
            rule="the last axis of the first must equal the last but one of the second; leading axes broadcast",
            fix="transpose one operand (transpose_a, transpose_b), or reshape it",
        )
    return [(*batch, *rows, *columns)]


def _reference(x: np.ndarray, y: np.ndarray, transpose_a: bool = False, transpose_b: bool = False) -> np.ndarray:
    x = np.swapaxes(x, -1, -2) if transpose_a and x.ndim > 1 else x
    y = np.swapaxes(y, -1, -2) if transpose_b and y.ndim > 1 else y
    return np.matmul(x, y)


matmul = op(
    "MatMul",
    "x:T, y:T",
    name="matmul",
    doc="The matrix product; leading axes broadcast, 1-d operands are vectors as in NumPy.",
    accepts=NUMBERS,
    attributes=(Attribute("transpose_a", checks.boolean, False), Attribute("transpose_b", checks.boolean, False)),
    shape=_matmul,
    tensors_only=True,
    reference=_reference,
    methods=("__matmul__", "matmul"),
    samples=(
        "f32[2,3] f32[3,4]",
        "f16[2,3] f32[3]",
        "f32[3] f32[3]",
        "f32[5,1,2,3] f64[4,3,2]",
        "f32[2,0] f32[0,3]",
        Sample("i32[3,2] i8[3,4]", {"transpose_a": True}),
        Sample("u8[2,3] u8[4,3]", {"transpose_b": True}),
        Sample("f32[2,3] f32[2,3]", raises=ShapeError),
        Sample("f32[] f32[3]", raises=ShapeError),
        Sample("b1[2,2] b1[2,2]", raises=DTypeError),
        Sample("f32[2,2] 2.5", raises=DTypeError),
        Sample("f32[2,2] f32[2,2]", {"transpose_a": 1}, raises=AttributeTypeError),
    ),
    differs="Integers are multiplied too, and any rank is accepted.",
)
