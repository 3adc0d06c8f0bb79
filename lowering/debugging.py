"""Printing from compiled programs, whose errors never reach the program; and what index checks in regions tell."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lowering.registry import lower
from tracejit.dtypes import DType


@lower("debug_print")
def debug_print(*values: Any, format: str) -> tuple[()]:
    """Print values through a callback; under `vmap` once for each example."""
    jax.debug.callback(functools.partial(show, format), *values)
    return ()


def show(text: str, *values: Any) -> None:
    """Print values in a format string; an error in that is printed too, and goes no further."""
    try:
        print(text.format(*[_Shown(np.asarray(value)) for value in values]), flush=True)
    except Exception as error:
        print(f"tracejit.debug.print({text!r}) failed: {error}", flush=True)


@lower("no_bad_index")
def no_bad_index(dtype: DType) -> Any:
    """Tell of no bad index."""
    return jnp.zeros((2,), dtype.numpy)


@lower("first_bad_index")
def first_bad_index(earlier: Any, told: Any) -> Any:
    """Return the first row that tells of a bad index; the rows are those of mapped examples."""
    rows = jnp.concatenate([earlier[None], told.reshape(-1, 2)])
    return rows[jnp.argmax(rows[:, 0] != 0)]


class _Shown:
    """A value to be printed: a format specification holds for each element of an array."""

    def __init__(self, value: np.ndarray):
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)

    def __getitem__(self, key: Any) -> Any:
        return _Shown(self._value[key])

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        if self._value.shape == ():
            return format(self._value.item(), specification)
        return np.array2string(self._value, formatter={"all": lambda x: format(x.item(), specification)})  # pyright: ignore[reportAttributeAccessIssue]
