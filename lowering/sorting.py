"""Lowerings of sorting and searching, distinct values, and running sums, products and extremes."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lowering.arrays import x64
from lowering.emit import literal_array
from lowering.registry import lower
from tracejit.dtypes import DType, as_dtype


def _order(x: Any, axis: int, descending: bool) -> Any:
    return lax.convert_element_type(jnp.argsort(x, axis, stable=True, descending=descending), jnp.int32)


@lower("argsort")
def argsort(x: Any, axis: int, descending: bool) -> Any:
    """Return where the elements in order come from."""
    return _order(x, axis, descending)


@lower("sort")
def sort(x: Any, axis: int, descending: bool) -> tuple[Any, Any]:
    """Return the elements in order, and where they come from."""
    order = _order(x, axis, descending)
    return jnp.take_along_axis(x, order, axis), order


@lower("topk")
def topk(x: Any, k: int, dim: int | None, largest: bool, sorted: bool) -> tuple[Any, Any]:
    """Return the first k of a descending order, or of an ascending one, and where they come from."""
    axis = (x.ndim if dim is None else dim % x.ndim + 1) - 1
    if largest and axis == x.ndim - 1 and jnp.issubdtype(x.dtype, jnp.floating):
        values, places = lax.top_k(x, k)
        return values, lax.convert_element_type(places, jnp.int32)
    order = lax.slice_in_dim(_order(x, axis, largest), 0, k, axis=axis)
    return jnp.take_along_axis(x, order, axis), order


@lower("searchsorted")
def searchsorted(
    row: Any, values: Any, sorter: Any, out_int32: bool, right: bool, side: str | None, dtype: DType | None
) -> Any:
    """Find where values belong in a row, or in the row of each leading position."""
    row = row if sorter is None else jnp.take_along_axis(row, sorter, -1)
    find = partial(jnp.searchsorted, side=side or ("right" if right else "left"))
    for _ in range(row.ndim - 1):
        find = jax.vmap(find)
    out = jnp.dtype(dtype.numpy) if dtype is not None else jnp.dtype(jnp.int32 if out_int32 else jnp.int64)
    return lax.convert_element_type(find(row, values), out)


@lower("unique")
def unique(x: Any, size: int, fill_value: Any) -> tuple[Any, Any]:
    """Order the distinct values by where they first appear."""
    index_dtype = jnp.int64 if x.dtype == jnp.int64 else jnp.int32
    fill = jnp.full((size,), literal_array(fill_value, as_dtype(x.dtype)))
    if not x.size:
        return fill, jnp.zeros(x.shape, index_dtype)
    flat, count = x.ravel(), x.size
    _, first, inverse, counts = jnp.unique(
        flat, return_index=True, return_inverse=True, return_counts=True, size=count, fill_value=None
    )
    first = jnp.where(counts > 0, first, count)
    order = jnp.argsort(first, stable=True)
    rank = jnp.argsort(order)
    found = jnp.take(flat, jnp.sort(first), mode="clip")[:size]
    kept = jnp.arange(min(size, count)) < jnp.sum(counts > 0)
    found = jnp.where(kept, found, fill[: min(size, count)])
    return jnp.concatenate([found, fill[count:]]), rank[inverse].reshape(x.shape).astype(index_dtype)


@lower("nonzero")
def nonzero(x: Any, size: int, fill_value: int) -> Any:
    """Return the indices of what is not 0 as rows."""
    columns = jnp.nonzero(jnp.atleast_1d(x), size=size, fill_value=fill_value)[: x.ndim]
    return jnp.stack(columns, -1).astype(jnp.int64) if columns else jnp.zeros((size, 0), jnp.int64)


def _running(function: Any, start: int) -> Any:
    def rule(x: Any, dtype: DType | None, exclusive: bool, reverse: bool, **named: int) -> Any:
        (axis,) = named.values()
        axis %= x.ndim
        x = x if dtype is None else lax.convert_element_type(x, dtype.numpy)
        total = function(x, axis, reverse=reverse)
        if not exclusive or not x.shape[axis]:
            return total
        ends = (0, 1, 0) if reverse else (1, 0, 0)
        padded = lax.pad(total, jnp.asarray(start, x.dtype), [ends if i == axis else (0, 0, 0) for i in range(x.ndim)])
        first = 1 if reverse else 0
        return lax.slice_in_dim(padded, first, first + x.shape[axis], axis=axis)

    return rule


lower("cumsum")(_running(lax.cumsum, 0))
lower("cumprod")(_running(lax.cumprod, 1))


def _extreme(x: Any, axis: int, at_least: Any, index_dtype: Any) -> tuple[Any, Any]:
    """Carry the extreme with its place along the axis: an equal later one takes over, nothing does from a NaN."""
    axis %= x.ndim
    places = lax.broadcasted_iota(index_dtype, x.shape, axis)

    def later(a: Any, b: Any) -> Any:
        takes_over = at_least(b[0], a[0])
        if jnp.issubdtype(x.dtype, jnp.floating):
            takes_over |= jnp.isnan(b[0]) & ~jnp.isnan(a[0])
        return tuple(jnp.where(takes_over, new, old) for old, new in zip(a, b))

    _, found = lax.associative_scan(later, (lax.stop_gradient(x), places), axis=axis)
    return jnp.take_along_axis(x, found, axis), found


@lower("cummax")
def cummax(x: Any, axis: int) -> tuple[Any, Any]:
    """Return the running maximum and its place."""
    return _extreme(x, axis, lax.ge, jnp.int64 if x64() else jnp.int32)


@lower("cummin")
def cummin(x: Any, axis: int) -> tuple[Any, Any]:
    """Return the running minimum and its place."""
    return _extreme(x, axis, lax.le, jnp.int32)
