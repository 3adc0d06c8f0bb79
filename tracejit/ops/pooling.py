"""Pooling over windows of the last axes, adaptive pooling, and interpolation."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.convolution import for_axes, same_padding, sides
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS, REALS

Shape = tuple[int, ...]
_ONE = {count: (1,) * count for count in (1, 2, 3)}


def window_count(length: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int, ceil: bool) -> int:
    """Return how many windows fit an axis; with `ceil` the last may reach out, but begins inside the padded input."""
    room = length + sum(pads) - dilation * (kernel - 1) - 1
    if not ceil:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - ((count - 1) * stride >= length + pads[0])


def _leading(op: Op, types: Sequence[Any], count: int) -> tuple[Shape, Shape]:
    shape = types[0].shape
    if len(shape) not in (count + 1, count + 2):
        raise ShapeError(
            f"{op.name}: {types[0]} must have {count + 2} axes, or {count + 1} without a batch",
            types=op.names_of(types),
        )
    return shape[:-count], shape[-count:]


def _check_windows(op: Op, types: Sequence[Any], counts: Sequence[int]) -> None:
    if min(counts) < 1:
        raise ShapeError(f"{op.name}: the window is larger than the padded input", types=op.names_of(types))


def _pooled(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    kernel = attributes["kernel_size"]
    lead, lengths = _leading(op, types, len(kernel))
    stride = attributes["stride"] or kernel
    pads = sides(attributes["padding"], len(kernel))
    if any(2 * max(pad) > k for pad, k in zip(pads, kernel)):
        raise AttributeValueError(
            f"{op.name}: padding {attributes['padding']} is more than half of the window {kernel}"
        )
    dilation = attributes.get("dilation") or (1,) * len(kernel)
    settings = zip(lengths, kernel, stride, pads, dilation)
    counts = [window_count(*each, attributes["ceil_mode"]) for each in settings]
    _check_windows(op, types, counts)
    return [lead + tuple(counts)] * (2 if attributes.get("return_indices") else 1)


def _windows(
    x: np.ndarray, kernel: Shape, stride: Shape, pads: Any, dilation: Shape, counts: Shape, fill: Any
) -> np.ndarray:
    """Return every window in a last axis, `fill` where it reaches out."""
    n = len(kernel)
    reach = [(c - 1) * s + d * (k - 1) + 1 for c, s, d, k in zip(counts, stride, dilation, kernel)]
    behind = [max(0, r - length - before) for r, length, (before, _) in zip(reach, x.shape[-n:], pads)]
    wide = np.pad(x, [(0, 0)] * (x.ndim - n) + [(b, e) for (b, _), e in zip(pads, behind)], constant_values=fill)
    parts = []
    for place in np.ndindex(*kernel):
        cut = [slice(p * d, p * d + (c - 1) * s + 1, s) for p, d, c, s in zip(place, dilation, counts, stride)]
        parts.append(wide[(..., *cut)])
    return np.stack(parts, -1)


def _max_reference(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
    n, stride = len(kernel_size), stride or kernel_size
    pads, lengths = sides(padding, n), x.shape[-n:]  # pyright: ignore[reportArgumentType]
    counts = tuple([window_count(*each, ceil_mode) for each in zip(lengths, kernel_size, stride, pads, dilation)])  # pyright: ignore[reportArgumentType, reportCallIssue]
    settings = (kernel_size, stride, pads, dilation, counts)
    windows = _windows(x.astype(np.float64), *settings, -np.inf)  # pyright: ignore[reportArgumentType]
    if not return_indices:
        return windows.max(-1).astype(x.dtype)
    places = np.broadcast_to(np.arange(math.prod(lengths)).reshape(lengths), x.shape)
    chosen = np.argmax(windows, -1)[..., None]
    indices = np.take_along_axis(_windows(places, *settings, -1), chosen, -1)[..., 0]  # pyright: ignore[reportArgumentType]
    return windows.max(-1).astype(x.dtype), indices.astype(np.int64)


def _refused(count: int) -> tuple[Sample, ...]:
    """Return samples that every pooling operator refuses."""
    lengths = ",".join(["4"] * count)
    return (
        Sample(f"f32[1,1,1,1,{lengths}]", {"kernel_size": 2}, ShapeError),
        Sample(f"f32[1,1,{lengths}]", {"kernel_size": 5}, ShapeError),
        Sample(f"f32[1,1,{lengths}]", {"kernel_size": 2, "padding": 2}, AttributeValueError),
        Sample(f"b1[1,1,{lengths}]", {"kernel_size": 2}, DTypeError),
    )


def _max_pool(count: int, order: Sequence[str], *samples: Sample) -> Op:
    own = {
        "return_indices": Attribute("return_indices", checks.boolean, False),
        "ceil_mode": Attribute("ceil_mode", checks.boolean, False),
    }
    return op(
        f"MaxPool{count}DExt",
        "x:T",
        name=f"max_pool{count}d",
        doc="The maximum of each window of the last axes; with return_indices also where it is in the flattened axes. "
        "The stride is the window's size unless one is given.",
        result=("T", "int64"),
        accepts=REALS,
        attributes=(
            Attribute("kernel_size", for_axes(count, 1)),
            Attribute("stride", checks.optional(for_axes(count, 1)), None),
            Attribute("padding", for_axes(count, 0), (0,) * count),
            Attribute("dilation", for_axes(count, 1), _ONE[count]),
            *[own[name] for name in order],
        ),
        shape=_pooled,
        reference=_max_reference,
        samples=(*samples, *_refused(count)),
    )


max_pool2d = _max_pool(
    2,
    ("return_indices", "ceil_mode"),
    Sample("f32[1,2,4,4]", {"kernel_size": 2}),
    Sample("f32[2,5,4]", {"kernel_size": (3, 2), "stride": 2, "padding": 1, "ceil_mode": True}),
    Sample("f64[1,1,5,5]", {"kernel_size": 2, "stride": 1, "dilation": 2, "return_indices": True}),
)
max_pool3d = _max_pool(
    3, ("ceil_mode", "return_indices"), Sample("f32[1,2,2,4,4]", {"kernel_size": 2, "stride": (1, 2, 2)})
)


def divisors(length: int, kernel: int, stride: int, pads: tuple[int, int], count: int, include_pad: bool) -> np.ndarray:
    """Return how many elements each window of an axis averages over."""
    start = np.arange(count) * stride - pads[0]
    end = np.minimum(start + kernel, length + pads[1])
    if not include_pad:
        start, end = np.maximum(start, 0), np.minimum(end, length)
    return end - start


def _avg_reference(x, kernel_size, stride=1, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=0):
    n = len(kernel_size)
    pads, lengths = sides(padding, n), x.shape[-n:]  # pyright: ignore[reportArgumentType]
    counts = tuple([window_count(*each, 1, ceil_mode) for each in zip(lengths, kernel_size, stride, pads)])  # pyright: ignore[reportArgumentType, reportCallIssue]
    total = _windows(x.astype(np.float64), kernel_size, stride, pads, (1,) * n, counts, 0).sum(-1)  # pyright: ignore[reportArgumentType]
    divisor: Any = np.ones(())
    for i, each in enumerate(zip(lengths, kernel_size, stride, pads, counts)):  # pyright: ignore[reportArgumentType]
        divisor = divisor * divisors(*each, count_include_pad).reshape(-1, *[1] * (n - 1 - i))  # pyright: ignore[reportCallIssue]
    return (total / (divisor_override or divisor)).astype(x.dtype)


def _avg_pool(count: int, *samples: Sample) -> Op:
    override = (Attribute("divisor_override", checks.size, 0),) if count > 1 else ()
    return op(
        f"AvgPool{count}DExt",
        "input_x:T",
        name=f"avg_pool{count}d",
        doc="The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off.",
        accepts=FLOATS,
        attributes=(
            Attribute("kernel_size", for_axes(count, 1), _ONE[count]),
            Attribute("stride", for_axes(count, 1), _ONE[count]),
            Attribute("padding", for_axes(count, 0, sides=True), (0,) * count),
            Attribute("ceil_mode", checks.boolean, False),
            Attribute("count_include_pad", checks.boolean, True),
            *override,
        ),
        shape=_pooled,
        reference=_avg_reference,
        differs="padding may be one number for each axis.",
        samples=(*samples, *_refused(count)),
    )


avg_pool1d = _avg_pool(1, Sample("f32[1,2,6]", {"kernel_size": 3, "stride": 2, "ceil_mode": True}))
avg_pool2d = _avg_pool(
    2,
    Sample("f32[1,2,4,4]", {"kernel_size": 2, "stride": 2}),
    Sample("f32[1,1,4,4]", {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    Sample("f64[2,4,5]", {"kernel_size": 3, "padding": (1, 0), "count_include_pad": False}),
    Sample("f32[1,1,4,4]", {"kernel_size": 2, "divisor_override": 3}),
)
avg_pool3d = _avg_pool(3, Sample("f32[1,2,3,4,4]", {"kernel_size": 2, "stride": (1, 2, 2)}))


def _window2d(value: Any) -> Shape:
    numbers = checks.integers(value)
    if len(numbers) == 4 and numbers[:2] == (1, 1):
        numbers = numbers[2:]
    return for_axes(2, 1)(numbers)


def _mode(value: Any) -> str:
    return checks.one_of("same", "valid")(value.lower() if isinstance(value, str) else value)


def class_padding(lengths: Shape, attributes: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the padding that `pad_mode` of the pooling classes means."""
    if attributes["pad_mode"] == "valid":
        return [(0, 0)] * len(lengths)
    return [same_padding(*each) for each in zip(lengths, attributes["kernel_size"], attributes["strides"])]


def _class_pooled(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if types[0].ndim != 4:
        raise ShapeError(f"{op.class_name}: {types[0]} must have 4 axes", types=op.names_of(types))
    lengths = types[0].shape[2:]
    pads = class_padding(lengths, attributes)
    settings = zip(lengths, attributes["kernel_size"], attributes["strides"], pads)
    counts = [window_count(*each, 1, False) for each in settings]
    _check_windows(op, types, counts)
    return [types[0].shape[:2] + tuple(counts)]


def _class_reference(mean: bool) -> Callable[..., Any]:
    def reference(x, kernel_size, strides, pad_mode, data_format="NCHW"):
        pads = class_padding(x.shape[2:], {"kernel_size": kernel_size, "strides": strides, "pad_mode": pad_mode})
        counts = tuple([window_count(*each, 1, False) for each in zip(x.shape[2:], kernel_size, strides, pads)])
        windows = _windows(x.astype(np.float64), kernel_size, strides, pads, (1, 1), counts, np.nan)
        return (np.nanmean if mean else np.nanmax)(windows, -1).astype(x.dtype)

    return reference


def _class_pool(class_name: str, name: str, word: str, mean: bool) -> Op:
    return op(
        class_name,
        "x:T",
        name=name,
        doc=f"The {word} of each window of the last two axes; of pad_mode same, padding does not count.",
        accepts=FLOATS if mean else REALS,
        attributes=(
            Attribute("kernel_size", _window2d, (1, 1)),
            Attribute("strides", _window2d, (1, 1)),
            Attribute("pad_mode", _mode, "valid"),
            Attribute("data_format", checks.one_of("NCHW"), "NCHW"),
        ),
        shape=_class_pooled,
        reference=_class_reference(mean),
        samples=(
            Sample("f32[1,2,4,4]", {"kernel_size": 3, "strides": 2, "pad_mode": "same"}),
            Sample("f64[1,1,4,5]", {"kernel_size": (2, 3), "strides": (1, 2)}),
            Sample("f32[4,5]", {"kernel_size": 2}, ShapeError),
            Sample("f32[1,1,4,4]", {"pad_mode": "pad"}, AttributeValueError),
        ),
        differs="NHWC is not there: transpose.",
    )


max_pool = _class_pool("MaxPool", "max_pool", "maximum", mean=False)
avg_pool = _class_pool("AvgPool", "avg_pool", "mean", mean=True)


def _sizes(count: int) -> Callable[[Any], tuple[int | None, ...]]:
    def check(value: Any) -> tuple[int | None, ...]:
        items = value if isinstance(value, list | tuple) else (value,) * count
        if len(items) != count:
            raise ValueError(f"must be one size or {count}")
        return tuple([None if item is None else for_axes(1, 1)(item)[0] for item in items])

    return check


def _adaptive(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    wanted = attributes["output_size"]
    lead, lengths = _leading(op, types, len(wanted))
    if 0 in lengths:
        raise ShapeError(f"{op.name}: an axis of {types[0]} is empty", types=op.names_of(types))
    return [lead + tuple([n if size is None else size for n, size in zip(lengths, wanted)])]


def _adaptive_reference(x: np.ndarray, output_size: Sequence[int | None]) -> np.ndarray:
    result = x.astype(np.float64)
    for axis, size in enumerate(output_size, x.ndim - len(output_size)):
        n, size = x.shape[axis], size or x.shape[axis]
        parts = [np.arange(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
        result = np.stack([np.take(result, part, axis).mean(axis) for part in parts], axis)
    return result.astype(x.dtype)


def _adaptive_pool(count: int, *samples: Sample) -> Op:
    return op(
        f"AdaptiveAvgPool{count}D",
        "input:T",
        name=f"adaptive_avg_pool{count}d",
        doc="Means of windows that divide the last axes into the numbers given; None keeps an axis.",
        accepts=FLOATS,
        attributes=(Attribute("output_size", _sizes(count)),),
        shape=_adaptive,
        reference=_adaptive_reference,
        samples=(
            *samples,
            Sample("f32[3]", {"output_size": 2}, ShapeError),
            Sample("i32[2,2,2]", {"output_size": 1}, DTypeError),
        ),
    )


adaptive_avg_pool1d = _adaptive_pool(1, Sample("f32[1,2,6]", {"output_size": 3}))
adaptive_avg_pool2d = _adaptive_pool(
    2, Sample("f32[1,2,5,4]", {"output_size": (2, None)}), Sample("f64[2,4,4]", {"output_size": 3})
)
adaptive_avg_pool3d = _adaptive_pool(3, Sample("f32[1,1,2,3,4]", {"output_size": (1, 2, 3)}))

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}


def _scales(value: Any) -> tuple[float, ...]:
    items = value if isinstance(value, list | tuple) else (value,)
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float | np.integer | np.floating):
            raise TypeError("must be a number, or a list of numbers")
        if not (math.isfinite(item) and item > 0):
            raise ValueError("must be finite and positive")
    return tuple([float(item) for item in items])


def output_lengths(lengths: Shape, size: Shape | None, scale_factor: tuple[float, ...] | None) -> Shape:
    """Return the lengths after interpolation; one number is for every axis."""
    given: Any = size if size is not None else scale_factor
    given = given * len(lengths) if len(given) == 1 else given
    return given if size is not None else tuple([math.floor(n * scale) for n, scale in zip(lengths, given)])


def _interpolate(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    size, scale, mode = (attributes[name] for name in ("size", "scale_factor", "mode"))
    lead, lengths = types[0].shape[:2], types[0].shape[2:]
    if (size is None) == (scale is None):
        raise AttributeValueError("interpolate: give either size or scale_factor")
    if not lengths or len(lengths) > 3 or _LINEAR.get(mode, len(lengths)) != len(lengths):
        raise ShapeError(f"interpolate: mode {mode!r} does not take {types[0]}", types=op.names_of(types))
    given = size if size is not None else scale
    if len(given) not in (1, len(lengths)):
        raise AttributeValueError(f"interpolate: {given} is for more or fewer axes than {types[0]} has to resize")
    if attributes["align_corners"] and mode not in _LINEAR:
        raise AttributeValueError(f"interpolate: mode {mode!r} has no align_corners")
    wanted = output_lengths(lengths, size, scale)
    if 0 in lengths or 0 in wanted:
        raise ShapeError(f"interpolate: {list(lengths)} cannot become {list(wanted)}", types=op.names_of(types))
    return [lead + wanted]


def _resized(x: np.ndarray, axis: int, size: int, mode: str, align_corners: bool | None) -> np.ndarray:
    n, places = x.shape[axis], np.arange(size)
    if mode.startswith("nearest"):
        shift = 0.5 if mode == "nearest-exact" else 0
        return np.take(x, np.minimum(((places + shift) * n / size).astype(int), n - 1), axis)
    source = places * ((n - 1) / max(size - 1, 1)) if align_corners else (places + 0.5) * n / size - 0.5
    source = np.clip(source, 0, n - 1)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    low, part = np.floor(source).astype(int), (source - np.floor(source)).reshape(shape)
    return np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, n - 1), axis) * part


def _interpolate_reference(
    x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None
):
    lengths = output_lengths(x.shape[2:], size, scale_factor)
    if mode == "area":
        return _adaptive_reference(x, lengths)
    result = x.astype(np.float64)
    for axis, length in enumerate(lengths, 2):
        result = _resized(result, axis, length, mode, align_corners)
    return result.astype(x.dtype)


interpolate = op(
    "Interpolate",
    "input:T",
    doc="Resize the axes behind batch and channels, to a size or by a factor. Modes: nearest, nearest-exact, area, "
    "and linear, bilinear and trilinear for one, two and three axes.",
    accepts=FLOATS,
    attributes=(
        Attribute("size", checks.optional(checks.shape), None),
        Attribute("scale_factor", checks.optional(_scales), None),
        Attribute("mode", checks.one_of("nearest", "nearest-exact", "area", *_LINEAR), "nearest"),
        Attribute("align_corners", checks.optional(checks.boolean), None),
        Attribute("recompute_scale_factor", checks.optional(checks.boolean), None),
    ),
    shape=_interpolate,
    reference=_interpolate_reference,
    samples=(
        Sample("f32[1,1,2,3]", {"size": (3, 5)}),
        Sample("f32[1,2,3,2]", {"scale_factor": 1.5, "mode": "bilinear"}),
        Sample("f64[1,1,3]", {"size": 5, "mode": "linear", "align_corners": True}),
        Sample("f32[1,1,3]", {"size": 5, "mode": "bilinear"}, ShapeError),
        Sample("f32[1,1,3]", {"size": 5, "align_corners": True}, AttributeValueError),
        Sample("f32[1,1,3]", raises=AttributeValueError),
    ),
    differs="bicubic is not there. scale_factor gives the size only (recompute_scale_factor=True), for every mode.",
)
