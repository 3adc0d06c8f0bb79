"""Lowerings of softmax, normalizations and dropout. Statistics are computed in float32 at least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lowering.random_numbers import as_key
from lowering.registry import lower
from tracejit.dtypes import DType

Axes = tuple[int, ...]


@lower("softmax")
def softmax(x: Any, axis: int | Axes, dtype: DType | None) -> Any:
    """Exponentials divided by their sum."""
    return jax.nn.softmax(x if dtype is None else lax.convert_element_type(x, dtype.numpy), axis)


@lower("log_softmax")
def log_softmax(x: Any, axis: int) -> Any:
    """Return the logarithm of the softmax."""
    return jax.nn.log_softmax(x, axis)


def wide(x: Any) -> Any:
    """Return an array in float32, or as it is if that is wider."""
    return lax.convert_element_type(x, jnp.promote_types(x.dtype, jnp.float32))


def _moments(x: Any, axes: Axes) -> tuple[Any, Any]:
    return jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)


def _normalized(x: Any, mean: Any, var: Any, eps: float) -> Any:
    return (x - mean) * lax.rsqrt(var + jnp.asarray(eps, var.dtype))


def _scaled(x: Any, weight: Any, bias: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Scale and shift, and return to the operand's dtype."""
    for function, values in ((lax.mul, weight), (lax.add, bias)):
        if values is not None:
            x = function(x, jnp.broadcast_to(lax.convert_element_type(values, x.dtype).reshape(shape), x.shape))
    return lax.convert_element_type(x, dtype)


@lower("layer_norm")
def layer_norm(x: Any, weight: Any, bias: Any, normalized_shape: Axes, eps: float) -> Any:
    """Normalize over the last axes."""
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    values = wide(x)
    return _scaled(_normalized(values, *_moments(values, axes), eps), weight, bias, normalized_shape, x.dtype)


@lower("layer_norm_with_moments")
def layer_norm_class(
    x: Any, gamma: Any, beta: Any, begin_norm_axis: int, begin_params_axis: int, epsilon: float
) -> tuple[Any, ...]:
    """Normalize over the axes from one on; return the moments too."""
    values = wide(x)
    moments = _moments(values, tuple(range(begin_norm_axis % x.ndim, x.ndim)))
    result = _scaled(_normalized(values, *moments, epsilon), gamma, beta, x.shape[begin_params_axis:], x.dtype)
    return (result, *moments)


def _per_channel(x: Any) -> tuple[int, ...]:
    return (1, -1, *[1] * (x.ndim - 2))


@lower("batch_norm")
def batch_norm(x: Any, mean: Any, var: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    """Normalize each channel; when training also return the new running statistics."""
    values, shape = wide(x), _per_channel(x)
    if not training:
        used = [lax.convert_element_type(statistic, values.dtype).reshape(shape) for statistic in (mean, var)]
        return _scaled(_normalized(values, *used, eps), weight, bias, shape, x.dtype)  # pyright: ignore[reportCallIssue]
    used = _moments(values, tuple([i for i in range(x.ndim) if i != 1]))
    count = x.size // x.shape[1]
    unbiased = used[1] * (count / (count - 1))
    new = [_moved(old, now.ravel(), momentum) for old, now in zip((mean, var), (used[0], unbiased))]
    return (_scaled(_normalized(values, *used, eps), weight, bias, shape, x.dtype), *new)


def _moved(old: Any, now: Any, momentum: float) -> Any:
    now = lax.stop_gradient(lax.convert_element_type(now, old.dtype))
    return old * (1 - momentum) + now * momentum


@lower("group_norm")
def group_norm(x: Any, weight: Any, bias: Any, num_groups: int, eps: float) -> Any:
    """Normalize groups of channels of each sample."""
    rows = wide(x).reshape(x.shape[0], num_groups, -1)
    plain = _normalized(rows, *_moments(rows, (2,)), eps).reshape(x.shape)
    return _scaled(plain, weight, bias, _per_channel(x), x.dtype)


@lower("instance_norm")
def instance_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalize each channel of each sample."""
    return group_norm(x, weight, bias, x.shape[1], eps)


@lower("dropout")
def dropout(x: Any, key: Any, p: float, training: bool) -> Any:
    """Keep each element with probability 1 - p, scaled up."""
    if not training or p == 0:
        return x
    if p == 1:
        return jnp.zeros_like(x)
    kept = jax.random.bernoulli(as_key(key), jnp.float32(1 - p), x.shape)  # the same bits with 64-bit mode on and off
    return jnp.where(kept, x / (1 - p), jnp.zeros((), x.dtype))
