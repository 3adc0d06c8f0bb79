"""Lowerings of activation functions: `jax.nn`'s where it has them."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lowering.registry import lower

_PLAIN = {
    "relu6": jax.nn.relu6,
    "selu": jax.nn.selu,
    "silu": jax.nn.silu,
    "mish": jax.nn.mish,
    "softsign": jax.nn.soft_sign,
    "hardswish": jax.nn.hard_swish,
    "hardsigmoid": jax.nn.hard_sigmoid,
    "logsigmoid": jax.nn.log_sigmoid,
    "glu": jax.nn.glu,
    "gelu_tanh": partial(jax.nn.gelu, approximate=True),
}

for _name, _function in _PLAIN.items():
    lower(_name)(_function)


@lower("leaky_relu")
def leaky_relu(x: Any, alpha: float) -> Any:
    """Scale what is not positive."""
    return jax.nn.leaky_relu(x, alpha)


@lower("elu")
def elu(x: Any, alpha: float) -> Any:
    """Let what is not positive approach -alpha."""
    return jax.nn.elu(x, alpha)


@lower("celu")
def celu(x: Any, alpha: float) -> Any:
    """Let what is not positive approach -alpha, smoothly."""
    return jax.nn.celu(x, alpha)


@lower("gelu")
def gelu(x: Any, approximate: str) -> Any:
    """Multiply with the probability below."""
    return jax.nn.gelu(x, approximate=approximate == "tanh")


@lower("softplus")
def softplus(x: Any, beta: float, threshold: float) -> Any:
    """Smooth the positive part."""
    scaled = x * beta
    linear = scaled > threshold
    smooth = jax.nn.softplus(jnp.where(linear, jnp.zeros((), x.dtype), scaled)) / beta
    return jnp.where(linear, x, smooth)


@lower("hardtanh")
def hardtanh(x: Any, min_val: float, max_val: float) -> Any:
    """Keep between two limits."""
    return jnp.clip(x, min_val, max_val)


@lower("hardshrink")
def hardshrink(x: Any, lambd: float) -> Any:
    """Drop what is near 0."""
    return jnp.where(lax.abs(x) <= lambd, jnp.zeros((), x.dtype), x)


@lower("softshrink")
def softshrink(x: Any, lambd: float) -> Any:
    """Bring values nearer to 0."""
    zero = jnp.zeros((), x.dtype)
    return jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, zero))


@lower("prelu")
def prelu(x: Any, weight: Any) -> Any:
    """Scale what is not positive by its channel's weight."""
    return jnp.where(x > 0, x, x * weight.reshape(-1, *[1] * max(x.ndim - 2, 0)))
