"""Lowerings of reductions, matrix products, and of operators that move, choose or make elements."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lowering.arithmetic import add, integer_quotient, sub
from lowering.arrays import x64
from lowering.broadcasting import align, expand, like
from lowering.emit import literal_array
from lowering.registry import lower
from tracejit.dtypes import DType, float32, int64


def _axes(x: Any, axis: tuple[int, ...]) -> tuple[int, ...] | None:
    return axis or None


@lower("reduce_sum")
def reduce_sum(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Sum in the operand's dtype."""
    return jnp.sum(x, _axes(x, axis), dtype=x.dtype, keepdims=keep_dims)


@lower("reduce_prod")
def reduce_prod(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Multiply in the operand's dtype."""
    return jnp.prod(x, _axes(x, axis), dtype=x.dtype, keepdims=keep_dims)


@lower("reduce_max")
def reduce_max(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Return the greatest element."""
    return jnp.max(x, _axes(x, axis), keepdims=keep_dims)


@lower("reduce_min")
def reduce_min(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Return the least element."""
    return jnp.min(x, _axes(x, axis), keepdims=keep_dims)


@lower("reduce_mean")
def reduce_mean(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Average; integers are summed in the widest integer there is, and the quotient is truncated."""
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.mean(x, _axes(x, axis), keepdims=keep_dims)
    width = 64 if x64() else 32
    wide = np.dtype(f"{'uint' if np.iinfo(x.dtype).min == 0 else 'int'}{width}")
    total = jnp.sum(x, _axes(x, axis), dtype=wide, keepdims=keep_dims)
    count = x.size // max(total.size, 1)
    return lax.convert_element_type(integer_quotient(total, like(total, count)), x.dtype)


@lower("reduce_all")
def reduce_all(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Say whether all elements are non-zero."""
    return jnp.all(x, _axes(x, axis), keepdims=keep_dims)


@lower("reduce_any")
def reduce_any(x: Any, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """Say whether any element is non-zero."""
    return jnp.any(x, _axes(x, axis), keepdims=keep_dims)


def _position(function: Any, x: Any, axis: int, output_type: DType) -> Any:
    wide = output_type is int64
    index = function(x, axis % x.ndim, jnp.int64 if wide else jnp.int32)
    return lax.convert_element_type(index, output_type.numpy)


@lower("argmax")
def argmax(x: Any, axis: int, output_type: DType) -> Any:
    """Return the position of the maximum."""
    return _position(lax.argmax, x, axis, output_type)


@lower("argmin")
def argmin(x: Any, axis: int, output_type: DType) -> Any:
    """Return the position of the minimum."""
    return _position(lax.argmin, x, axis, output_type)


@lower("matmul")
def matmul(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    """Multiply matrices; a flagged transposition is only another choice of the contracted axis."""
    if x.ndim == 2 and y.ndim == 2:
        contracted = ((0 if transpose_a else 1,), (1 if transpose_b else 0,))
        return lax.dot_general(x, y, (contracted, ((), ())), preferred_element_type=x.dtype)
    x = jnp.swapaxes(x, -1, -2) if transpose_a and x.ndim > 1 else x
    y = jnp.swapaxes(y, -1, -2) if transpose_b and y.ndim > 1 else y
    return jnp.matmul(x, y, preferred_element_type=x.dtype)


@lower("reshape")
def reshape(x: Any, shape: tuple[int, ...]) -> Any:
    """Give the elements another shape."""
    return jnp.reshape(x, shape)


@lower("transpose")
def transpose(x: Any, input_perm: tuple[int, ...]) -> Any:
    """Permute the axes."""
    return lax.transpose(x, [axis % x.ndim for axis in input_perm])


@lower("broadcast_to")
def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Repeat along axes."""
    return expand(x, shape)


@lower("concat")
def concat(*tensors: Any, axis: int) -> Any:
    """Join along an axis."""
    return lax.concatenate(tensors, axis % tensors[0].ndim)


@lower("stack")
def stack(*tensors: Any, axis: int) -> Any:
    """Join along a new axis."""
    return jnp.stack(tensors, axis)


@lower("select")
def select(condition: Any, x: Any, y: Any) -> Any:
    """Choose by a condition."""
    return lax.select(*align(condition, x, y))


@lower("gather")
def gather(x: Any, indices: Any, axis: int) -> Any:
    """Take slices along an axis; a bad index, a negative one included, gives 0."""
    axis %= x.ndim
    before = tuple(range(axis))
    after = tuple(range(axis + indices.ndim, x.ndim - 1 + indices.ndim))
    numbers = lax.GatherDimensionNumbers((*before, *after), (axis,), (axis,))
    sizes = [1 if i == axis else length for i, length in enumerate(x.shape)]
    starts = lax.expand_dims(indices, (indices.ndim,))
    mode = lax.GatherScatterMode.FILL_OR_DROP
    return lax.gather(x, starts, numbers, sizes, mode=mode, fill_value=0)


@lower("one_hot")
def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int) -> Any:
    """Compare each index with the positions along a new axis."""
    axis %= indices.ndim + 1
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    positions = lax.broadcasted_iota(indices.dtype, shape, axis)
    hot = lax.eq(expand(lax.expand_dims(indices, (axis,)), shape), positions)
    return lax.select(hot, expand(on_value, shape), expand(off_value, shape))


def _index(spec: tuple[Any, ...], tensors: Any) -> tuple[Any, ...]:
    """Turn the `index` attribute back into what `x[...]` takes."""
    given = iter(tensors)
    readers = {
        "int": lambda item: item[1],
        "bool": lambda item: item[1],
        "slice": lambda item: slice(*item[1:]),
        "newaxis": lambda item: None,
        "ellipsis": lambda item: Ellipsis,
        "tensor": lambda item: next(given),
    }
    return tuple([readers[item[0]](item) for item in spec])


@lower("getitem")
def getitem(x: Any, *indices: Any, index: tuple[Any, ...]) -> Any:
    """Read `x[index]`; where an index tensor is out of range, 0."""
    position = _index(index, indices)
    return x.at[position].get(mode="fill", fill_value=0) if indices else x[position]


@lower("setitem")
def setitem(x: Any, value: Any, *indices: Any, index: tuple[Any, ...]) -> Any:
    """Replace `x[index]`; what an index tensor puts out of range is dropped."""
    return x.at[_index(index, indices)].set(value, mode="drop")


@lower("zeros")
def zeros(shape: tuple[int, ...], dtype: DType) -> Any:
    """Fill with 0."""
    return lax.full(shape, 0, dtype.numpy)


@lower("ones")
def ones(shape: tuple[int, ...], dtype: DType) -> Any:
    """Fill with 1."""
    return lax.full(shape, 1, dtype.numpy)


@lower("full")
def full(size: tuple[int, ...], fill_value: Any, dtype: DType) -> Any:
    """Fill with a value, converted as Cast does."""
    return lax.full(size, literal_array(fill_value, dtype))


@lower("arange")
def arange(start: Any, end: Any, step: Any, dtype: DType | None) -> Any:
    """Count from start to end."""
    start, end = (0, start) if end is None else (start, end)
    exact = all(isinstance(number, int) for number in (start, end, step))
    found = dtype or (int64 if exact else float32)
    return (
        jnp.asarray(np.arange(start, end, step).astype(found.numpy)) if not exact else _count(start, end, step, found)
    )


def _count(start: int, end: int, step: int, dtype: DType) -> Any:
    length = max(0, -((start - end) // step))
    wide = np.dtype("int64" if x64() else "int32")
    positions = lax.iota(dtype.numpy if dtype.kind in ("int", "uint") else wide, length)
    values = positions * np.asarray(step, positions.dtype) + np.asarray(start, positions.dtype)
    return lax.convert_element_type(values, dtype.numpy)


@lower("constant")
def constant(value: np.ndarray) -> Any:
    """Embed known values; equal ones as a broadcast."""
    if value.size > 16 and value.tobytes() == value.flat[:1].tobytes() * value.size:
        return lax.full(value.shape, value.flat[0])
    return jnp.asarray(value)


lower("assign")(lambda variable, value: expand(value, variable.shape))
lower("assign_add")(lambda variable, value: add(variable, expand(value, variable.shape)))
lower("assign_sub")(lambda variable, value: sub(variable, expand(value, variable.shape)))


@lower("check_indices")
def check_indices(indices: Any, limits: tuple[int, ...], coordinates: bool, negative: bool) -> Any:
    """Tell whether an index lies outside its axis: (0 or 1, the first such index)."""
    limit = np.asarray(limits if coordinates else limits[0], indices.dtype)
    least = -limit if negative else np.zeros_like(limit)
    bad = ((indices < least) | (indices >= limit)).ravel()
    if not bad.size:
        return jnp.zeros((2,), indices.dtype)
    return jnp.stack([jnp.any(bad).astype(indices.dtype), indices.ravel()[jnp.argmax(bad)]])
