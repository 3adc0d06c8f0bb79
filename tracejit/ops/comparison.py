"""Comparisons and logical operators (OPS.md 1): operands in one dtype group, bool out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeTypeError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Dialects, Op, Sample, op
from tracejit.ops.sets import ALL, BOOL, FLOATS, HALF_AND_SINGLE, REALS, REALS_THEN_BOOL
from tracejit.ops.shapes import broadcast

SAMPLES = ("f32[2,3] f32[3]", "i8[4] i32[4]", "f16[3] 2.5", "2 i16[2,1]", "u8[3] i8[3]", "f64[] f32[2]")


def _comparison(class_name: str, symbol: str, method: str, accepts: Any, reference: Callable[..., Any]):
    return op(
        class_name,
        "input_x:T, input_y:T",
        doc=f"x {symbol} y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true.",
        result="bool",
        accepts=accepts,
        shape=broadcast,
        reference=reference,
        methods=(method,),
        samples=(
            *SAMPLES,
            Sample("f32[2] f32[3]", raises=ShapeError),
            Sample("u16[3] i16[3]", raises=DTypeError),
            Sample("2 3", raises=DTypeError),
        ),
        scalars="bool",
        comparison=symbol,
    )


equal = _comparison("Equal", "==", "__eq__", ALL, np.equal)
not_equal = _comparison("NotEqual", "!=", "__ne__", ALL, np.not_equal)
greater = _comparison("Greater", ">", "__gt__", REALS_THEN_BOOL, np.greater)
greater_equal = _comparison("GreaterEqual", ">=", "__ge__", REALS_THEN_BOOL, np.greater_equal)
less = _comparison("Less", "<", "__lt__", REALS_THEN_BOOL, np.less)
less_equal = _comparison("LessEqual", "<=", "__le__", REALS_THEN_BOOL, np.less_equal)


def _equal_shapes(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    if types[0].shape != types[1].shape:
        raise ShapeError(
            f"{op.name}: shapes {list(types[0].shape)} and {list(types[1].shape)} differ",
            types=op.names_of(types),
            rule="ApproximateEqual does not broadcast",
            fix="broadcast one operand first",
        )
    return [types[0].shape]


def _approximately(x: np.ndarray, y: np.ndarray, tolerance: float = 1e-5) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.abs(x - y) < np.asarray(tolerance, x.dtype)


approximate_equal = op(
    "ApproximateEqual",
    "x1:T, x2:T",
    doc="|x1 - x2| < tolerance, strictly, with the tolerance in the dtype of the operands. No broadcasting.",
    result="bool",
    accepts=Dialects(HALF_AND_SINGLE, FLOATS),
    attributes=(Attribute("tolerance", checks.real, 1e-05),),
    shape=_equal_shapes,
    reference=_approximately,
    samples=(
        "f32[3] f32[3]",
        "f32[] 2.5",
        "f16[2,2] f32[2,2]",
        Sample("f32[3] f32[3]", {"tolerance": 0.5}),
        Sample("f32[3] f32[1]", raises=ShapeError),
        Sample("i32[3] i32[3]", raises=DTypeError),
        Sample("f32[3] 2.5", raises=ShapeError),
        Sample("f32[3] f32[3]", {"tolerance": 1}, raises=AttributeTypeError),
    ),
    differs="The r1.1 page's own example contradicts its strict rule; the rule holds here, as in every run.",
)


def _logical(class_name: str, word: str, reference: Callable[..., Any]):
    return op(
        class_name,
        "input_x:T, input_y:T",
        doc=f"Logical {word}. r1.1 takes bool only; 2.x takes numbers too, of which non-zero ones are true.",
        result="bool",
        accepts=Dialects(BOOL, BOOL | REALS),
        shape=broadcast,
        reference=reference,
        methods=(class_name.replace("Logical", "logical_").lower(),),
        tensors_only=Dialects(False, "but bool"),
        samples=(
            "b1[2,3] b1[3]",
            "b1[3] True",
            Sample("b1[2] b1[3]", raises=ShapeError),
            Sample("b1[3] i32[3]", raises=DTypeError),
            Sample("b1[3] 2", raises=DTypeError),
        ),
    )


logical_and = _logical("LogicalAnd", "and", np.logical_and)
logical_or = _logical("LogicalOr", "or", np.logical_or)
logical_not = op(
    "LogicalNot",
    "x:T",
    doc="Logical not of a bool tensor.",
    result="bool",
    accepts=Dialects(BOOL, ALL),
    shape=lambda op, types, attributes: [types[0].shape],
    reference=np.logical_not,
    methods=("logical_not",),
    samples=("b1[2,3]", Sample("i32[3]", raises=DTypeError)),
)
