"""Lowerings of operators that move, repeat, cut and pad."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lowering.emit import literal_array
from lowering.registry import lower
from tracejit.dtypes import as_dtype


@lower("squeeze")
def squeeze(x: Any, axis: tuple[int, ...] | None) -> Any:
    """Drop axes of length 1."""
    return jnp.squeeze(x, axis or None)


@lower("expand_dims")
def expand_dims(x: Any, axis: int) -> Any:
    """Add an axis of length 1."""
    return jnp.expand_dims(x, axis)


@lower("flatten")
def flatten(x: Any, order: str, start_dim: int, end_dim: int) -> Any:
    """Make one axis of several."""
    if x.ndim < 2:
        return x.reshape(-1)
    x = x if order == "C" else x.T
    first, last = start_dim % x.ndim, end_dim % x.ndim
    return lax.collapse(x, first, last + 1)


@lower("tile")
def tile(x: Any, dims: tuple[int, ...]) -> Any:
    """Repeat the whole."""
    return jnp.tile(x, dims)


@lower("repeat_elements")
def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Repeat each slice."""
    return jnp.repeat(x, rep, axis)


@lower("repeat_interleave")
def repeat_interleave(x: Any, repeats: tuple[int, ...], axis: int | None) -> Any:
    """Repeat each slice its own number of times."""
    if len(repeats) == 1:
        return jnp.repeat(x, repeats[0], axis)
    return jnp.repeat(x, np.asarray(repeats), axis, total_repeat_length=sum(repeats))


@lower("flip")
def flip(x: Any, dims: tuple[int, ...]) -> Any:
    """Reverse the order along axes."""
    return lax.rev(x, [axis % x.ndim for axis in dims])


@lower("roll")
def roll(x: Any, shifts: tuple[int, ...], dims: tuple[int, ...] | None) -> Any:
    """Move elements around."""
    return jnp.roll(x, shifts[0] if dims is None else shifts, dims)


@lower("split")
def split(x: Any, split_size_or_sections: Any, axis: int, output_num: int | None) -> list[Any]:
    """Cut along an axis."""
    length = x.shape[axis]
    if isinstance(split_size_or_sections, tuple):
        return lax.split(x, split_size_or_sections, axis % x.ndim)  # pyright: ignore[reportReturnType]
    if output_num is not None:
        return lax.split(x, [length // output_num] * output_num, axis % x.ndim)  # pyright: ignore[reportReturnType]
    size = split_size_or_sections
    return lax.split(x, [min(size, length - at) for at in range(0, length, size)] or [0], axis % x.ndim)  # pyright: ignore[reportReturnType]


@lower("unstack")
def unstack(x: Any, axis: int) -> tuple[Any, ...]:
    """Return the slices along an axis."""
    return jnp.unstack(x, axis=axis)


_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@lower("pad")
def pad(x: Any, padding: Any, mode: str, value: Any) -> Any:
    """Add elements around."""
    pairs = list(padding) if padding and isinstance(padding[0], tuple) else list(zip(padding[::2], padding[1::2]))[::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    if mode != "constant":
        return jnp.pad(x, pairs, _MODES[mode])
    fill = literal_array(0 if value is None else value, as_dtype(x.dtype))
    return lax.pad(x, fill, [(before, behind, 0) for before, behind in pairs])


@lower("swapaxes")
def swapaxes(x: Any, axis0: int, axis1: int) -> Any:
    """Exchange two axes."""
    return jnp.swapaxes(x, axis0, axis1)


@lower("moveaxis")
def moveaxis(x: Any, source: tuple[int, ...], destination: tuple[int, ...]) -> Any:
    """Move axes to other places."""
    return jnp.moveaxis(x, source, destination)


@lower("tril")
def tril(x: Any, diagonal: int) -> Any:
    """Keep what is on and below a diagonal."""
    return jnp.tril(x, diagonal)


@lower("triu")
def triu(x: Any, diagonal: int) -> Any:
    """Keep what is on and above a diagonal."""
    return jnp.triu(x, diagonal)


@lower("diag")
def diag(x: Any) -> Any:
    """Put the elements on a diagonal."""
    return jnp.diag(x.ravel()).reshape(x.shape * 2)


@lower("diagonal")
def diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """Return the elements on a diagonal."""
    return jnp.diagonal(x, offset, dim1, dim2)


@lower("meshgrid")
def meshgrid(*inputs: Any, indexing: str) -> list[Any]:
    """Return the coordinates of a grid."""
    return jnp.meshgrid(*inputs, indexing=indexing)
