"""Lowerings of convolutions: `lax.conv_general_dilated` with channels in the second axis."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.registry import lower

Numbers = tuple[int, ...]


def pairs(padding: Numbers, count: int) -> list[tuple[int, int]]:
    """Return what is added before and behind each axis, of one number or two for each."""
    return list(zip(padding[::2], padding[1::2])) if len(padding) > count else [(n, n) for n in padding]


def _numbers(x: Any) -> Any:
    axes = tuple(range(x.ndim))
    return lax.ConvDimensionNumbers(axes, axes, axes)


def _with_bias(result: Any, bias: Any) -> Any:
    return result if bias is None else lax.add(result, lax.broadcast_in_dim(bias, result.shape, (1,)))


@lower("conv1d", "conv2d", "conv3d")
def convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Numbers,
    pad_mode: str,
    padding: Numbers,
    dilation: Numbers,
    groups: int,
) -> Any:
    """Convolve."""
    result = lax.conv_general_dilated(
        x,
        weight,
        stride,
        "SAME" if pad_mode == "same" else pairs(padding, len(stride)),
        rhs_dilation=dilation,
        dimension_numbers=_numbers(x),
        feature_group_count=groups,
        preferred_element_type=x.dtype,
    )
    return _with_bias(result, bias)


@lower("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed_convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Numbers,
    padding: Numbers,
    output_padding: Numbers,
    groups: int,
    dilation: Numbers,
) -> Any:
    """Convolve the input, spread by the stride, with the kernel turned around."""
    channels, out, *kernel = weight.shape
    weight = weight.reshape(groups, channels // groups, out, *kernel)
    weight = jnp.swapaxes(weight, 1, 2).reshape(groups * out, channels // groups, *kernel)
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    around = [
        (r - before, r - behind + extra)
        for r, (before, behind), extra in zip(reach, pairs(padding, len(stride)), output_padding)
    ]
    result = lax.conv_general_dilated(
        x,
        lax.rev(weight, range(2, weight.ndim)),
        (1,) * len(stride),
        around,
        lhs_dilation=stride,
        rhs_dilation=dilation,
        dimension_numbers=_numbers(x),
        feature_group_count=groups,
        preferred_element_type=x.dtype,
    )
    return _with_bias(result, bias)
