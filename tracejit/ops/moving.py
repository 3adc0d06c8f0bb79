"""Operators that move, repeat, cut and pad: the elements stay, their places change."""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import ALL
from tracejit.ops.shapes import normalize_axes, normalize_axis

Shape = tuple[int, ...]


def _axis(default: Any, name: str = "axis") -> Attribute:
    return Attribute(name, checks.integer, default)


def _squeeze(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, axis = types[0].shape, attributes["axis"]
    axes = normalize_axes(op, axis, len(shape)) if axis else [i for i, n in enumerate(shape) if n == 1]
    if any(shape[i] != 1 for i in axes):
        raise ShapeError(
            f"squeeze: axis {axis} of {types[0]} is not of length 1",
            types={"input": types[0]},
            fix="name axes of length 1, or none to drop all of them",
        )
    return [tuple([n for i, n in enumerate(shape) if i not in axes])]


squeeze = op(
    "Squeeze",
    "input:-",
    doc="Drop axes of length 1: the ones given, or all of them.",
    result="-",
    attributes=(Attribute("axis", checks.axes, None),),
    shape=_squeeze,
    reference=lambda x, axis=None: np.squeeze(x, axis or None),
    methods=("squeeze",),
    samples=("f32[2,1,3,1]", Sample("i8[1,2,1]", {"axis": (0,)}), Sample("f32[2]", {"axis": 0}, ShapeError)),
    differs="An axis that is not of length 1 is an error, as in r1.1 (2.10 leaves it).",
)


def _expand_dims(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = types[0].shape
    axis = normalize_axis(op, attributes["axis"], len(shape) + 1)
    return [(*shape[:axis], 1, *shape[axis:])]


expand_dims = op(
    "ExpandDims",
    "input_x:-, axis",
    doc="Add an axis of length 1.",
    result="-",
    attributes=(Attribute("axis", checks.integer),),
    shape=_expand_dims,
    reference=lambda x, axis: np.expand_dims(x, axis),
    methods=("expand_dims",),
    samples=(
        Sample("f32[2,3]", {"axis": 0}),
        Sample("i8[2,3]", {"axis": -1}),
        Sample("f32[2]", {"axis": 2}, AttributeValueError),
    ),
)


def _flatten(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = types[0].shape
    if len(shape) < 2:
        return [(types[0].size,)]
    first, last = (normalize_axis(op, attributes[name], len(shape), name) for name in ("start_dim", "end_dim"))
    if first > last:
        raise AttributeValueError(f"flatten: start_dim {first} lies behind end_dim {last}", types={"input": types[0]})
    ordered = shape if attributes["order"] == "C" else shape[::-1]
    size = int(np.prod(ordered[first : last + 1], dtype=object))
    return [(*ordered[:first], size, *ordered[last + 1 :])]


def _flatten_reference(x: np.ndarray, order: str = "C", start_dim: int = 1, end_dim: int = -1) -> np.ndarray:
    if x.ndim < 2:
        return x.reshape(-1)
    x = x if order == "C" else x.T
    first, last = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


flatten = op(
    "Flatten",
    "input:-",
    doc="Make one axis of those from start_dim to end_dim; order F reverses the axes first.",
    result="-",
    attributes=(Attribute("order", checks.one_of("C", "F"), "C"), _axis(1, "start_dim"), _axis(-1, "end_dim")),
    shape=_flatten,
    reference=_flatten_reference,
    methods=("flatten",),
    samples=(
        "f32[2,3,4]",
        Sample("i8[2,3]", {"order": "F", "start_dim": 0}),
        "f32[]",
        Sample("f32[2,3]", {"end_dim": 0}, AttributeValueError),
    ),
)


def _tile(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, dims = types[0].shape, attributes["dims"]
    rank = max(len(shape), len(dims))
    padded = [(1,) * (rank - len(lengths)) + lengths for lengths in (shape, dims)]
    return [tuple([length * times for length, times in zip(*padded)])]


tile = op(
    "Tile",
    "input:-, dims",
    doc="Repeat the whole along each axis, the last axes first; further ones are added in front.",
    result="-",
    attributes=(Attribute("dims", checks.shape),),
    shape=_tile,
    reference=lambda x, dims: np.tile(x, dims),
    methods=("tile",),
    samples=(
        Sample("f32[2,3]", {"dims": (2, 1)}),
        Sample("i8[3]", {"dims": (2, 2)}),
        Sample("f32[2]", {"dims": (True,)}, AttributeTypeError),
    ),
)


def _repeated(shape: Shape, axis: int, times: Any) -> list[Shape]:
    total = sum(times) if isinstance(times, tuple) and len(times) > 1 else shape[axis] * np.ravel(times)[0]
    return [(*shape[:axis], int(total), *shape[axis + 1 :])]


def _repeat_elements(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    axis = normalize_axis(op, attributes["axis"], types[0].ndim)
    return _repeated(types[0].shape, axis, attributes["rep"])


repeat_elements = op(
    "RepeatElements",
    "x:-, rep",
    doc="Repeat each slice along an axis the same number of times.",
    result="-",
    attributes=(Attribute("rep", checks.size), _axis(0)),
    shape=_repeat_elements,
    reference=lambda x, rep, axis=0: np.repeat(x, rep, axis),
    samples=(
        Sample("f32[2,3]", {"rep": 2}),
        Sample("i8[2,3]", {"rep": 3, "axis": 1}),
        Sample("f32[2]", {"rep": -1}, AttributeValueError),
    ),
)


def _repeat_interleave(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    axis, repeats = attributes["axis"], attributes["repeats"]
    shape = (types[0].size,) if axis is None else types[0].shape
    axis = normalize_axis(op, axis or 0, len(shape))
    if len(repeats) not in (1, shape[axis]):
        raise ShapeError(
            f"repeat_interleave: {len(repeats)} repeats for {shape[axis]} slices",
            types={"input": types[0]},
            fix="give one number, or one for each slice along the axis",
        )
    return _repeated(shape, axis, repeats)


repeat_interleave = op(
    "RepeatInterleave",
    "input:-, repeats",
    doc="Repeat each slice along an axis, all as often or each its own number of times; without an axis, elements.",
    result="-",
    attributes=(Attribute("repeats", checks.shape), Attribute("axis", checks.optional(checks.integer), None)),
    shape=_repeat_interleave,
    reference=lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    methods=("repeat_interleave",),
    samples=(
        Sample("f32[2,3]", {"repeats": 2}),
        Sample("i8[2,3]", {"repeats": (1, 0, 2), "axis": 1}),
        Sample("f32[3]", {"repeats": (1, 2)}, ShapeError),
    ),
    differs="repeats is a number or a list, not a tensor: shapes do not depend on values.",
)


def _flip(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if attributes["dims"]:
        normalize_axes(op, attributes["dims"], types[0].ndim)
    return [types[0].shape]


flip = op(
    "ReverseV2",
    "input:-",
    name="flip",
    doc="Reverse the order along the axes given.",
    result="-",
    attributes=(Attribute("dims", checks.integers),),
    constructor=("axis=dims",),
    shape=_flip,
    reference=lambda x, dims: np.flip(x, dims),
    methods=("flip",),
    samples=(
        Sample("f32[2,3]", {"dims": (0, 1)}),
        Sample("i8[2,3]", {"dims": (-1,)}),
        Sample("f32[2]", {"dims": (0, -1)}, AttributeValueError),
    ),
)


def _roll(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shifts, dims = attributes["shifts"], attributes["dims"]
    if dims is None and len(shifts) == 1:
        return [types[0].shape]
    if dims is None or len(dims) != len(shifts):
        raise AttributeValueError(f"Roll: {len(shifts)} shifts for dims {dims}", fix="give one shift for each axis")
    for axis in dims:
        normalize_axis(op, axis, types[0].ndim, "dims")
    return [types[0].shape]


roll = op(
    "Roll",
    "input:-",
    doc="Move elements along axes; what leaves at one end enters at the other. Without axes, as if it were one row.",
    result="-",
    attributes=(Attribute("shifts", checks.integers), Attribute("dims", checks.optional(checks.integers), None)),
    shape=_roll,
    reference=lambda x, shifts, dims=None: np.roll(x, shifts[0] if dims is None else shifts, dims),
    methods=("roll",),
    samples=(
        Sample("f32[2,3]", {"shifts": 1}),
        Sample("i8[2,3]", {"shifts": (1, -2), "dims": (0, 1)}),
        Sample("f32[2]", {"shifts": (1, 2)}, AttributeValueError),
    ),
)


def pieces(shape: Shape, axis: int, size_or_sections: Any, count: int | None) -> list[int]:
    """Return the lengths of the pieces into which `split` cuts an axis."""
    length = shape[axis]
    if isinstance(size_or_sections, tuple):
        return list(size_or_sections)
    size = size_or_sections if size_or_sections is not None else length // (count or 1)
    if size == 0:
        return [0] * (count or 1)
    return [min(size, length - at) for at in range(0, length, size)] or [0]


def _split(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, sizes, count = types[0].shape, attributes["split_size_or_sections"], attributes["output_num"]
    axis = normalize_axis(op, attributes["axis"], len(shape))
    if (sizes is None) == (count is None) or sizes == 0:
        raise AttributeValueError("split: give the size of the pieces, a list of sizes, or (class) their number")
    if (count is not None and (count < 1 or shape[axis] % count)) or (
        isinstance(sizes, tuple) and sum(sizes) != shape[axis]
    ):
        raise ShapeError(
            f"split: axis {axis} of {types[0]} is of length {shape[axis]} and cannot be cut into "
            + (f"{count} equal pieces" if count is not None else f"pieces of {list(sizes)}"),
            types={"tensor": types[0]},
        )
    return [(*shape[:axis], n, *shape[axis + 1 :]) for n in pieces(shape, axis, sizes, count)]


def _size_or_sections(value: Any) -> Any:
    return checks.shape(value) if isinstance(value, list | tuple) else checks.size(value)


def _split_reference(x, split_size_or_sections=None, axis=0, output_num=None):
    lengths = pieces(x.shape, axis, split_size_or_sections, output_num)
    return tuple(np.split(x, np.cumsum(lengths)[:-1], axis))


split = op(
    "Split",
    "tensor:-",
    doc="Cut along an axis: into pieces of one size (the last may be shorter) or of the sizes listed; the class, into "
    "output_num equal ones. Gives a tuple.",
    result="-",
    attributes=(
        Attribute("split_size_or_sections", checks.optional(_size_or_sections), None),
        _axis(0),
        Attribute("output_num", checks.optional(checks.integer), None),
    ),
    constructor=("axis", "output_num"),
    plural=True,
    shape=_split,
    reference=_split_reference,
    methods=("split",),
    samples=(
        Sample("f32[5,2]", {"split_size_or_sections": 2}),
        Sample("i8[2,3]", {"split_size_or_sections": (1, 2), "axis": 1}),
        Sample("f32[4]", {"output_num": 1}),
        Sample("f32[4]", {"split_size_or_sections": (1, 2)}, ShapeError),
        Sample("f32[4]", {"output_num": 3}, ShapeError),
    ),
)  # fmt: skip


def _unstack(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = types[0].shape
    axis = normalize_axis(op, attributes["axis"], len(shape))
    if not shape[axis]:
        raise ShapeError(f"unstack: axis {axis} of {types[0]} is empty", types={"input_x": types[0]})
    return [shape[:axis] + shape[axis + 1 :]] * shape[axis]


unstack = op(
    "Unstack",
    "input_x:-",
    doc="The slices along an axis, without it, as a tuple.",
    result="-",
    attributes=(_axis(0),),
    class_only=(Attribute("num", checks.optional(checks.integer), None),),
    constructor=("axis", "num"),
    plural=True,
    aliases=("Unpack",),
    shape=_unstack,
    reference=lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)),
    methods=("unstack", "unbind"),
    samples=("f32[2,3]", Sample("i8[2,3]", {"axis": -1}), "f32[1]", Sample("f32[2,0]", {"axis": 1}, ShapeError)),
)


def amounts(padding: Any, rank: int) -> list[tuple[int, int]]:
    """Return how much is added before and behind each axis: pairs for all axes, or flat, from the last axis on."""
    if padding and isinstance(padding[0], tuple):
        return list(padding)
    pairs = list(zip(padding[::2], padding[1::2]))
    return [(0, 0)] * (rank - len(pairs)) + pairs[::-1]


def _padding(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise TypeError("must be a tuple or list")
    if not any(isinstance(item, list | tuple) for item in value):
        if len(value) % 2:
            raise ValueError("must have two numbers for each axis")
        return checks.integers(value)
    if not all(isinstance(item, list | tuple) and len(item) == 2 for item in value):
        raise ValueError("must be pairs of numbers, one pair for each axis")
    return tuple([checks.integers(item) for item in value])


def _pad(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, padding, mode = types[0].shape, attributes["padding"], attributes["mode"]
    pairs = amounts(padding, len(shape))
    if len(pairs) != len(shape):
        raise ShapeError(f"pad: padding {padding} is for more or fewer axes than {types[0]} has")
    if mode != "constant" and attributes["value"] is not None:
        raise AttributeValueError(f"pad: mode {mode!r} takes no value")
    limits = [{"constant": None, "reflect": n - 1, "circular": n, "replicate": None}[mode] for n in shape]
    for n, (before, behind), limit in zip(shape, pairs, limits):
        least = -n if mode == "constant" else 0
        beyond = limit is not None and max(before, behind) > max(limit, 0)
        if min(before, behind) < least or before + behind + n < 0 or beyond or (mode == "replicate" and not n):
            raise AttributeValueError(f"pad: {before} and {behind} are not possible for length {n} in mode {mode!r}")
    return [tuple([before + n + behind for n, (before, behind) in zip(shape, pairs)])]


_NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad_reference(x: np.ndarray, padding: Any, mode: str = "constant", value: Any = None) -> np.ndarray:
    options = {"constant_values": value or 0} if mode == "constant" else {}
    return np.pad(x, amounts(padding, x.ndim), _NUMPY_MODES[mode], **options)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _pad_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value.__class__ not in (bool, int, float):
        raise TypeError("must be a Python number")
    return value


pad = op(
    "Pad",
    "input_x:-",
    doc="Add elements around: `padding` is flat, before and behind of the last axis first, or (as the class takes it) "
    "one pair for each axis. Negative numbers cut off.",
    result="-",
    attributes=(
        Attribute("padding", _padding),
        Attribute("mode", checks.one_of(*_NUMPY_MODES), "constant"),
        Attribute("value", checks.optional(_pad_value), None),
    ),
    constructor=("paddings=padding",),
    shape=_pad,
    reference=_pad_reference,
    samples=(
        Sample("f32[2,3]", {"padding": (1, 2)}),
        Sample("i8[2,3]", {"padding": ((1, 0), (0, 1)), "value": 7}),
        Sample("f32[1,2,3]", {"padding": (1, 2), "mode": "reflect"}),
        Sample("f32[2,3]", {"padding": (2, 1), "mode": "circular"}),
        Sample("f32[2,3]", {"padding": (1,)}, AttributeValueError),
        Sample("f32[2,3]", {"padding": (3, 0), "mode": "reflect"}, AttributeValueError),
    ),
    differs="Every mode takes every axis.",
)


def _swapaxes(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = list(types[0].shape)
    a, b = (normalize_axis(op, attributes[name], len(shape), name) for name in ("axis0", "axis1"))
    shape[a], shape[b] = shape[b], shape[a]
    return [tuple(shape)]


swapaxes = op(
    "SwapAxes",
    "input:-, axis0, axis1",
    name="swapaxes",
    doc="Exchange two axes.",
    result="-",
    attributes=(Attribute("axis0", checks.integer), Attribute("axis1", checks.integer)),
    shape=_swapaxes,
    reference=lambda x, axis0, axis1: np.swapaxes(x, axis0, axis1),
    methods=("swapaxes",),
    samples=(
        Sample("f32[2,3,4]", {"axis0": 0, "axis1": -1}),
        Sample("f32[2]", {"axis0": 0, "axis1": 1}, AttributeValueError),
    ),
)


def _moveaxis(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = types[0].shape
    source, target = (attributes[name] for name in ("source", "destination"))
    if len(source) != len(target):
        raise AttributeValueError(f"moveaxis: source {source} and destination {target} differ in length")
    normal = [normalize_axes(op, axes, len(shape)) if axes else () for axes in (source, target)]
    rest = iter([i for i in range(len(shape)) if i not in normal[0]])
    places = dict(zip(normal[1], normal[0]))
    return [tuple([shape[places[i] if i in places else next(rest)] for i in range(len(shape))])]


moveaxis = op(
    "MoveAxis",
    "x:-, source, destination",
    name="moveaxis",
    doc="Move axes to other places; the others keep their order.",
    result="-",
    attributes=(Attribute("source", checks.integers), Attribute("destination", checks.integers)),
    functions=("moveaxis", "movedim"),
    shape=_moveaxis,
    reference=lambda x, source, destination: np.moveaxis(x, source, destination),
    methods=("moveaxis", "movedim"),
    samples=(
        Sample("f32[2,3,4]", {"source": 0, "destination": -1}),
        Sample("f32[2,3]", {"source": 0, "destination": (0, 1)}, AttributeValueError),
    ),
)


def _matrices(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if types[0].ndim < 2:
        raise ShapeError(
            f"{op.name}: {types[0]} holds no matrices", types={"input": types[0]}, fix="give 2 axes or more"
        )
    return [types[0].shape]


def _triangle(class_name: str, what: str, function: Any) -> Op:
    name = class_name.lower()
    return op(
        class_name,
        "input:-",
        doc=f"Matrices with zeros {what} a diagonal, counted from the main one upwards.",
        result="-",
        attributes=(Attribute("diagonal", checks.integer, 0),),
        shape=_matrices,
        reference=lambda x, diagonal=0: function(x, diagonal),
        methods=(name,),
        samples=("f32[3,3]", Sample("i8[2,2,3]", {"diagonal": 1}), Sample("f32[3]", raises=ShapeError)),
    )


tril = _triangle("Tril", "above", np.tril)
triu = _triangle("Triu", "below", np.triu)
diag = op(
    "Diag",
    "input:-",
    doc="A tensor of twice as many axes with the elements on its diagonal, zeros elsewhere.",
    result="-",
    shape=lambda op, types, attributes: [types[0].shape * 2],
    reference=lambda x: np.diag(x.ravel()).reshape(x.shape * 2),
    methods=("diag",),
    samples=("f32[3]", "i8[2,3]"),
)


def _diagonal(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape, offset = types[0].shape, attributes["offset"]
    a, b = (normalize_axis(op, attributes[name], len(shape), name) for name in ("dim1", "dim2"))
    if a == b:
        raise AttributeValueError(f"diagonal: dim1 and dim2 are both axis {a}", types={"input": types[0]})
    rows, columns = shape[a] + min(offset, 0), shape[b] - max(offset, 0)
    return [(*[n for i, n in enumerate(shape) if i not in (a, b)], max(0, min(rows, columns)))]


diagonal = op(
    "Diagonal",
    "input:-",
    doc="The elements on a diagonal of two axes, as a last axis.",
    result="-",
    attributes=(_axis(0, "offset"), _axis(0, "dim1"), _axis(1, "dim2")),
    shape=_diagonal,
    reference=lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    methods=("diagonal",),
    samples=(
        "f32[3,3]",
        Sample("i8[2,3,4]", {"offset": 1, "dim1": 1, "dim2": 2}),
        Sample("f32[3,3]", {"dim1": 1}, AttributeValueError),
    ),
)


def _meshgrid(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if any(type_.ndim != 1 for type_ in types):
        raise ShapeError("meshgrid: the tensors must have one axis each", types=op.names_of(types))
    shape = [type_.shape[0] for type_ in types]
    if attributes["indexing"] == "xy" and len(shape) > 1:
        shape[:2] = shape[1::-1]
    return [tuple(shape)] * len(types)


meshgrid = op(
    "Meshgrid",
    "**inputs:=T",
    doc="Coordinates of a grid: one tensor of the grid's shape for each row of coordinates, as a tuple.",
    accepts=ALL,
    attributes=(Attribute("indexing", checks.one_of("xy", "ij"), "xy"),),
    plural=True,
    tensors_only=True,
    shape=_meshgrid,
    reference=lambda *inputs, indexing="xy": tuple(np.meshgrid(*inputs, indexing=indexing)),
    samples=(
        "f32[2] f32[3]",
        Sample("i8[2] i8[3] i8[1]", {"indexing": "ij"}),
        Sample("f32[2] f16[2]", raises=DTypeError),
        Sample("f32[2,2]", raises=ShapeError),
    ),
)
