"""Operators that write a Parameter (OPS.md 2): the Assign family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.errors import ParameterCastError, ScalarOverflowError, ShapeError
from tracejit.ops.record import Op, Sample, op
from tracejit.ops.sets import ALL, NUMBERS_THEN_BOOL


def _equal_shapes(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    variable, value = types
    one_step = op.name != "assign" and variable.size == 1  # step counters: `ops.assign_add(step, 1)`
    if value.shape == variable.shape or (value.shape == () and one_step):
        return [variable.shape]
    raise ShapeError(
        f"{op.name}: the value's shape {list(value.shape)} is not the Parameter's {list(variable.shape)}",
        types=op.names_of(types),
        rule="Assign operators do not broadcast; a scalar fits a Parameter of one element only"
        if op.name != "assign"
        else "Assign does not broadcast; a scalar fits a 0-d Parameter only",
        fix="give the value the Parameter's shape, as in ops.full(parameter.shape, value, parameter.dtype)",
    )


def _assign(class_name: str, doc: str, accepts: Any, reference: Callable[..., Any]):
    return op(
        class_name,
        "variable:W:T, value:T",
        doc=doc,
        accepts=accepts,
        shape=_equal_shapes,
        reference=reference,
        samples=(
            "f32[2,3] f32[2,3]",
            "f32[4] i8[4]",
            "i64[1] 2" if class_name != "Assign" else "f32[] 2.5",
            "i16[] True",
            Sample("f32[4] f32[1]", raises=ShapeError),
            Sample("f32[4] f32[]", raises=ShapeError),
            Sample("f32[4] f32[1,4]", raises=ShapeError),
            Sample("f32[4] 2.5", raises=ShapeError),
            Sample("i32[4] f32[4]", raises=ParameterCastError),
            Sample("i8[4] u8[4]", raises=ParameterCastError),
            Sample("i8[] 2.5", raises=ParameterCastError),
            Sample("i8[] 300", raises=ScalarOverflowError),
        ),
        differs="Shapes must be equal in both dialects (r1.1 updates the leading elements only).",
    )


assign = _assign("Assign", "Write value into variable; returns variable.", ALL, lambda variable, value: value)
assign_add = _assign(
    "AssignAdd", "Add value to variable in place; returns variable.", NUMBERS_THEN_BOOL, lambda p, v: p + v
)
assign_sub = _assign(
    "AssignSub", "Subtract value from variable in place; returns variable.", NUMBERS_THEN_BOOL, lambda p, v: p - v
)
