"""Checks of attribute values: each returns the normalised value, or raises TypeError or ValueError with a reason.

MindSpore's checks are strict (OPS 0.1): a `bool` attribute refuses 0 and 1, a `float` attribute refuses `1`, and a
bool is no integer. NumPy scalars pass for the Python scalar that they hold.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.dtypes import DType, as_dtype


def boolean(value: Any) -> bool:
    """Accept True and False only."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError("must be a bool")


def real(value: Any) -> float:
    """Accept a float; integers and bools are refused, NaN and infinities are not."""
    if isinstance(value, float | np.floating):
        return float(value)
    raise TypeError("must be a float")


def real_where(condition: Callable[[float], bool], reason: str) -> Callable[[Any], float]:
    """Make a check for a float that meets a condition."""

    def check(value: Any) -> float:
        number = real(value)
        if not condition(number):
            raise ValueError(reason)
        return number

    return check


finite = real_where(math.isfinite, "must be finite")
positive = real_where(lambda x: math.isfinite(x) and x > 0, "must be finite and greater than 0")
not_negative = real_where(lambda x: math.isfinite(x) and x >= 0, "must be finite and not negative")
not_positive = real_where(lambda x: x <= 0, "must not be positive")


def integer(value: Any) -> int:
    """Accept an integer; a bool is none."""
    if isinstance(value, bool | np.bool_):
        raise TypeError("must be an int, not a bool")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError("must be an int") from None


def size(value: Any) -> int:
    """Accept an integer that is not negative."""
    number = integer(value)
    if number < 0:
        raise ValueError("must not be negative")
    return number


def integers(value: Any) -> tuple[int, ...]:
    """Accept an integer, or a list or tuple of them."""
    if isinstance(value, list | tuple):
        return tuple([integer(item) for item in value])
    return (integer(value),)


def shape(value: Any) -> tuple[int, ...]:
    """Accept a shape: a size, or a list or tuple of sizes."""
    lengths = integers(value)
    if any(length < 0 for length in lengths):
        raise ValueError("must not contain negative sizes")
    return lengths


def axes(value: Any) -> tuple[int, ...]:
    """Accept the axes of a reduction: None or `()` for all of them, an axis, or a list or tuple of axes."""
    return () if value is None else integers(value)


def dtype(value: Any) -> DType:
    """Accept whatever names a dtype."""
    return as_dtype(value)


def optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a check that lets None through."""
    return lambda value: None if value is None else check(value)


def one_of(*allowed: Any) -> Callable[[Any], Any]:
    """Make a check for one of a few values."""

    def check(value: Any) -> Any:
        if any(value is choice or (value.__class__ is choice.__class__ and value == choice) for choice in allowed):
            return value
        reason = f"must be one of {', '.join(map(repr, allowed))}"
        raise ValueError(reason) if isinstance(value, type(allowed[0])) else TypeError(reason)

    return check


def anything(value: Any) -> Any:
    """Accept the value as it is (the operator's own code made it)."""
    return value
