"""Lowerings of slices, of elements at indices, and of masks."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.broadcasting import align
from lowering.registry import lower
from lowering.structure import select

Numbers = tuple[int, ...]


@lower("strided_slice")
def strided_slice(
    x: Any,
    begin: Numbers,
    end: Numbers,
    strides: Numbers,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    """Read a strided slice as `x[...]`."""

    def entry(i: int) -> Any:
        bit = 1 << i
        if ellipsis_mask & bit or new_axis_mask & bit:
            return Ellipsis if ellipsis_mask & bit else None
        if shrink_axis_mask & bit:
            return begin[i]
        return slice(None if begin_mask & bit else begin[i], None if end_mask & bit else end[i], strides[i])

    return x[tuple([entry(i) for i in range(len(begin))])]


@lower("slice")
def slice_(x: Any, begin: Numbers, size: Numbers) -> Any:
    """Return a part."""
    ends = [n if length == -1 else first + length for n, first, length in zip(x.shape, begin, size)]
    return lax.slice(x, begin, ends)


@lower("slice_scatter")
def slice_scatter(x: Any, src: Any, axis: int, start: int | None, end: int | None, step: int) -> Any:
    """Replace a slice."""
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, end, step)
    return x.at[tuple(index)].set(src)


@lower("gather_nd")
def gather_nd(x: Any, indices: Any) -> Any:
    """Take slices at coordinates; a bad one, a negative one included, gives 0."""
    depth = indices.shape[-1]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(indices.ndim - 1, indices.ndim - 1 + x.ndim - depth)),
        collapsed_slice_dims=tuple(range(depth)),
        start_index_map=tuple(range(depth)),
    )
    sizes = (1,) * depth + x.shape[depth:]
    return lax.gather(x, indices, numbers, sizes, mode=lax.GatherScatterMode.FILL_OR_DROP, fill_value=0)


@lower("gather_elements")
def gather_elements(x: Any, index: Any, dim: int) -> Any:
    """Take one element for each index along an axis; a bad one gives 0."""
    dim %= x.ndim
    kept = x[tuple([slice(None) if i == dim else slice(n) for i, n in enumerate(index.shape)])]
    return jnp.take_along_axis(kept, index, dim, mode="fill", fill_value=0)


@lower("take")
def take(x: Any, index: Any) -> Any:
    """Take elements of the flattened tensor; a bad index gives 0."""
    return x.ravel().at[index].get(mode="fill", fill_value=0)


@lower("masked_fill")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """Put a value where the mask is true."""
    x, mask, value = align(x, mask, value)
    return lax.select(mask, value, x)


lower("where")(select)
