"""Random numbers. Each operator takes a key and gives the same numbers for the same one; a Generator makes keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ir import ABSENT
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import FLOATS, INTEGERS
from tracejit.ops.shapes import broadcast_shapes

Shape = tuple[int, ...]
SHAPE = Attribute("shape", checks.shape)
KEY = "key takes the place of seed: a Generator, or a key of one's own."


def _of_shape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    return [attributes["shape" if "shape" in attributes else "size"]]


def _dtype_among(accepted: frozenset[dt.DType], default: dt.DType) -> Attribute:
    def check(value: Any) -> dt.DType:
        dtype = checks.dtype(value)
        if dtype not in accepted:
            raise ValueError("must be one of " + ", ".join(sorted(d.name for d in accepted)))
        return dtype

    return Attribute("dtype", check, default)


def _number(value: Any) -> int | float:
    value = value.item() if isinstance(value, np.generic) else value
    if value.__class__ not in (int, float):
        raise TypeError("must be an int or a float")
    return value


draw_key = op(
    "DrawKey",
    "generator:-",
    doc="A new key and the Generator's next state.",
    result=("uint32", "uint32"),
    updates=lambda attributes: (0,),
    shape=lambda op, types, attributes: [(2,), (2,)],
    hidden=True,
)
split_key = op(
    "SplitKey",
    "key:key, num",
    doc="Keys, one a row, whose numbers resemble neither each other's nor those of the key they come from.",
    result="uint32",
    attributes=(Attribute("num", checks.size, 2),),
    shape=lambda op, types, attributes: [(attributes["num"], 2)],
    samples=("u32[2]", Sample("u32[2]", {"num": 3}), Sample("u32[3]", raises=DTypeError)),
)
standard_normal = op(
    "StandardNormalExt",
    "shape, key:key",
    name="standard_normal",
    doc="Numbers of the normal distribution of mean 0 and deviation 1.",
    result=":dtype",
    attributes=(SHAPE, _dtype_among(FLOATS, dt.float32)),
    shape=_of_shape,
    samples=(
        Sample("u32[2]", {"shape": (2, 3)}),
        Sample("u32[2]", {"shape": (4,), "dtype": dt.float64}),
        Sample("i32[2]", {"shape": 2}, DTypeError),
    ),
    differs=KEY,
)


def _normal(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    shape = broadcast_shapes([attributes["shape"], types[0].shape, types[1].shape])
    if shape is None:
        raise ShapeError("normal: the shapes of mean and stddev do not broadcast", types=op.names_of(types))
    return [shape]


normal = op(
    "Normal",
    "shape, mean:T, stddev:T, key:key",
    doc="Numbers of a normal distribution; mean and deviation may be numbers (then float32) or tensors.",
    accepts=FLOATS,
    attributes=(SHAPE,),
    scalars="float32",
    shape=_normal,
    samples=(
        Sample("1.0 2.0 u32[2]", {"shape": (2, 3)}),
        Sample("f64[3] f64[2,1] u32[2]", {"shape": ()}),
        Sample("i32[3] i32[3] u32[2]", {"shape": 3}, DTypeError),
        Sample("f32[3] 1.0 u32[2]", {"shape": 2}, ShapeError),
    ),
    differs=KEY,
)


def _uniform(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    low, high, dtype = (attributes[name] for name in ("minval", "maxval", "dtype"))
    if dtype in INTEGERS and not (low.__class__ is high.__class__ is int and low < high):
        raise AttributeValueError(f"uniform: there are no integers from {low} up to, not including, {high}")
    return [attributes["shape"]]


uniform = op(
    "UniformExt",
    "shape, minval, maxval, key:key",
    name="uniform",
    doc="Numbers from minval up to, not including, maxval, all equally likely.",
    result=":dtype",
    attributes=(
        SHAPE,
        Attribute("minval", _number),
        Attribute("maxval", _number),
        _dtype_among(FLOATS | {dt.int32, dt.int64}, dt.float32),
    ),
    shape=_uniform,
    samples=(
        Sample("u32[2]", {"shape": (2, 3), "minval": -1, "maxval": 2.5}),
        Sample("u32[2]", {"shape": (4,), "minval": 0, "maxval": 10, "dtype": dt.int32}),
        Sample("u32[2]", {"shape": 2, "minval": 0, "maxval": 0, "dtype": dt.int32}, AttributeValueError),
    ),
    differs=f"{KEY} minval and maxval are numbers, not tensors.",
)


def _randint(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    low, high, (least, greatest) = attributes["low"], attributes["high"], dt.integer_range(attributes["dtype"])
    if not least <= low < high <= greatest + 1:
        raise AttributeValueError(
            f"randint: there are no {attributes['dtype']} from {low} up to, not including, {high}"
        )
    return [attributes["size"]]


randint = op(
    "RandInt",
    "low, high, size, key:key",
    name="randint",
    doc="Integers from low up to, not including, high, all equally likely.",
    result=":dtype",
    attributes=(
        Attribute("low", checks.integer),
        Attribute("high", checks.integer),
        Attribute("size", checks.shape),
        _dtype_among(INTEGERS, dt.int64),
    ),
    shape=_randint,
    samples=(
        Sample("u32[2]", {"low": -3, "high": 4, "size": (2, 3)}),
        Sample("u32[2]", {"low": 0, "high": 2, "size": (), "dtype": dt.int8}),
        Sample("u32[2]", {"low": 4, "high": 4, "size": 2}, AttributeValueError),
    ),
    differs=KEY,
)


def _bernoulli(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, p = types[:2]
    if p is not ABSENT and broadcast_shapes([x.shape, p.shape]) != x.shape:
        raise ShapeError("bernoulli: p does not broadcast to the input's shape", types=op.names_of(types))
    return [x.shape]


bernoulli = op(
    "BernoulliExt",
    "input:-, p:P?, key:key",
    name="bernoulli",
    doc="1 with probability p (0.5 unless given), else 0, of the input's shape and dtype.",
    result="-",
    accepts={"P": FLOATS},
    scalars="float32",
    shape=_bernoulli,
    samples=(
        "f32[2,3] 0.25 u32[2]",
        "i32[3] f32[3] u32[2]",
        Sample("f32[2] f32[3] u32[2]", raises=ShapeError),
        Sample("f32[2] i32[2] u32[2]", raises=DTypeError),
    ),
    differs=KEY,
)
randperm = op(
    "RandpermExt",
    "n, key:key",
    name="randperm",
    doc="The numbers from 0 up to, not including, n in random order.",
    result=":dtype",
    attributes=(Attribute("n", checks.size), _dtype_among(INTEGERS | FLOATS, dt.int64)),
    shape=lambda op, types, attributes: [(attributes["n"],)],
    samples=(
        Sample("u32[2]", {"n": 5}),
        Sample("u32[2]", {"n": 3, "dtype": dt.int32}),
        Sample("u32[2]", {"n": -1}, AttributeValueError),
    ),
    differs=f"{KEY} offset is not there.",
)
shuffle = op(
    "Shuffle",
    "x:-, key:key",
    doc="The slices along the first axis in random order.",
    result="-",
    shape=lambda op, types, attributes: [types[0].shape],
    samples=("f32[4,2] u32[2]", "i8[3] u32[2]"),
    differs=KEY,
)


def _rows(op: Op, types: Sequence[Any], ranks: Sequence[int], count: int) -> list[Shape]:
    x = types[0]
    if x.ndim not in ranks or not x.shape[-1]:
        raise ShapeError(
            f"{op.name}: {x} must have {' or '.join(map(str, ranks))} axes and a class", types=op.names_of(types)
        )
    return [(*x.shape[:-1], count)]


def _multinomial(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    count = attributes["num_samples"]
    shapes = _rows(op, types, (1, 2), count)
    if not attributes["replacement"] and count > types[0].shape[-1]:
        raise AttributeValueError(f"multinomial: {count} different ones of {types[0].shape[-1]} cannot be drawn")
    return shapes


multinomial = op(
    "MultinomialExt",
    "input:T, num_samples, replacement, key:key",
    name="multinomial",
    doc="Indices drawn with probabilities in proportion to the input's last axis, with replacement or all different.",
    result="int32",
    accepts=FLOATS,
    attributes=(Attribute("num_samples", checks.size), Attribute("replacement", checks.boolean, True)),
    shape=_multinomial,
    samples=(
        Sample("f32[2,3] u32[2]", {"num_samples": 4}),
        Sample("f32[3] u32[2]", {"num_samples": 2, "replacement": False}),
        Sample("f32[3] u32[2]", {"num_samples": 4, "replacement": False}, AttributeValueError),
        Sample("i32[3] u32[2]", {"num_samples": 4}, DTypeError),
    ),
    differs=KEY,
)
random_categorical = op(
    "RandomCategorical",
    "logits:T, num_sample, key:key",
    doc="Indices drawn with the probabilities that the softmax of each row of logits gives.",
    result=":dtype",
    accepts=FLOATS,
    attributes=(
        Attribute("num_sample", checks.size),
        _dtype_among(frozenset((dt.int16, dt.int32, dt.int64)), dt.int64),
    ),
    constructor=("dtype",),
    shape=lambda op, types, attributes: _rows(op, types, (2,), attributes["num_sample"]),
    samples=(Sample("f32[2,3] u32[2]", {"num_sample": 4}), Sample("f32[3] u32[2]", {"num_sample": 4}, ShapeError)),
    differs=KEY,
)
