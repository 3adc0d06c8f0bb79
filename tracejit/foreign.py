"""`from_jax`: JAX functions as operators on Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ambient import current_policy
from tracejit.arguments import StaticArgument, static_key
from tracejit.bridge import backend
from tracejit.dispatch import as_value
from tracejit.errors import AttributeTypeError, hide_frames
from tracejit.ir import ScalarType, Value
from tracejit.ops.record import RECORDS
from tracejit.parameter import Parameter
from tracejit.regions import cast_value, current_builder
from tracejit.tensor import Tensor, new_data, wrap
from tracejit.tracer import Builder, escaped


def from_jax(fn: Callable[..., Any], *, callback: bool | None = None) -> Callable[..., Any]:
    """Make an operator of a JAX function: it takes and returns Tensors where the function takes and returns arrays.

    Tensors, Parameters (their values) and arrays in any containers are its operands; everything else among the
    arguments is passed on as it is. It works eagerly, in jitted functions, loops and branches, and under the
    transforms; printed Graphs name the function. Results have the dtypes that the function gives them. It sees 64-bit
    dtypes if an operand has one, or if JAX's own 64-bit mode is on.

    Args:
        fn: a function of JAX arrays.
        callback: whether it calls Python code when it runs (`pure_callback` and the like); by default it is looked at.
            The buffers of Parameters are not given to a program with such a function, so that an error in the Python
            code loses nothing; each call then copies what it writes.

    >>> import jax.numpy as jnp, tracejit
    >>> sinc = tracejit.from_jax(jnp.sinc)
    >>> sinc(tracejit.Tensor([0.0, 0.5])).round(3)
    Tensor([1.   , 0.637], dtype=float32)
    """
    if not callable(fn):
        raise AttributeTypeError(f"from_jax takes a function, got {fn!r}")
    if callback not in (None, True, False):
        raise AttributeTypeError(f"from_jax: callback must be a bool or None, got {callback!r}")
    operator = _Operator(fn, callback)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return operator(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return call


class _Operator:
    """A JAX function with the calls of it that Graphs name, by the arrangement of their arguments."""

    def __init__(self, function: Callable[..., Any], callback: bool | None):
        self.function, self.callback = function, callback
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        module = getattr(function, "__module__", None)
        self.name = f"{module}.{name}" if module else name
        self._calls: dict[Any, Any] = {}

    def __call__(self, args: Any, kwargs: Any) -> Any:
        leaves, structure = backend.flatten_named((args, kwargs))
        builder = current_builder()
        operands = [_operand(leaf) for _, leaf in leaves]
        if builder is not None:
            return self._record(builder, structure, [leaf for _, leaf in leaves], operands)
        arrays = [_array(operand) for operand in operands if operand is not None]
        wide = backend.runs_wide([backend.type_of(array) for array in arrays])
        call = backend.ForeignCall(self.function, self.name, structure, _fixed(leaves, operands), wide)
        results, tree = call(arrays)
        return backend.unflatten(tree, [wrap(array) for array in results])

    def _record(self, builder: Builder, structure: Any, leaves: Sequence[Any], operands: Sequence[Any]) -> Any:
        values = [as_value(builder, operand) for operand in operands if operand is not None]
        wide = backend.runs_wide([value.type for value in values if not isinstance(value.type, ScalarType)])
        values = [_tensor(builder, value, wide) for value in values]
        call = self._call(structure, _fixed([("", leaf) for leaf in leaves], operands), wide)
        foreseen = call.foresee([value.type for value in values])
        calls_back = foreseen.calls_back if self.callback is None else self.callback
        op = RECORDS["jax_callback" if calls_back else "jax_call"]
        operation = builder.record(op, values, {"function": call.name}, current_policy())
        return backend.unflatten(foreseen.structure, [wrap(value) for value in operation.results])

    def _call(self, structure: Any, fixed: Sequence[Any], wide: bool) -> Any:
        """Return the call of an arrangement: the same for equal ones, if what they hold can be compared."""
        statics = [StaticArgument(i, "", value[0]) for i, value in enumerate(fixed) if value is not None]
        try:
            key = (structure, static_key(statics), wide)
            found = self._calls.get(key)
        except TypeError:  # something that cannot be hashed
            return backend.ForeignCall(self.function, self.name, structure, fixed, wide)
        if found is None:
            found = self._calls[key] = backend.ForeignCall(self.function, self.name, structure, fixed, wide)
        return found


def _operand(leaf: Any) -> Tensor | None:
    """Return the Tensor (or Parameter) of a leaf that is an operand; None for what is passed on as it is."""
    if isinstance(leaf, Tensor):
        return leaf
    if isinstance(leaf, np.ndarray | np.generic) or backend.is_array(leaf):
        return wrap(new_data(leaf, None))
    return None


def _fixed(leaves: Sequence[tuple[str, Any]], operands: Sequence[Tensor | None]) -> tuple[Any, ...]:
    return tuple([None if operand is not None else (leaf,) for (_, leaf), operand in zip(leaves, operands)])


def _array(operand: Tensor) -> Any:
    data = operand.snapshot() if isinstance(operand, Parameter) else operand._data
    if data.__class__ is Value:
        raise escaped(data)
    return data


def _tensor(builder: Builder, value: Value, wide: bool) -> Value:
    """Return a tensor of a Python scalar that is an argument of the jitted function."""
    if not isinstance(value.type, ScalarType):
        return value
    narrow = {"int": "int32", "complex": "complex64"}
    return cast_value(builder, value, value.type.dtype if wide else narrow.get(value.type.kind, value.type.dtype))
