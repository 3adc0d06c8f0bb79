"""The Scatter families (OPS.md 3): rows of a Parameter updated in place, and `tensor_scatter_*`, out of place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.dtypes import float16, float32, int32
from tracejit.errors import DTypeError, IndexBoundsError, ParameterCastError, ShapeError
from tracejit.ops import checks
from tracejit.ops.arithmetic import quotient
from tracejit.ops.record import Attribute, Bound, Dialects, Op, Sample, op
from tracejit.ops.sets import ALL, NUMBERS, REALS

Shape = tuple[int, ...]


def _check_updates(op: Op, types: Sequence[Any], wanted: Shape, rule: str) -> list[Shape]:
    if types[2].shape == wanted:
        return [types[0].shape]
    raise ShapeError(
        f"{op.name}: updates has the shape {list(types[2].shape)}, and {list(wanted)} is needed",
        types=op.names_of(types),
        rule=f"updates.shape = {rule}; nothing broadcasts",
        fix=f"reshape or broadcast it, as in ops.broadcast_to(updates, {wanted})",
    )


def _rows(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, indices, _ = types
    if not x.shape:
        raise ShapeError(f"{op.name}: input_x must have an axis for the indices", types=op.names_of(types))
    return _check_updates(op, types, indices.shape + x.shape[1:], "indices.shape + input_x.shape[1:]")


def _slices(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    x, indices, _ = types
    depth = indices.shape[-1] if indices.ndim > 1 else 0
    if not 1 <= depth <= x.ndim:
        raise ShapeError(
            f"{op.name}: indices of shape {list(indices.shape)} do not hold coordinates of input_x",
            types=op.names_of(types),
            rule="indices has rank 2 or more, and its last axis holds 1 to input_x.ndim coordinates",
            fix="give each index an axis of its own, as in indices.reshape((-1, 1))",
        )
    rule = f"indices.shape[:-1] + input_x.shape[{depth}:]"
    return _check_updates(op, types, indices.shape[:-1] + x.shape[depth:], rule)


def _row_bounds(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Bound]:
    return [Bound(1, (types[0].shape[0],))]


def _slice_bounds(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Bound]:
    return [Bound(1, types[0].shape[: types[1].shape[-1]], coordinates=True)]


# References: one position after another


def _divide(x: np.ndarray, update: np.ndarray) -> np.ndarray:
    return quotient(x, update) if np.issubdtype(x.dtype, np.integer) else np.divide(x, update)


STEPS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "Add": ("x + update", np.add),
    "Sub": ("x - update", np.subtract),
    "Mul": ("x * update", np.multiply),
    "Div": ("x / update; integers truncate toward zero at each step", _divide),
    "Max": ("x if x > update, else update", lambda x, update: np.where(x > update, x, update)),
    "Min": ("update if x > update, else x", lambda x, update: np.where(x > update, update, x)),
    "Update": ("update: the last one stays", lambda x, update: update),
}


def _by_rows(step: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, use_locking: bool = False) -> np.ndarray:
        return _by_slices(step)(x, indices[..., None], updates)

    return reference


def _by_slices(step: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, use_locking: bool = False) -> np.ndarray:
        result, depth = x.copy(), indices.shape[-1]
        given = updates.reshape(math.prod(indices.shape[:-1]), *x.shape[depth:])
        for coordinates, update in zip(indices.reshape(-1, depth), given):
            at = tuple(coordinates)
            result[at] = np.asarray(step(result[at], update)).astype(x.dtype)
        return result

    return reference


_COMPARED = ("Max", "Min")
_ROW_SAMPLES = (
    "f32[4,3] i32[3] f32[3,3]",
    "f32[4] i64[2,2] f32[2,2]",
    "i16[4,2] i32[3] i8[3,2]",
    "f16[3] i32[4] i32[4]",
    "i32[4] i32[5] i32[5]",
    "f32[3] i32[] f32[]",
    "f32[3,2] i32[0] f32[0,2]",
    Sample("f32[4,3] i32[3] f32[3]", raises=ShapeError),
    Sample("f32[4,3] i32[3] f32[]", raises=ShapeError),
    Sample("f32[4,3] i32[3] 2.0", raises=ShapeError),
    Sample("f32[] i32[] f32[]", raises=ShapeError),
    Sample("f32[4] f32[3] f32[3]", raises=DTypeError),
    Sample("f32[4] i16[3] f32[3]", raises=DTypeError),
    Sample("b1[4] i32[3] b1[3]", raises=DTypeError),
    Sample("f16[4] i32[3] f32[3]", raises=ParameterCastError),
    Sample("i8[4] i32[3] u8[3]", raises=ParameterCastError),
    Sample("f32[1] i32[2] f32[2]", raises=IndexBoundsError),
)
_SLICE_SAMPLES = (
    "f32[4,3] i32[2,1] f32[2,3]",
    "f32[2,3,2] i32[4,2] f32[4,2]",
    "f32[2,2] i64[5,2] f32[5]",
    "f32[4] i32[2,2,1] f32[2,2]",
    "f32[4,3] i32[0,1] f32[0,3]",
    "f16[3] i32[4,1] i32[4]",
    Sample("f32[4,3] i32[2,1] f32[2]", raises=ShapeError),
    Sample("f32[4,3] i32[2] f32[2,3]", raises=ShapeError),
    Sample("f32[4,3] i32[2,3] f32[2]", raises=ShapeError),
    Sample("f32[4,3] i32[2,0] f32[2,4,3]", raises=ShapeError),
    Sample("f32[4] u8[3,1] f32[3]", raises=DTypeError),
    Sample("f32[3,1] i32[2,2] f32[2]", raises=IndexBoundsError),
)
_CAST = Sample("i8[4] i32[3,1] f32[3]", raises=ParameterCastError)
_NO_BOOL = Sample("b1[4] i32[3,1] b1[3]", raises=DTypeError)


def _in_place(step: str, nd: bool, class_name: str = "", **options: Any) -> Op:
    formula, function = STEPS[step]
    return op(
        class_name or f"Scatter{'Nd' if nd else ''}{step}",
        "input_x:W:T, indices:index, updates:T",
        doc=f"Update {'slices' if nd else 'rows'} of input_x in place, one index after another: x = {formula}.",
        shape=_slices if nd else _rows,
        bounds=_slice_bounds if nd else _row_bounds,
        reference=(_by_slices if nd else _by_rows)(function),
        **{
            "accepts": Dialects(REALS, REALS if step in _COMPARED else NUMBERS),
            "samples": (*_SLICE_SAMPLES, _CAST, _NO_BOOL) if nd else _ROW_SAMPLES,
            "differs": "int64 indices are taken in both dialects. " + _DIFFERS.get(step, ""),
            **options,
        },
    )


_DIFFERS = {"Div": "Division by zero does not raise: floats follow IEEE, integers give their greatest or least value."}


def _locking(default: Any) -> dict[str, Any]:
    return {"attributes": (Attribute("use_locking", checks.boolean, default),)}


scatter_add = _in_place("Add", nd=False, **_locking(False))
scatter_sub = _in_place("Sub", nd=False, **_locking(False))
scatter_mul = _in_place("Mul", nd=False, **_locking(False))
scatter_div = _in_place("Div", nd=False, **_locking(False))
scatter_max = _in_place("Max", nd=False, **_locking(Dialects(True, False)))
scatter_min = _in_place("Min", nd=False, **_locking(False))
scatter_update = _in_place("Update", nd=False, **_locking(True))

scatter_nd_add = _in_place("Add", nd=True, **_locking(False))
scatter_nd_sub = _in_place("Sub", nd=True, **_locking(False))
scatter_nd_update = _in_place(
    "Update",
    nd=True,
    accepts=ALL,
    samples=(*_SLICE_SAMPLES, "b1[4] i32[3,1] b1[3]", _CAST),
    **_locking(True),
)
scatter_non_aliasing_add = _in_place(
    "Add",
    nd=True,
    class_name="ScatterNonAliasingAdd",
    accepts=frozenset((float16, float32, int32)),
    samples=(*_SLICE_SAMPLES, _CAST, _NO_BOOL, Sample("i8[4] i32[3,1] i8[3]", raises=DTypeError)),
    differs="int64 indices are taken. Indices may repeat: all updates are added.",
)


def _out_of_place(step: str, samples: Sequence[Any] = ()) -> Op:
    formula, function = STEPS[step]
    name = f"tensor_scatter_{step.lower()}"
    return op(
        f"TensorScatter{step}",
        "input_x:T, indices:index, updates:T",
        doc=f"Return input_x with slices updated, one index after another: x = {formula}. input_x stays as it is.",
        accepts=ALL if step == "Update" else Dialects(REALS, REALS if step in _COMPARED else NUMBERS),
        shape=_slices,
        bounds=_slice_bounds,
        methods=(name,),
        reference=_by_slices(function),
        samples=(*_SLICE_SAMPLES, "i8[4] i32[3,1] f32[3]", *samples),
        differs="input_x and updates are converted to one dtype.",
    )


tensor_scatter_add = _out_of_place("Add", ("i32[4] i32[5,1] i32[5]", _NO_BOOL))
tensor_scatter_sub = _out_of_place("Sub")
tensor_scatter_mul = _out_of_place("Mul", ("i32[4] i32[5,1] i32[5]",))
tensor_scatter_div = _out_of_place("Div", ("i32[4] i32[5,1] i32[5]", "u8[4] i32[5,1] u8[5]"))
tensor_scatter_max = _out_of_place("Max", ("i32[4] i32[5,1] i32[5]",))
tensor_scatter_min = _out_of_place("Min", ("i32[4] i32[5,1] i32[5]",))
tensor_scatter_update = _out_of_place("Update", ("b1[4] i32[5,1] b1[5]",))
