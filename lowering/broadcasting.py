"""Bringing operands to one shape before a `lax` call, which asks for equal shapes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def align(*arrays: Any) -> tuple[Any, ...]:
    """Broadcast arrays to their common shape as NumPy does."""
    shapes = [array.shape for array in arrays]
    if all(shape == shapes[0] for shape in shapes):
        return arrays
    shape = jnp.broadcast_shapes(*shapes)
    return tuple([expand(array, shape) for array in arrays])  # pyright: ignore[reportArgumentType]


def expand(array: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast one array to a shape."""
    if array.shape == shape:
        return array
    return lax.broadcast_in_dim(array, shape, range(len(shape) - array.ndim, len(shape)))


def like(array: Any, value: Any) -> Any:
    """Return a constant of an array's shape and dtype."""
    return lax.full_like(array, value)
