"""Operators that make tensors, of nothing or of another tensor's shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS
from tracejit.ops.shapes import same_as_first

DTYPE = Attribute("dtype", checks.optional(checks.dtype), None)


def _own_or_given(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    return attributes["dtype"] or groups["-"]


def _like(class_name: str, doc: str, reference: Callable[..., Any], *attributes: Attribute, **options: Any) -> Op:
    return op(
        class_name,
        ", ".join(["input:-", *[attribute.name for attribute in attributes]]),
        doc=f"{doc}, of a tensor's shape and, unless another is named, dtype.",
        result=_own_or_given,
        attributes=(*attributes, DTYPE),
        constructor=("dtype",),
        shape=same_as_first,
        reference=reference,
        **options,
    )


zeros_like = _like(
    "ZerosLike", "Zeros", lambda x, dtype=None: np.zeros_like(x, dtype.numpy if dtype else None),
    samples=("f32[2,3]", Sample("i8[4]", {"dtype": dt.float16})),
)  # fmt: skip
ones_like = _like(
    "OnesLike", "Ones", lambda x, dtype=None: np.ones_like(x, dtype.numpy if dtype else None),
    samples=("f32[2,3]", Sample("i8[4]", {"dtype": dt.bool_})),
)  # fmt: skip


def _fill_value(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value.__class__ not in (bool, int, float, complex):
        raise TypeError("must be a Python scalar")
    return value


full_like = _like(
    "FullLike",
    "One value, converted as Cast does",
    lambda x, fill_value, dtype=None: np.full_like(x, fill_value, dtype.numpy if dtype else None),
    Attribute("fill_value", _fill_value),
    samples=(Sample("f32[2,3]", {"fill_value": 2.5}), Sample("f16[4]", {"fill_value": 7, "dtype": dt.int32})),
)
eye = op(
    "Eye",
    "n, m, dtype",
    doc="A matrix of n rows and m columns (n by default) with ones on its diagonal, zeros elsewhere.",
    result=":dtype",
    attributes=(
        Attribute("n", checks.size),
        Attribute("m", checks.optional(checks.size), None),
        Attribute("dtype", checks.dtype, dt.float32),
    ),
    shape=lambda op, types, attributes: [
        (attributes["n"], attributes["n"] if attributes["m"] is None else attributes["m"])
    ],
    reference=lambda n, m=None, dtype=dt.float32: np.eye(n, m, dtype=dtype.numpy),
    samples=(
        Sample("", {"n": 3}),
        Sample("", {"n": 2, "m": 3, "dtype": dt.int32}),
        Sample("", {"n": True}, AttributeTypeError),
    ),
)


def _linspace(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    if any(type_.shape for type_ in types):
        raise ShapeError("linspace: start and end must be 0-d or numbers", types=op.names_of(types))
    return [(attributes["steps"],)]


def _steps(value: Any) -> int:
    number = checks.integer(value)
    if number < 1:
        raise ValueError("must be positive")
    return number


linspace = op(
    "LinSpace",
    "start:=T, end:=T, steps",
    name="linspace",
    doc="Numbers from start to end, both included, at equal distances; of Python numbers in float32.",
    accepts=FLOATS,
    attributes=(Attribute("steps", _steps),),
    functions=("linspace",),
    scalars="float32",
    shape=_linspace,
    reference=lambda start, end, steps: np.linspace(
        start, end, steps, dtype=np.result_type(np.float16, np.asarray(start).dtype)
    ),
    samples=(
        Sample("f32[] f32[]", {"steps": 5}),
        Sample("f64[] 2.0", {"steps": 1}),
        Sample("f32[2] f32[]", {"steps": 2}, ShapeError),
        Sample("i32[] i32[]", {"steps": 2}, DTypeError),
        Sample("f32[] f32[]", {"steps": 0}, AttributeValueError),
    ),
)
