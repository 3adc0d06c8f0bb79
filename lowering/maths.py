"""Lowerings of element-wise mathematics, and of limits and mixtures of values."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.broadcasting import align
from lowering.registry import lower

_PLAIN = {
    "sin": lax.sin,
    "cos": lax.cos,
    "tan": lax.tan,
    "asin": lax.asin,
    "acos": lax.acos,
    "atan": lax.atan,
    "sinh": lax.sinh,
    "cosh": lax.cosh,
    "asinh": lax.asinh,
    "acosh": lax.acosh,
    "atanh": lax.atanh,
    "expm1": lax.expm1,
    "log1p": lax.log1p,
    "log2": jnp.log2,
    "log10": jnp.log10,
    "rsqrt": lax.rsqrt,
    "square": lax.square,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erfinv": lax.erf_inv,
    "floor": lax.floor,
    "ceil": lax.ceil,
    "sign": jnp.sign,
    "isnan": jnp.isnan,
    "isinf": jnp.isinf,
    "isfinite": jnp.isfinite,
}

for _name, _function in _PLAIN.items():
    lower(_name)(_function)


@lower("trunc")
def trunc(x: Any) -> Any:
    """Drop the fraction."""
    return jnp.trunc(x) if jnp.issubdtype(x.dtype, jnp.floating) else x


@lower("reciprocal")
def reciprocal(x: Any) -> Any:
    """Divide 1 by x; integers and bool in float32."""
    return jnp.reciprocal(x if jnp.issubdtype(x.dtype, jnp.inexact) else lax.convert_element_type(x, jnp.float32))


@lower("round")
def round_(x: Any, decimals: int) -> Any:
    """Round halves to even."""
    return jnp.round(x, decimals) if jnp.issubdtype(x.dtype, jnp.floating) else x


@lower("clamp", "clip_by_value")
def clamp(x: Any, low: Any, high: Any) -> Any:
    """Bring values up to the lower limit, then down to the upper one."""
    return jnp.clip(x, low, high)


@lower("lerp")
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """Mix two tensors."""
    x, end, weight = align(x, end, weight)
    return lax.add(x, lax.mul(weight, lax.sub(end, x)))
