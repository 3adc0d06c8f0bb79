"""Operands written in a shell: `f32[8,16]` is a tensor, `2.5` a Python scalar, `float32` a dtype.

A short code means something only with a shape behind it; alone, `i8` is NumPy's name of int64.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from tracejit.dtypes import BY_CODE, BY_NAME, DType, as_dtype
from tracejit.errors import AttributeValueError, DTypeError
from tracejit.ir import TensorType

_TENSOR = re.compile(r"(\w+)\[([^\]]*)\]")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)=(.*)")
_FIX = "write tensors as f32[8,16] (f32[] for a 0-d one) and Python scalars as 2, 2.5, True or 1j"


def read_operand(word: str) -> Any:
    """Return what a word stands for: a TensorType, a Python scalar, or a DType.

    >>> read_operand("i8[16]"), read_operand("2.5"), read_operand("int8"), read_operand("i8")
    (i8[16], 2.5, tracejit.int8, tracejit.int64)
    """
    tensor = _read_tensor(word)
    if tensor is not None:
        return tensor
    scalar = _read_scalar(word)
    return _read_dtype(word) if scalar is None else scalar


def read_arguments(words: Iterable[str]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that words stand for, those of `name=word` by keyword. A dtype is no argument.

    Several operands in one word, with spaces between, are read one by one.

    >>> read_arguments(["f32[8,16] i8[16]", "rate=0.5"])
    ([f32[8,16], i8[16]], {'rate': 0.5})
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in _split(" ".join(words)):
        keyword = _KEYWORD.fullmatch(word)
        value = _read_argument(keyword[2] if keyword else word)
        if keyword:
            kwargs[keyword[1]] = value
        else:
            args.append(value)
    return args, kwargs


def _split(text: str) -> list[str]:
    """Split at spaces, but not inside of a shape."""
    return re.findall(r"(?:\[[^\]]*\]|\S)+", text)


def _read_argument(word: str) -> Any:
    tensor = _read_tensor(word)
    if tensor is not None:
        return tensor
    scalar = _read_scalar(word)
    if scalar is None:
        raise _bare(word)
    return scalar


def _bare(word: str) -> AttributeValueError:
    """Word the error for an argument without a shape: which tensors could have been meant."""
    short, numpy = BY_CODE.get(word), _numpy_dtype(word)
    if short is None and numpy is None:
        return AttributeValueError(f"{word!r} is no operand", fix=_FIX)
    readings = [f"{dtype.code}[...] for a tensor of {dtype.name}" for dtype in dict.fromkeys((short, numpy)) if dtype]
    both = short is not None and numpy is not None and short is not numpy
    what = f"it is short for {short} and NumPy's name for {numpy}" if both else "it has no shape"
    return AttributeValueError(f"{word!r} alone is no argument: {what}", fix=f"write {', or '.join(readings)}")


def _numpy_dtype(word: str) -> DType | None:
    try:
        return as_dtype(word)
    except DTypeError:
        return None


def _read_tensor(word: str) -> TensorType | None:
    match = _TENSOR.fullmatch(word)
    if match is None:
        return None
    code, lengths = match[1], match[2]
    dtype = BY_CODE.get(code) or BY_NAME.get(code)
    if dtype is None:
        raise AttributeValueError(f"{word!r}: {code!r} is no dtype", fix=f"use one of {', '.join(BY_CODE)}")
    words = [length.strip() for length in lengths.split(",")] if lengths.strip() else []
    if not all(length.isdecimal() for length in words):
        raise AttributeValueError(f"{word!r}: [{lengths}] is no shape", fix=_FIX)
    return TensorType(dtype, [int(length) for length in words])


def _read_scalar(word: str) -> bool | int | float | complex | None:
    if word.lstrip("+-") in ("inf", "nan"):
        return float(word)
    try:
        value = ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, bool | int | float | complex) else None


def _read_dtype(word: str) -> DType:
    try:
        return as_dtype(word)
    except DTypeError:
        short = BY_CODE.get(word)
        if short is None:
            raise
        raise AttributeValueError(
            f"{word!r} is a short code, which needs a shape", fix=f"write {short.name}, or {word}[] for a 0-d tensor"
        ) from None
