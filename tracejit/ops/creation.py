"""Operators without operands: they make tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ScalarOverflowError
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
BAD_SHAPES = (
    Sample("", {"shape": (2, -1)}, raises=AttributeValueError),
    Sample("", {"shape": (True,)}, raises=AttributeTypeError),
    Sample("", {"shape": 2.0}, raises=AttributeTypeError),
    Sample("", {"shape": (2,), "dtype": "float8_e5m2"}, raises=DTypeError),
)

zeros = op(
    "Zeros", "shape, dtype", doc="A tensor of zeros.", result=":dtype", attributes=(SHAPE, DTYPE),
    shape=_attribute_shape, reference=lambda shape, dtype: np.zeros(shape, dtype.numpy),
    samples=(Sample("", {"shape": (2, 3)}), Sample("", {"shape": (), "dtype": dt.int8}), *BAD_SHAPES),
)  # fmt: skip
ones = op(
    "Ones", "shape, dtype", doc="A tensor of ones.", result=":dtype", attributes=(SHAPE, DTYPE),
    shape=_attribute_shape, reference=lambda shape, dtype: np.ones(shape, dtype.numpy),
    samples=(Sample("", {"shape": (2, 3)}), Sample("", {"shape": (0,), "dtype": dt.bool_}), *BAD_SHAPES),
)  # fmt: skip


def _full_shape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    value, dtype = attributes["fill_value"], attributes["dtype"]
    if value.__class__ is int and dt.is_integer(dtype):
        low, high = dt.integer_range(dtype)
        if not low <= value <= high:
            raise ScalarOverflowError(
                f"full: the Python int {value} does not fit {dtype} ({low} to {high})", fix="name a wider dtype"
            )
    return [attributes["size"]]


full = op(
    "Full",
    "size, fill_value, dtype",
    doc="A tensor filled with one value, which is converted as Cast does; an int has to fit.",
    result=":dtype",
    attributes=(Attribute("size", checks.shape), Attribute("fill_value", _fill_value), DTYPE),
    shape=_full_shape,
    reference=lambda size, fill_value, dtype: np.full(size, fill_value, dtype.numpy),
    samples=(
        Sample("", {"size": (2, 3), "fill_value": 2.5}),
        Sample("", {"size": (2,), "fill_value": 7, "dtype": dt.int8}),
        Sample("", {"size": (), "fill_value": 2, "dtype": dt.bool_}),
        Sample("", {"size": (2,), "fill_value": 300, "dtype": dt.int8}, raises=ScalarOverflowError),
        Sample("", {"size": (2, -3), "fill_value": 2.5}, raises=AttributeValueError),
        Sample("", {"size": (2,), "fill_value": "2"}, raises=AttributeTypeError),
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


def _arange_reference(start: Any, end: Any = None, step: Any = 1, dtype: dt.DType | None = None) -> np.ndarray:
    bounds = arange_bounds(start, end, step)
    default = dt.int64 if all(isinstance(number, int) for number in bounds) else dt.float32
    return np.arange(*bounds).astype((dtype or default).numpy)


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
    reference=_arange_reference,
    samples=(
        Sample("", {"start": 5}),
        Sample("", {"start": 1, "end": 2, "step": 0.25}),
        Sample("", {"start": 5, "end": 0, "step": -2, "dtype": dt.float32}),
        Sample("", {"start": 2**24 + 1, "end": 2**24 + 4, "dtype": dt.float64}),
        Sample("", {"start": 4096, "dtype": dt.float16}),
        Sample("", {"start": 3, "end": 3}),
        Sample("", {"start": 0, "end": 3, "step": 0}, raises=AttributeValueError),
        Sample("", {"start": 0, "end": float("inf")}, raises=AttributeValueError),
        Sample("", {"start": True}, raises=AttributeTypeError),
        Sample("", {"start": 3, "dtype": "object"}, raises=DTypeError),
    ),
)

constant = op(
    "Constant",
    "",
    doc="A tensor whose values are known while tracing.",
    result=lambda groups, attributes, dialect: dt.as_dtype(attributes["value"].dtype),
    attributes=(Attribute("value", checks.anything),),
    shape=lambda op, types, attributes: [attributes["value"].shape],
    hidden=True,
)
