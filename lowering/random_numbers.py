"""Lowerings of random numbers: `jax.random` on threefry keys, whatever generator the user's JAX is set to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lowering.registry import lower
from tracejit.dtypes import DType

Shape = tuple[int, ...]


def as_key(key: Any) -> Any:
    """Return JAX's key of two 32-bit numbers."""
    return jax.random.wrap_key_data(key, impl="threefry2x32")


@lower("draw_key")
def draw_key(state: Any) -> tuple[Any, Any]:
    """Split the state into a key and the next state."""
    after, key = jax.random.key_data(jax.random.split(as_key(state), 2))
    return key, after


@lower("split_key")
def split_key(key: Any, num: int) -> Any:
    """Make keys of a key."""
    return jax.random.key_data(jax.random.split(as_key(key), num))


@lower("standard_normal")
def standard_normal(key: Any, shape: Shape, dtype: DType) -> Any:
    """Draw from the standard normal distribution."""
    return jax.random.normal(as_key(key), shape, dtype.numpy)


@lower("normal")
def normal(mean: Any, stddev: Any, key: Any, shape: Shape) -> Any:
    """Draw from a normal distribution."""
    shape = jnp.broadcast_shapes(shape, mean.shape, stddev.shape)  # pyright: ignore[reportAssignmentType]
    return mean + stddev * jax.random.normal(as_key(key), shape, mean.dtype)


@lower("uniform")
def uniform(key: Any, shape: Shape, minval: float, maxval: float, dtype: DType) -> Any:
    """Draw from an interval."""
    draw = jax.random.uniform if dtype.kind == "float" else jax.random.randint
    return draw(as_key(key), shape, minval=minval, maxval=maxval, dtype=dtype.numpy)


@lower("randint")
def randint(key: Any, low: int, high: int, size: Shape, dtype: DType) -> Any:
    """Draw integers."""
    return jax.random.randint(as_key(key), size, low, high, dtype.numpy)


@lower("bernoulli")
def bernoulli(x: Any, p: Any, key: Any) -> Any:
    """Draw zeros and ones."""
    p = jnp.float32(0.5) if p is None else jnp.broadcast_to(p, x.shape)
    return lax.convert_element_type(jax.random.bernoulli(as_key(key), p, x.shape), x.dtype)


@lower("randperm")
def randperm(key: Any, n: int, dtype: DType) -> Any:
    """Put numbers in random order."""
    return lax.convert_element_type(jax.random.permutation(as_key(key), n), dtype.numpy)


@lower("shuffle")
def shuffle(x: Any, key: Any) -> Any:
    """Put slices in random order."""
    return jax.random.permutation(as_key(key), x) if x.ndim else x


def _categorical(key: Any, logits: Any, count: int, replace: bool = True) -> Any:
    shape = (*logits.shape[:-1], count)
    return jax.random.categorical(as_key(key), logits[..., None, :] if replace else logits, -1, shape, replace=replace)


@lower("multinomial")
def multinomial(x: Any, key: Any, num_samples: int, replacement: bool) -> Any:
    """Draw indices by weights."""
    return lax.convert_element_type(_categorical(key, lax.log(x), num_samples, replacement), jnp.int32)


@lower("random_categorical")
def random_categorical(logits: Any, key: Any, num_sample: int, dtype: DType) -> Any:
    """Draw indices by logits."""
    return lax.convert_element_type(_categorical(key, logits, num_sample), dtype.numpy)
