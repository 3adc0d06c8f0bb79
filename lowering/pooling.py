"""Lowerings of pooling over windows, adaptive pooling, and interpolation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lowering.convolution import pairs
from lowering.registry import lower

Numbers = tuple[int, ...]
Pads = Sequence[tuple[int, int]]


def _count(length: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int, ceil: bool) -> int:
    room = length + sum(pads) - dilation * (kernel - 1) - 1
    if not ceil:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - ((count - 1) * stride >= length + pads[0])


def _reach(lengths: Numbers, kernel: Numbers, stride: Numbers, pads: Pads, dilation: Numbers, ceil: bool) -> Pads:
    """Return the padding with which exactly the wanted windows fit: behind, it may also be negative."""
    counts = [_count(*each, ceil) for each in zip(lengths, kernel, stride, pads, dilation)]
    ends = [(count - 1) * s + d * (k - 1) + 1 for count, s, d, k in zip(counts, stride, dilation, kernel)]
    return [(before, end - length - before) for (before, _), end, length in zip(pads, ends, lengths)]


def _reduce(x: Any, initial: Any, function: Any, kernel: Numbers, stride: Numbers, pads: Pads) -> Any:
    lead = x.ndim - len(kernel)
    around = [(0, 0)] * lead + [(before, max(behind, 0)) for before, behind in pads]
    return lax.reduce_window(x, initial, function, (1,) * lead + kernel, (1,) * lead + stride, around)


def _least(x: Any) -> Any:
    return -np.inf if jnp.issubdtype(x.dtype, jnp.floating) else np.iinfo(x.dtype).min


def _maximum(x: Any, kernel: Numbers, stride: Numbers, pads: Pads) -> Any:
    return _reduce(x, np.asarray(_least(x), x.dtype), lax.max, kernel, stride, pads)


def _mean(x: Any, kernel: Numbers, stride: Numbers, pads: Pads, divisor: Any) -> Any:
    return _reduce(x, np.zeros((), x.dtype), lax.add, kernel, stride, pads) / divisor


def _windows(x: Any, kernel: Numbers, stride: Numbers, pads: Pads, dilation: Numbers, fill: Any) -> Any:
    """Return every window in a last axis: one strided slice for each position of the kernel."""
    lead = x.ndim - len(kernel)
    wide = lax.pad(x, np.asarray(fill, x.dtype), [(0, 0, 0)] * lead + [(*pad, 0) for pad in pads])
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(wide.shape[lead:], dilation, kernel, stride)]
    places = itertools.product(*map(range, kernel))
    cuts = [
        tuple([slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in zip(place, dilation, sizes, stride)])
        for place in places
    ]
    return jnp.stack([wide[(..., *cut)] for cut in cuts], -1)


@lower("max_pool2d", "max_pool3d")
def max_pool(
    x: Any,
    kernel_size: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    dilation: Numbers,
    return_indices: bool,
    ceil_mode: bool,
) -> Any:
    """Take the maximum of each window; the first of equals."""
    count, stride = len(kernel_size), stride or kernel_size
    lengths = x.shape[-count:]
    pads = _reach(lengths, kernel_size, stride, pairs(padding, count), dilation, ceil_mode)
    if not return_indices and set(dilation) == {1}:
        return _maximum(x, kernel_size, stride, pads)
    windows = _windows(x, kernel_size, stride, pads, dilation, _least(x))
    chosen = jnp.expand_dims(jnp.argmax(windows, -1), -1)
    values = jnp.take_along_axis(windows, chosen, -1)[..., 0]
    if not return_indices:
        return values
    places = jnp.broadcast_to(jnp.arange(math.prod(lengths), dtype=jnp.int32).reshape(lengths), x.shape)
    indices = jnp.take_along_axis(_windows(places, kernel_size, stride, pads, dilation, 0), chosen, -1)[..., 0]
    return values, lax.convert_element_type(indices, jnp.int64)


def _divisor(lengths: Numbers, kernel: Numbers, stride: Numbers, pads: Pads, reach: Pads, include: bool) -> Any:
    """Return how many elements each window averages over: a number where that is the same for all."""
    total = np.ones(())
    for i, (n, k, s, (before, behind), (_, end)) in enumerate(zip(lengths, kernel, stride, pads, reach)):
        start = np.arange((n + before + end - k) // s + 1) * s - before
        stop = np.minimum(start + k, n + behind)
        inner = np.minimum(stop, n) - np.maximum(start, 0)
        total = total * (stop - start if include else inner).reshape(-1, *[1] * (len(kernel) - 1 - i))
    return total if (total != total.flat[0]).any() else total.flat[0]


@lower("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    x: Any,
    kernel_size: Numbers,
    stride: Numbers,
    padding: Numbers,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int = 0,
) -> Any:
    """Average each window."""
    count = len(kernel_size)
    given = pairs(padding, count)
    reach = _reach(x.shape[-count:], kernel_size, stride, given, (1,) * count, ceil_mode)
    divisor = divisor_override or _divisor(x.shape[-count:], kernel_size, stride, given, reach, count_include_pad)
    return _mean(x, kernel_size, stride, reach, np.asarray(divisor, x.dtype))


def _class_pads(x: Any, kernel: Numbers, strides: Numbers, pad_mode: str) -> Pads:
    return lax.padtype_to_pads(x.shape[2:], kernel, strides, pad_mode.upper())


@lower("max_pool")
def max_pool_class(x: Any, kernel_size: Numbers, strides: Numbers, pad_mode: str, data_format: str) -> Any:
    """Take the maximum of each window."""
    return _maximum(x, kernel_size, strides, _class_pads(x, kernel_size, strides, pad_mode))


@lower("avg_pool")
def avg_pool_class(x: Any, kernel_size: Numbers, strides: Numbers, pad_mode: str, data_format: str) -> Any:
    """Average what each window has of the input."""
    pads = _class_pads(x, kernel_size, strides, pad_mode)
    divisor = _divisor(x.shape[2:], kernel_size, strides, pads, pads, include=False)
    return _mean(x, kernel_size, strides, pads, np.asarray(divisor, x.dtype))


def _averaged(x: Any, axis: int, size: int) -> Any:
    """Average an axis in parts: a product with the matrix that says which element counts how much."""
    length = x.shape[axis]
    if size == length:
        return x
    if length % size == 0:
        return jnp.mean(x.reshape(*x.shape[:axis], size, length // size, *x.shape[axis + 1 :]), axis + 1)
    matrix = np.zeros((size, length))
    for i in range(size):
        start, end = i * length // size, -(-(i + 1) * length // size)
        matrix[i, start:end] = 1 / (end - start)
    product = jnp.tensordot(x, jnp.asarray(matrix, x.dtype), ((axis,), (1,)), preferred_element_type=x.dtype)
    return jnp.moveaxis(product, -1, axis)


@lower("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(x: Any, output_size: tuple[int | None, ...]) -> Any:
    """Average parts of the last axes."""
    for axis, size in enumerate(output_size, x.ndim - len(output_size)):
        x = _averaged(x, axis, x.shape[axis] if size is None else size)
    return x


def _resized(x: Any, axis: int, size: int, mode: str, align_corners: bool | None) -> Any:
    length, places = x.shape[axis], np.arange(size)
    if mode.startswith("nearest"):
        shift = 0.5 if mode == "nearest-exact" else 0
        return jnp.take(x, np.minimum(((places + shift) * length / size).astype(np.int32), length - 1), axis)
    source = places * ((length - 1) / max(size - 1, 1)) if align_corners else (places + 0.5) * length / size - 0.5
    source = np.clip(source, 0, length - 1)
    low = np.floor(source).astype(np.int32)
    part = jnp.asarray(source - low, x.dtype).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    high = np.minimum(low + 1, length - 1)
    return jnp.take(x, low, axis) * (1 - part) + jnp.take(x, high, axis) * part


@lower("interpolate")
def interpolate(
    x: Any,
    size: Numbers | None,
    scale_factor: tuple[float, ...] | None,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
) -> Any:
    """Resize one axis after the other."""
    given: Any = size if size is not None else scale_factor
    given = given * (x.ndim - 2) if len(given) == 1 else given
    for axis, number in enumerate(given, 2):
        length = number if size is not None else math.floor(x.shape[axis] * number)
        x = _averaged(x, axis, length) if mode == "area" else _resized(x, axis, length, mode, align_corners)
    return x
