"""What `x[...]` and `x[...] = v` mean: the index is taken apart into a spec and the index tensors it holds.

The spec is a tuple of ("int", i), ("slice", start, stop, step), ("newaxis",), ("ellipsis",), ("bool", b) and
("tensor",), which stands for the next index tensor. NumPy's meaning throughout, negative indices included.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.ambient import AMBIENT, current_policy
from tracejit.bridge import backend
from tracejit.errors import (
    DTypeError,
    IndexBoundsError,
    ParameterCastError,
    ParameterError,
    ShapeError,
    TraceError,
    TracejitError,
    hide_frames,
)
from tracejit.ir import Value
from tracejit.ops.record import INDEX_DTYPES, RECORDS
from tracejit.parameter import Parameter
from tracejit.policies import Policy
from tracejit.storage import STATE_LOCK
from tracejit.tensor import Tensor, new_data, wrap

Apply = Callable[[Any, Sequence[Any], dict[str, Any]], Any]


def parse(x: Tensor, index: Any) -> tuple[tuple[Any, ...], list[Tensor]]:
    """Take an index apart into its spec and index tensors; raises for what can be no index of x."""
    items = index if isinstance(index, tuple) else (index,)
    spec: list[tuple[Any, ...]] = []
    tensors: list[Tensor] = []
    for item in items:
        part, found = _item(item)
        spec += part
        tensors += found
    _check_rank(x, spec)
    return _checked_integers(x, tuple(spec)), tensors


def _item(item: Any) -> tuple[list[tuple[Any, ...]], list[Tensor]]:
    if item is None:
        return [("newaxis",)], []
    if item is Ellipsis:
        return [("ellipsis",)], []
    if isinstance(item, bool | np.bool_):
        return [("bool", bool(item))], []
    if isinstance(item, slice):
        return [("slice", _bound(item.start), _bound(item.stop), _bound(item.step))], []
    if isinstance(item, int | np.integer):
        return [("int", int(item))], []
    return _tensor_item(item)


def _bound(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, Tensor) and value._data.__class__ is Value:
        value._not_while_tracing("slice")
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"a slice bound must be an int or None, not {type(value).__name__}") from None


def _tensor_item(item: Any) -> tuple[list[tuple[Any, ...]], list[Tensor]]:
    if isinstance(item, list | tuple):
        item = np.asarray(item, np.int64 if not item else None)
    if not isinstance(item, Tensor):
        if not isinstance(item, np.ndarray) and not backend.is_array(item):
            raise DTypeError(
                f"{type(item).__name__} cannot be an index",
                fix="index with ints, slices, None, ..., and int32, int64 or bool tensors",
            )
        item = wrap(new_data(item, None))
    dtype = item.dtype
    if dtype is dt.bool_:
        return _mask(item)
    if dtype not in INDEX_DTYPES:
        raise DTypeError(
            f"an index tensor must be int32, int64 or bool, not {dtype.name}",
            fix="convert it, as in ops.cast(i, tracejit.int32)",
        )
    return [("tensor",)], [item]


def _mask(mask: Tensor) -> tuple[list[tuple[Any, ...]], list[Tensor]]:
    """Turn a mask of known value into the positions of its true elements."""
    if mask._data.__class__ is Value or backend.is_tracer(mask._data):
        raise TraceError(
            "a bool index tensor picks a number of elements that is only known when the program runs",
            types={"mask": mask._type},
            rule="shapes are fixed while tracing",
            fix="use ops.select(mask, x, y), which keeps the shape; x[mask] = scalar works too",
        )
    positions = [wrap(new_data(axis, None)) for axis in np.nonzero(mask._read("mask"))]
    return [("tensor",)] * len(positions), positions


def _check_rank(x: Tensor, spec: Sequence[tuple[Any, ...]]) -> None:
    used = sum(item[0] in ("int", "slice", "tensor") for item in spec)
    if used > x.ndim:
        raise IndexBoundsError(f"{used} indices for a tensor of rank {x.ndim}", types={"x": x._type})
    if sum(item[0] == "ellipsis" for item in spec) > 1:
        raise IndexBoundsError("an index can have one ... only", types={"x": x._type})


def _checked_integers(x: Tensor, spec: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    used = sum(item[0] in ("int", "slice", "tensor") for item in spec)
    axis = 0
    for item in spec:
        if item[0] == "int" and not -x.shape[axis] <= item[1] < x.shape[axis]:
            raise IndexBoundsError(
                f"index {item[1]} is out of bounds for axis {axis} of length {x.shape[axis]}",
                types={"x": x._type},
            )
        axis += x.ndim - used if item[0] == "ellipsis" else item[0] in ("int", "slice", "tensor")
    return spec


def install(apply: Apply) -> None:
    """Give Tensors and Parameters `x[...]` and `x[...] = v`."""

    def getitem(self: Tensor, index: Any) -> Any:
        try:
            spec, tensors = parse(self, index)
            return apply(RECORDS["getitem"], (self, *tensors), {"index": spec})
        except TracejitError as error:
            hide_frames(error)
            raise

    def setitem(self: Tensor, index: Any, value: Any) -> None:
        try:
            _check_target(self)
            with STATE_LOCK if isinstance(self, Parameter) else nullcontext():
                _store(self, _replaced(apply, self, index, value), apply)
        except TracejitError as error:
            hide_frames(error)
            raise

    Tensor.__getitem__ = getitem
    Tensor.__setitem__ = setitem


def _check_target(x: Tensor) -> None:
    ambient = AMBIENT.get()
    tracing = ambient is not None and ambient.builder is not None
    if tracing and not isinstance(x, Parameter) and x._data.__class__ is not Value:
        raise ParameterError(
            f"x[...] = v on a Tensor from outside of {ambient.builder.name}, which is being traced",  # pyright: ignore[reportOptionalMemberAccess]
            types={"x": x._type},
            rule="a captured Tensor is an input of the program; the change would be lost after the call",
            fix="make x a tracejit.Parameter, or pass it as an argument and return the new value",
        )


def _store(x: Tensor, new: Tensor, apply: Apply) -> None:
    if isinstance(x, Parameter):
        apply(RECORDS["assign"], (x, new), {})
    else:
        x._data = new._data


def _replaced(apply: Apply, x: Tensor, index: Any, value: Any) -> Tensor:
    value = _converted(x, value)
    if isinstance(index, Tensor) and index.dtype is dt.bool_ and index._data.__class__ is Value:
        return _masked(apply, x, index, value)
    spec, tensors = parse(x, index)
    return apply(RECORDS["setitem"], (x, value, *tensors), {"index": spec})


def _masked(apply: Apply, x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    if mask.shape != x.shape[: mask.ndim] or (value.ndim > 0 and mask.ndim != x.ndim):
        raise ShapeError(f"the mask's shape {list(mask.shape)} does not fit", types={"x": x._type, "mask": mask._type})
    wide = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
    return apply(RECORDS["select"], (wide, value, x), {})


def _converted(x: Tensor, value: Any) -> Tensor:
    """Return the value in x's dtype: a conversion that can lose value is refused (DECISIONS: `x[i] = v`)."""
    policy = current_policy()
    if isinstance(value, np.generic) and policy.numpy_scalars == "python":
        value = value.item()
    if value.__class__ in (bool, int, float, complex):
        _check_scalar(x, value, policy)
        return wrap(new_data(value, x.dtype))
    if not isinstance(value, Tensor):
        value = Tensor(value)
    if value.dtype is x.dtype:
        return value
    if isinstance(x, Parameter):
        joined = policy.decide((_operand(x, True), _operand(value, False)))  # raises if the Parameter would change
        assert joined.dtype is x.dtype
    elif not dt.holds(x.dtype, value.dtype):
        raise DTypeError(
            f"x[...] = v would lose value converting {value.dtype.name} to {x.dtype.name}",
            types={"x": x._type, "v": value._type},
            rule="an item assignment converts only where every value is exact in x's dtype",
            fix=f"convert explicitly, as in ops.cast(v, tracejit.{x.dtype.name})",
        )
    converted = value.astype(x.dtype)
    if converted._data.__class__ is Value:  # nobody wrote this cast: it counts as an implicit conversion
        cast = converted._data.producer
        cast.attributes = {**cast.attributes, "rule": "item-assignment"}
    return converted


def _operand(x: Tensor, written: bool) -> Any:
    from tracejit.policies import UNKNOWN, Operand

    return Operand(x.dtype, x.dtype.kind, UNKNOWN, x.ndim, written)


def _check_scalar(x: Tensor, value: Any, policy: Policy) -> None:
    kind = value.__class__.__name__
    fits_kind = dt.kind_rank(kind) <= dt.kind_rank(x.dtype.kind)
    if fits_kind:
        return
    if isinstance(x, Parameter):
        raise ParameterCastError(
            f"x[...] = {value!r} would need Parameter {x.name!r} of {x.dtype.name} to be converted",
            types={"x": x._type},
            rule=f"{policy.name}: a Parameter that an operator writes is never converted",
            fix="give a value of the Parameter's kind",
        )
    raise DTypeError(
        f"x[...] = {value!r}: a Python {kind} does not fit {x.dtype.name}",
        types={"x": x._type},
        fix="give a value of x's kind, or convert x, as in ops.cast(x, tracejit.float32)",
    )
