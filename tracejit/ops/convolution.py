"""Convolutions and transposed convolutions over one, two or three axes: NCHW, as MindSpore's functions take them."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ir import ABSENT
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS

Shape = tuple[int, ...]


def for_axes(count: int, least: int, *, sides: bool = False) -> Callable[[Any], Any]:
    """Make a check of one number for all axes, one for each, or (sides) two for each: before and behind."""

    def check(value: Any) -> tuple[int, ...]:
        numbers = checks.integers(value)
        if len(numbers) not in (1, count, *([2 * count] if sides else [])) or min(numbers) < least:
            raise ValueError(f"must be one number or {count}{f' or {2 * count}' * sides}, not below {least}")
        return numbers * count if len(numbers) == 1 else numbers

    return check


def sides(padding: Shape, count: int) -> list[tuple[int, int]]:
    """Return what is added before and behind each axis."""
    return list(zip(padding[::2], padding[1::2])) if len(padding) == 2 * count > count else [(n, n) for n in padding]


def same_padding(length: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return the padding with which a window gives ceil(length / stride) results; the odd one goes behind."""
    total = max(0, (-(-length // stride) - 1) * stride + (kernel - 1) * dilation + 1 - length)
    return total // 2, total - total // 2


def convolution_padding(shape: Shape, kernel: Shape, attributes: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the padding that a convolution's attributes ask for."""
    if attributes["pad_mode"] == "same":
        return [same_padding(*each) for each in zip(shape, kernel, attributes["stride"], attributes["dilation"])]
    return sides(attributes["padding"], len(shape))


def _check_channels(op: Op, types: Sequence[Any], count: int, channels: int, bias: int) -> None:
    x, weight, given = types
    if x.ndim != count + 2 or weight.ndim != count + 2:
        raise ShapeError(
            f"{op.name}: input and weight must have {count + 2} axes: batch (output channels), channels, {count} more",
            types=op.names_of(types),
            fix="add an axis, as in ops.expand_dims(x, 0)",
        )
    if x.shape[1] != channels:
        raise ShapeError(
            f"{op.name}: input has {x.shape[1]} channels, the weight is for {channels}", types=op.names_of(types)
        )
    if given is not ABSENT and given.shape != (bias,):
        raise ShapeError(f"{op.name}: bias must have the shape [{bias}]", types=op.names_of(types))


def _check_groups(op: Op, types: Sequence[Any], groups: int, channels: int) -> None:
    if channels % groups:
        raise ShapeError(f"{op.name}: {channels} channels cannot form {groups} groups", types=op.names_of(types))


def _lengths(op: Op, types: Sequence[Any], lengths: Sequence[int]) -> Shape:
    if min(lengths) < 1:
        raise ShapeError(f"{op.name}: the kernel is larger than the padded input", types=op.names_of(types))
    return tuple(lengths)


def _convolution(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, weight = types[0].shape, types[1].shape
    count = len(attributes["stride"])
    groups = attributes["groups"]
    _check_channels(op, types, count, weight[1] * groups if len(weight) > 1 else 0, weight[0] if weight else 0)
    _check_groups(op, types, groups, weight[0])
    if attributes["pad_mode"] != "pad" and any(attributes["padding"]):
        raise AttributeValueError(
            f"{op.name}: padding {attributes['padding']} with pad_mode {attributes['pad_mode']!r}",
            fix="use pad_mode='pad' for padding of your own",
        )
    padding = convolution_padding(x[2:], weight[2:], attributes)
    settings = zip(x[2:], weight[2:], padding, attributes["stride"], attributes["dilation"])
    lengths = [(n + before + behind - (k - 1) * d - 1) // s + 1 for n, k, (before, behind), s, d in settings]
    return [(x[0], weight[0], *_lengths(op, types, lengths))]


def _convolution_reference(x, weight, bias=None, **attributes):
    """Sum shifted products, one position of the kernel after the other."""
    pads = convolution_padding(x.shape[2:], weight.shape[2:], attributes)
    strides, dilation, groups = (attributes[name] for name in ("stride", "dilation", "groups"))
    wide = np.pad(x, [(0, 0), (0, 0), *pads]).astype(np.float64)
    sizes = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(wide.shape[2:], weight.shape[2:], strides, dilation)]
    wide = wide.reshape(x.shape[0], groups, -1, *wide.shape[2:])
    kernel = weight.astype(np.float64).reshape(groups, -1, *weight.shape[1:])
    total = np.zeros((x.shape[0], groups, kernel.shape[1], *sizes))
    for place in np.ndindex(*weight.shape[2:]):
        cut = [slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in zip(place, dilation, sizes, strides)]
        part = wide[(slice(None), slice(None), slice(None), *cut)]
        total += np.einsum("ngc...,goc->ngo...", part, kernel[(slice(None), slice(None), slice(None), *place)])
    total = total.reshape(x.shape[0], weight.shape[0], *sizes)
    return (total if bias is None else total + bias.reshape(-1, *[1] * len(sizes))).astype(x.dtype)


_MODE = checks.one_of("valid", "same", "pad")
_CLASS_ONLY = {
    "out_channel": Attribute("out_channel", checks.optional(checks.integer), None),
    "kernel_size": Attribute("kernel_size", checks.optional(checks.integers), None),
    "mode": Attribute("mode", checks.one_of(1), 1),
}


def _class_form(data_format: str) -> dict[str, Any]:
    names = ("out_channel", "kernel_size", "mode", "pad_mode", "pad=padding", "stride", "dilation", "group=groups")
    checked = (*_CLASS_ONLY.values(), Attribute("data_format", checks.one_of(data_format), data_format))
    return {"constructor": (*names, "data_format"), "class_only": checked}


def _declare(count: int, samples: Sequence[Sample], **options: Any) -> Op:
    return op(
        f"Conv{count}D",
        "input:=T, weight:=T, bias:=T?",
        name=f"conv{count}d",
        doc="The convolution of deep learning: sums of products of a window with the weights of each output channel. "
        "pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says).",
        accepts=FLOATS,
        attributes=(
            Attribute("stride", for_axes(count, 1), (1,) * count),
            Attribute("pad_mode", _MODE, "valid"),
            Attribute("padding", for_axes(count, 0, sides=True), (0,) * count),
            Attribute("dilation", for_axes(count, 1), (1,) * count),
            Attribute("groups", _positive, 1),
        ),
        tensors_only=True,
        shape=_convolution,
        reference=_convolution_reference,
        samples=samples,
        differs="float64 and bfloat16 too. padding may name both sides of each axis.",
        **options,
    )


def _positive(value: Any) -> int:
    number = checks.integer(value)
    if number < 1:
        raise ValueError("must be positive")
    return number


conv1d = _declare(
    1,
    (
        Sample("f32[2,2,5] f32[4,1,3] f32[4]", {"groups": 2, "pad_mode": "same"}),
        Sample("f64[1,2,7] f64[3,2,2]", {"stride": 2}),
        Sample("f32[2,5] f32[4,1,3]", raises=ShapeError),
    ),
)
conv2d = _declare(
    2,
    (
        Sample("f32[2,3,5,4] f32[4,3,3,2] f32[4]"),
        Sample("f32[1,2,5,5] f32[2,1,2,2]", {"groups": 2, "stride": 2, "pad_mode": "same"}),
        Sample("f64[1,2,5,5] f64[2,2,2,2]", {"dilation": (2, 1), "pad_mode": "pad", "padding": (1, 0)}),
        Sample("f32[1,2,5,5] f32[2,3,2,2]", raises=ShapeError),
        Sample("f32[1,1,2,2] f32[1,1,3,3]", raises=ShapeError),
        Sample("f16[1,1,2,2] f32[1,1,2,2]", raises=DTypeError),
        Sample("f32[1,1,2,2] f32[1,1,2,2]", {"padding": 1}, AttributeValueError),
        Sample("f32[1,1,2,2] f32[1,1,2,2]", {"stride": True}, AttributeTypeError),
    ),
    **_class_form("NCHW"),
)
conv3d = _declare(
    3,
    (
        Sample("f32[1,2,3,3,4] f32[2,2,2,2,3] f32[2]", {"pad_mode": "pad", "padding": 1}),
        Sample("f32[1,2,2,2] f32[1,2,2,2]", raises=ShapeError),
    ),
    **_class_form("NCDHW"),
)


def _transposed(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, weight = types[0].shape, types[1].shape
    stride, dilation, extra = (attributes[name] for name in ("stride", "dilation", "output_padding"))
    groups, count = attributes["groups"], len(stride)
    out = weight[1] * groups if len(weight) > 1 else 0
    _check_channels(op, types, count, weight[0] if weight else 0, out)
    _check_groups(op, types, groups, weight[0])
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise AttributeValueError(
            f"{op.name}: output_padding {extra} is not below stride {stride} or dilation {dilation}"
        )
    settings = zip(x[2:], weight[2:], sides(attributes["padding"], count), stride, dilation, extra)
    lengths = [(n - 1) * s - sum(pads) + d * (k - 1) + e + 1 for n, k, pads, s, d, e in settings]
    return [(x[0], out, *_lengths(op, types, lengths))]


def _transposed_reference(x, weight, bias=None, **attributes):
    """Add each element's kernel, scaled, at its place; then cut the padding off."""
    stride, dilation, extra, groups = (attributes[name] for name in ("stride", "dilation", "output_padding", "groups"))
    pads = sides(attributes["padding"], len(stride))
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(x.shape[2:], stride, dilation, weight.shape[2:])]
    sources = x.astype(np.float64).reshape(x.shape[0], groups, -1, *x.shape[2:])
    kernel = weight.astype(np.float64).reshape(groups, -1, *weight.shape[1:])
    room = [n + max(e - behind, 0) for n, e, (_, behind) in zip(full, extra, pads)]
    total = np.zeros((x.shape[0], groups, weight.shape[1], *room))
    for place in np.ndindex(*weight.shape[2:]):
        cut = [slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in zip(place, dilation, x.shape[2:], stride)]
        part = np.einsum("ngi...,gio->ngo...", sources, kernel[(slice(None), slice(None), slice(None), *place)])
        total[(slice(None), slice(None), slice(None), *cut)] += part
    total = total.reshape(x.shape[0], -1, *room)
    kept = [slice(before, n - behind + e) for n, (before, behind), e in zip(full, pads, extra)]
    total = total[(slice(None), slice(None), *kept)]
    return (total if bias is None else total + bias.reshape(-1, *[1] * len(full))).astype(x.dtype)


def _declare_transposed(count: int, *samples: Sample) -> Op:
    return op(
        f"ConvTranspose{count}D",
        "input:=T, weight:=T, bias:=T?",
        name=f"conv_transpose{count}d",
        doc="The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the "
        "input's channels first.",
        accepts=FLOATS,
        attributes=(
            Attribute("stride", for_axes(count, 1), (1,) * count),
            Attribute("padding", for_axes(count, 0, sides=True), (0,) * count),
            Attribute("output_padding", for_axes(count, 0), (0,) * count),
            Attribute("groups", _positive, 1),
            Attribute("dilation", for_axes(count, 1), (1,) * count),
        ),
        tensors_only=True,
        shape=_transposed,
        reference=_transposed_reference,
        samples=samples,
        differs="One function for each number of axes, in the form of 2.10's conv_transpose2d.",
    )


conv_transpose1d = _declare_transposed(
    1,
    Sample("f32[2,2,4] f32[2,3,3] f32[3]", {"stride": 2, "padding": 1}),
    Sample("f32[2,2,4] f32[3,3,3]", raises=ShapeError),
)
conv_transpose2d = _declare_transposed(
    2,
    Sample("f32[1,2,3,3] f32[2,3,2,2] f32[3]"),
    Sample("f64[1,4,3,2] f64[4,1,3,2]", {"stride": 2, "output_padding": 1, "groups": 2, "dilation": (1, 2)}),
    Sample("f32[1,2,3,3] f32[2,3,2,2]", {"output_padding": 1}, AttributeValueError),
    Sample("f32[1,2,3,3] f64[2,3,2,2]", raises=DTypeError),
)
conv_transpose3d = _declare_transposed(
    3,
    Sample("f32[1,2,2,2,2] f32[2,1,2,2,2]", {"stride": (2, 1, 1)}),
    Sample("f32[1,2,2,2,2] f32[2,1,2,2,2] f32[2]", raises=ShapeError),
)
