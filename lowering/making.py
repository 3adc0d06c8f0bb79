"""Lowerings of operators that make tensors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.emit import literal_array
from lowering.registry import lower
from tracejit.dtypes import DType, as_dtype


def _filled(x: Any, value: Any, dtype: DType | None) -> Any:
    return lax.full(x.shape, literal_array(value, dtype or as_dtype(x.dtype)))


lower("zeros_like")(lambda x, dtype: _filled(x, 0, dtype))
lower("ones_like")(lambda x, dtype: _filled(x, 1, dtype))
lower("full_like")(lambda x, fill_value, dtype: _filled(x, fill_value, dtype))


@lower("eye")
def eye(n: int, m: int | None, dtype: DType) -> Any:
    """Put ones on a diagonal."""
    return jnp.eye(n, m, dtype=dtype.numpy)


@lower("linspace")
def linspace(start: Any, end: Any, steps: int) -> Any:
    """Space numbers evenly."""
    return jnp.linspace(start, end, steps, dtype=start.dtype)
