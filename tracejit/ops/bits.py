"""Bitcast: the same bits, read as another dtype (TensorFlow's `tf.bitcast`: shape rule, dtype list, defaults).

The bytes of the result are those of the operand in row-major order, element 0 of a new last axis being the least
significant part. A complex number is its real part, then its imaginary part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import DTypeError, ScalarOverflowError, ShapeError
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import NUMBERS

#: What TensorFlow makes of Python's numbers; its int32 becomes int64 where a value needs that.
_DEFAULTS = {"int": dt.int32, "float": dt.float32, "complex": dt.complex128}
_PYTHON = (bool, int, float, complex)


def _target(spec: Any) -> dt.DType:
    """Accept a dtype whose bits mean something: no bool, and no Python type, which says nothing of its width."""
    if spec is None or any(spec is kind for kind in _PYTHON):
        name = getattr(spec, "__name__", spec)
        raise DTypeError(f"bitcast: {name} is not a dtype of a fixed width", fix="name one, as in tracejit.int32")
    dtype = dt.as_dtype(spec)
    if dtype is dt.bool_:
        raise DTypeError(
            "bitcast: nothing can be read as bool, not even bool",
            rule="only the bytes 0 and 1 are a bool, so other bytes would be none",
            fix="compare instead, as in x != 0, or convert the values with ops.cast(x, tracejit.bool_)",
        )
    return dtype


def _shape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    (source,), target = types, attributes["dtype"]
    if source.dtype.itemsize >= target.itemsize:
        parts = source.dtype.itemsize // target.itemsize
        return [source.shape if parts == 1 else (*source.shape, parts)]
    joined = target.itemsize // source.dtype.itemsize
    if not source.shape or source.shape[-1] != joined:
        has = f"it is {source.shape[-1]}" if source.shape else "a 0-d tensor has none"
        raise ShapeError(
            f"bitcast: {source} cannot be read as {target}: the last axis must be {joined}, and {has}",
            types={"x": source},
            rule=f"each {target} is made of the {joined} {source.dtype} elements along the last axis, which goes",
            fix=f"reshape it, as in ops.reshape(x, (-1, {joined})), or convert the values with ops.cast",
        )
    return [source.shape[:-1]]


def host_operand(given: Any) -> Any:
    """Return Python scalars and lists as arrays of TensorFlow's default dtypes; anything else as it is.

    >>> host_operand([1, 2]).dtype.name, host_operand(2**31).dtype.name, host_operand([1, 2.5]).dtype.name
    ('int32', 'int64', 'float32')
    """
    if isinstance(given, np.generic):
        return np.asarray(given)
    if isinstance(given, list | tuple | bool | int | float | complex):
        return _array(given)
    scalar = getattr(getattr(given, "_type", None), "kind", None)  # a scalar argument of a jitted function
    return given if scalar is None or scalar == "bool" else given.astype(_DEFAULTS[scalar])


def _array(given: Any) -> np.ndarray[Any, Any]:
    leaves = list(_leaves(given))
    foreign = [leaf for leaf in leaves if not isinstance(leaf, (*_PYTHON, np.generic, np.ndarray))]
    mixes_bools = len({isinstance(leaf, bool) for leaf in leaves}) > 1
    if foreign or mixes_bools:
        what = type(foreign[0]).__name__ if foreign else "booleans and numbers"
        raise DTypeError(f"bitcast: a list of {what} is no tensor", fix="give numbers of one kind, or a Tensor")
    try:
        array = np.array(given)
    except (ValueError, OverflowError) as error:
        raise ShapeError(f"bitcast: the list is no tensor: {error}", fix="give lists of equal length") from None
    if any(isinstance(leaf, np.generic | np.ndarray) for leaf in leaves):
        return array
    return array.astype(_default(leaves).numpy)


def _leaves(given: Any) -> Iterator[Any]:
    if isinstance(given, list | tuple):
        for item in given:
            yield from _leaves(item)
    else:
        yield given


def _default(leaves: Sequence[Any]) -> dt.DType:
    kinds = [next(kind.__name__ for kind in _PYTHON if isinstance(leaf, kind)) for leaf in leaves]
    kind = max(kinds, key=("bool", "int", "float", "complex").index, default="float")
    if kind != "int":
        return _DEFAULTS.get(kind, dt.bool_)
    fitting = [dtype for dtype in (dt.int32, dt.int64) if all(_holds(dtype, leaf) for leaf in leaves)]
    if not fitting:
        largest = max(leaves, key=abs)
        raise ScalarOverflowError(f"bitcast: the Python int {largest} does not fit int64", fix="use a smaller value")
    return fitting[0]


def _holds(dtype: dt.DType, value: int) -> bool:
    low, high = dt.integer_range(dtype)
    return low <= value <= high


def _reference(x: np.ndarray[Any, Any], dtype: dt.DType) -> np.ndarray[Any, Any]:
    count = x.dtype.itemsize // dtype.itemsize
    shape = x.shape[: -1 if count == 0 else None] + ((count,) if count > 1 else ())
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), dtype.numpy).reshape(shape)


bitcast = op(
    "Bitcast",
    "x:T, dtype",
    doc="Read the bits of x as another dtype. A narrower one appends an axis; a wider one takes the last axis, whose "
    "length must be the ratio of the widths. Lists and Python scalars are int32 (int64 if needed), float32, "
    "complex128. It has no gradient: to differentiate around it is an error unless behind ops.stop_gradient.",
    result=":dtype",
    accepts=NUMBERS,
    attributes=(Attribute("dtype", _target),),
    shape=_shape,
    host_operand=host_operand,
    methods=("bitcast",),
    reference=_reference,
    samples=(
        Sample("f32[2,3]", {"dtype": dt.uint8}),
        Sample("u8[2,4]", {"dtype": dt.float32}),
        Sample("c64[3]", {"dtype": dt.int64}),
        Sample("f64[]", {"dtype": dt.complex64}),
        Sample("f16[2]", {"dtype": dt.bfloat16}),
        Sample("u8[3]", {"dtype": dt.float32}, raises=ShapeError),
        Sample("u8[]", {"dtype": dt.uint16}, raises=ShapeError),
        Sample("b1[3]", {"dtype": dt.uint8}, raises=DTypeError),
        Sample("u8[3]", {"dtype": dt.bool_}, raises=DTypeError),
        Sample("u8[3]", {"dtype": "qint8"}, raises=DTypeError),
    ),
    differs="TensorFlow's, not MindSpore's. Quantized types are refused; tf.bitcast takes them.",
)
