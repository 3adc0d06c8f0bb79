"""Shape rules that several operators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.errors import AttributeValueError, ShapeError
from tracejit.ops.record import Op

Shape = tuple[int, ...]


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape | None:
    """Return the shape that NumPy's broadcasting gives; None if the shapes do not fit.

    >>> broadcast_shapes([(2, 1), (3,)])
    (2, 3)
    """
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return shapes[0]
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for lengths in zip(*padded):
        others = {length for length in lengths if length != 1}
        if len(others) > 1:
            return None
        result.append(others.pop() if others else 1)
    return tuple(result)


def broadcast(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    """Broadcast the operands as NumPy does."""
    shape = broadcast_shapes([type_.shape for type_ in types])
    if shape is None:
        shapes = " and ".join(str(list(type_.shape)) for type_ in types)
        raise ShapeError(
            f"{op.name}: shapes {shapes} do not broadcast",
            types=op.names_of(types),
            rule="aligned from the last axis, lengths must be equal or 1",
            fix="reshape one operand, as in ops.reshape(x, shape)",
        )
    return [shape] * len(op.results)


def same_as_first(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    """Give every result the shape of the first operand."""
    return [types[0].shape] * len(op.results)


def normalize_axis(op: Op, axis: int, rank: int, name: str = "axis") -> int:
    """Turn an axis counted from the end into one counted from the start, or say that it is out of range."""
    if not -rank <= axis < rank:
        raise AttributeValueError(
            f"{op.class_name}: {name} {axis} is out of range for rank {rank}",
            fix=f"use {-rank} to {rank - 1}" if rank else "a 0-d tensor has no axes",
        )
    return axis % rank


def normalize_axes(op: Op, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Normalise the axes of a reduction; none given means all. An axis named twice is an error."""
    if not axes:
        return tuple(range(rank))
    result = tuple([normalize_axis(op, axis, rank) for axis in axes])
    if len(set(result)) < len(result):
        raise AttributeValueError(f"{op.class_name}: axis {tuple(axes)} names an axis twice")
    return result


def reduce(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    """Drop the reduced axes, or keep them with length 1."""
    shape = types[0].shape
    axes = normalize_axes(op, attributes["axis"], len(shape))
    if attributes["keep_dims"]:
        return [tuple([1 if i in axes else n for i, n in enumerate(shape)])] * len(op.results)
    return [tuple([n for i, n in enumerate(shape) if i not in axes])] * len(op.results)
