"""Operators without operands: they make tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeValueError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op


def _attribute_shape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    return [attributes["shape"]]


def _fill_value(value: Any) -> Any:
    if value.__class__ in (bool, int, float, complex):
        return value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError("must be a Python scalar")


SHAPE = Attribute("shape", checks.shape)
DTYPE = Attribute("dtype", checks.dtype, dt.float32)

zeros = op(
    "Zeros", "shape, dtype", doc="A tensor of zeros.", result=":dtype", attributes=(SHAPE, DTYPE),
    shape=_attribute_shape, reference=lambda shape, dtype: np.zeros(shape, dtype.numpy),
    samples=(Sample("", {"shape": (2, 3)}), Sample("", {"shape": (), "dtype": dt.int8})),
)  # fmt: skip
ones = op(
    "Ones", "shape, dtype", doc="A tensor of ones.", result=":dtype", attributes=(SHAPE, DTYPE),
    shape=_attribute_shape, reference=lambda shape, dtype: np.ones(shape, dtype.numpy),
    samples=(Sample("", {"shape": (2, 3)}), Sample("", {"shape": (0,), "dtype": dt.bool_})),
)  # fmt: skip
full = op(
    "Full",
    "size, fill_value, dtype",
    doc="A tensor filled with one value.",
    result=":dtype",
    attributes=(Attribute("size", checks.shape), Attribute("fill_value", _fill_value), DTYPE),
    shape=lambda op, types, attributes: [attributes["size"]],
    reference=lambda size, fill_value, dtype: np.full(size, fill_value, dtype.numpy),
    samples=(
        Sample("", {"size": (2, 3), "fill_value": 2.5}),
        Sample("", {"size": (2,), "fill_value": 7, "dtype": dt.int8}),
    ),
    differs="The dtype defaults to float32.",
)


def _number(value: Any) -> int | float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError("must be an int or a float")
    return value.item() if isinstance(value, np.generic) else value


def arange_bounds(start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return start, end and step as numbers: with one of them given, it is the end."""
    return (0, start, step) if end is None else (start, end, step)


def _arange_shape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    start, end, step = arange_bounds(attributes["start"], attributes["end"], attributes["step"])
    if step == 0 or not all(math.isfinite(number) for number in (start, end, step)):
        raise AttributeValueError(
            f"arange: start {start}, end {end}, step {step} make no range",
            fix="use finite numbers and a step other than 0",
        )
    exact = all(isinstance(number, int) for number in (start, end, step))
    return [(max(0, -((start - end) // step) if exact else math.ceil((end - start) / step)),)]


def _arange_dtype(groups: Mapping[str, dt.DType], attributes: Mapping[str, Any], dialect: str) -> dt.DType:
    numbers = [attributes[name] for name in ("start", "end", "step")]
    exact = all(isinstance(number, int) for number in numbers if number is not None)
    return attributes["dtype"] or (dt.int64 if exact else dt.float32)


arange = op(
    "Arange",
    "start, end, step",
    doc="The numbers from start up to, not including, end; with one number, from 0 up to it.",
    result=_arange_dtype,
    attributes=(
        Attribute("start", _number),
        Attribute("end", checks.optional(_number), None),
        Attribute("step", _number, 1),
        Attribute("dtype", checks.optional(checks.dtype), None),
    ),
    shape=_arange_shape,
    reference=lambda start, end=None, step=1, dtype=None: np.arange(
        *arange_bounds(start, end, step),
        dtype=dtype.numpy if dtype else (np.int64 if all(isinstance(n, int) for n in (start, end or 0, step)) else np.float32),
    ),
    samples=(Sample("", {"start": 5}), Sample("", {"start": 1, "end": 2, "step": 0.25}), Sample("", {"start": 5, "end": 0, "step": -2, "dtype": dt.float32})),
)  # fmt: skip

constant = op(
    "Constant",
    "",
    doc="A tensor whose values are known while tracing.",
    result=lambda groups, attributes, dialect: dt.as_dtype(attributes["value"].dtype),
    attributes=(Attribute("value", checks.anything),),
    shape=lambda op, types, attributes: [attributes["value"].shape],
    hidden=True,
)
