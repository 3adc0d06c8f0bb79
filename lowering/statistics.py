"""Lowerings of variances, norms and the logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lowering.registry import lower
from tracejit.dtypes import DType

Axes = tuple[int, ...] | None


@lower("var")
def var(x: Any, axis: Axes, ddof: int, keepdims: bool) -> Any:
    """Return the variance."""
    return jnp.var(x, axis or None, ddof=ddof, keepdims=keepdims)


@lower("std")
def std(x: Any, axis: Axes, ddof: int, keepdims: bool) -> Any:
    """Return the standard deviation."""
    return jnp.std(x, axis or None, ddof=ddof, keepdims=keepdims)


@lower("logsumexp")
def logsumexp(x: Any, dim: Axes, keepdim: bool) -> Any:
    """Return the logarithm of the sum of the exponentials."""
    return jax.nn.logsumexp(x, dim or None, keepdims=keepdim)


@lower("norm")
def norm(x: Any, ord: Any, dim: Axes, keepdim: bool, dtype: DType | None) -> Any:
    """Return the norm of vectors or matrices, or of all elements as one vector."""
    x = x if dtype is None else lax.convert_element_type(x, dtype.numpy)
    x = x if jnp.issubdtype(x.dtype, jnp.inexact) else lax.convert_element_type(x, jnp.float32)
    return jnp.linalg.norm(x, ord, _axes(dim), keepdim)


def _axes(dim: Axes) -> Any:
    return None if not dim else dim[0] if len(dim) == 1 else dim
