"""Products of matrices and tensors beyond MatMul."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ops import checks
from tracejit.ops.linear import matmul
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import NUMBERS, NUMBERS_THEN_BOOL

Shape = tuple[int, ...]


def _bmm(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    if any(type_.ndim < 2 for type_ in types):
        raise ShapeError(
            f"{op.name}: both operands must hold matrices", types=op.names_of(types), fix="give 2 axes or more"
        )
    assert matmul.shape is not None
    return matmul.shape(op, types, attributes)


bmm = op(
    "BatchMatMul",
    "input_x:=T, mat2:=T",
    name="bmm",
    doc="Products of the matrices in the last two axes; leading axes broadcast.",
    accepts=NUMBERS,
    attributes=(Attribute("transpose_a", checks.boolean, False), Attribute("transpose_b", checks.boolean, False)),
    functions=("bmm", "batch_mat_mul"),
    tensors_only=True,
    shape=_bmm,
    reference=matmul.reference,
    methods=("bmm",),
    samples=(
        "f32[2,2,3] f32[2,3,4]",
        Sample("f64[2,3,2] f64[1,4,3]", {"transpose_a": True, "transpose_b": True}),
        Sample("f32[2,2] f16[2,2]", raises=DTypeError),
        Sample("f32[3] f32[3]", raises=ShapeError),
    ),
)


def _dot(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, y = types
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[max(0, y.ndim - 2)]:
        raise ShapeError(
            f"dot: {x} and {y} cannot be multiplied",
            types=op.names_of(types),
            rule="the last axis of the first must equal the last but one of the second",
        )
    return [x.shape[:-1] + y.shape[:-2] + (y.shape[-1:] if y.ndim > 1 else ())]


dot = op(
    "Dot",
    "input:=T, other:=T",
    doc="Sums of products over the last axis of the first and the last but one of the second, for all other axes.",
    accepts=NUMBERS,
    tensors_only=True,
    shape=_dot,
    reference=np.dot,
    methods=("dot",),
    samples=(
        "f32[2,3] f32[3,4]",
        "f64[2,2,3] f64[2,3,2]",
        "f32[3] f32[3]",
        Sample("f32[2,3] f32[2,3]", raises=ShapeError),
        Sample("f32[2] i32[2]", raises=DTypeError),
    ),
    differs="One axis is enough, and every number is accepted.",
)
outer = op(
    "Outer",
    "input:T, vec2:T",
    doc="Products of each element of one with each of the other, both flattened.",
    accepts=NUMBERS_THEN_BOOL,
    tensors_only=True,
    shape=lambda op, types, attributes: [(types[0].size, types[1].size)],
    reference=np.outer,
    methods=("outer",),
    samples=("f32[3] f32[2]", "i8[2] f16[3]", Sample("b1[2] b1[2]", raises=DTypeError)),
)


def _axes(value: Any) -> Any:
    """Accept how many axes, or those of both operands: `1`, `(1, 0)`, `((0, 1), (1, 0))`."""
    if not isinstance(value, list | tuple):
        return checks.size(value)
    if len(value) != 2:
        raise ValueError("must be a number, or two (lists of) axes")
    return tuple([checks.integers(axes) for axes in value])


def _tensor_dot(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    (x, y), axes = (type_.shape for type_ in types), attributes["axes"]
    if isinstance(axes, int) and axes > min(len(x), len(y)):
        axes = ((len(x),), (len(y),))  # more than there are
    if isinstance(axes, int):
        axes = (tuple(range(len(x) - axes, len(x))), tuple(range(axes)))
    inside = all(-len(shape) <= axis < len(shape) for shape, own in zip((x, y), axes) for axis in own)
    normal = [[axis % len(shape) for axis in own] for shape, own in zip((x, y), axes)] if inside else [[], []]
    pairs = [(x[i], y[j]) for i, j in zip(*normal)]
    if not inside or len(axes[0]) != len(axes[1]) or any(m != n for m, n in pairs):
        raise ShapeError(
            f"tensor_dot: axes {attributes['axes']} of {list(x)} and {list(y)} do not fit",
            types=op.names_of(types),
            fix="name axes of equal lengths, as many of each",
        )
    rests = [[n for i, n in enumerate(shape) if i not in own] for shape, own in zip((x, y), normal)]
    return [(*rests[0], *rests[1])]


tensor_dot = op(
    "TensorDot",
    "x1:=T, x2:=T, axes",
    doc="Sums of products over pairs of axes: the last n of one with the first n of the other, or the axes named.",
    accepts=NUMBERS,
    attributes=(Attribute("axes", _axes),),
    functions=("tensor_dot", "tensordot"),
    tensors_only=True,
    shape=_tensor_dot,
    reference=np.tensordot,
    samples=(
        Sample("f32[2,3] f32[3,2]", {"axes": 1}),
        Sample("f64[2,3,4] f64[4,2]", {"axes": ((0, 2), (1, 0))}),
        Sample("f32[2,3] f32[2,3]", {"axes": 1}, ShapeError),
        Sample("f32[2] f32[2]", {"axes": (0, 1, 2)}, AttributeValueError),
    ),
)


def _equation(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("must be a string")
    text = value.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.,]*(->[A-Za-z.]*)?", text) or "." in re.sub(r"\.\.\.", "", text):
        raise ValueError("must be letters for axes, commas, `...` and at most one `->`")
    return text


def _einsum(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> None:
    """Check letters against axes; the lowering gives the shape."""
    inputs, arrow, output = attributes["equation"].partition("->")
    terms, lengths = inputs.split(","), {}
    if len(terms) != len(types):
        raise ShapeError(
            f"einsum: {inputs!r} is about {len(terms)} operands, not {len(types)}", types=op.names_of(types)
        )
    for term, type_ in zip(terms, types):
        letters = term.replace("...", "")
        if term.count("...") > 1 or len(letters) > type_.ndim or (len(letters) < type_.ndim and "..." not in term):
            raise ShapeError(f"einsum: {term!r} does not name the axes of {type_}", types=op.names_of(types))
        head, dots, tail = term.partition("...")
        named = [*zip(head, type_.shape), *(zip(reversed(tail), reversed(type_.shape)) if dots else ())]
        for letter, length in named:
            if lengths.setdefault(letter, length) != length:
                raise ShapeError(
                    f"einsum: axis {letter!r} is of length {lengths[letter]} and of length {length}",
                    types=op.names_of(types),
                )
    named = output.replace("...", "")
    if arrow and (len(set(named)) < len(named) or set(named) - lengths.keys()):
        raise AttributeValueError(f"einsum: the output {output!r} repeats a letter, or has one that no operand has")


einsum = op(
    "Einsum",
    "equation, **operands:=T",
    doc="Sums of products in Einstein's notation, as in `ij,jk->ik`.",
    accepts=NUMBERS,
    attributes=(Attribute("equation", _equation),),
    constructor=("equation",),
    tensors_only=True,
    shape=_einsum,
    reference=lambda *operands, equation: np.einsum(equation, *operands),
    samples=(
        Sample("f32[2,3] f32[3,4]", {"equation": "ij,jk->ik"}),
        Sample("f64[2,3,3]", {"equation": "...ii->...i"}),
        Sample("f32[2,3] f32[2,3] f32[3]", {"equation": "bi, bi, i -> b"}),
        Sample("f32[2,3] f32[2,3]", {"equation": "ij,jk->ik"}, ShapeError),
        Sample("f32[2]", {"equation": "i->1"}, AttributeValueError),
        Sample("f32[2] f16[2]", {"equation": "i,i"}, DTypeError),
    ),
)
