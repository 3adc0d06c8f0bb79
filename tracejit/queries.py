"""Questions about dtypes: `result_type`, `promote_types`, `min_scalar_type`, `can_cast`.

The first two answer for a policy: what its operators would compute in. The other two, which no policy decides, are
NumPy 1.26's on every NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from tracejit.dtypes import DType, as_dtype, float64
from tracejit.errors import AttributeValueError, DTypeError
from tracejit.ir import ScalarType, TensorType
from tracejit.policies import UNKNOWN, Operand, Policy, Rule, get
from tracejit.policies.values import (
    OBJECT,
    Argument,
    Minimal,
    argument_of,
    minimals_of,
    result_dtype,
)

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_Answer = TypeVar("_Answer")


def result_type(*operands: Any, promotion: str | Policy | None = None) -> DType | str:
    """Return the dtype in which operands compute together, under a policy or else the current one.

    Operands are Tensors, traced values, NumPy arrays, NumPy and Python scalars, and dtypes in all their spellings,
    which count as tensors. Of shapes it only matters, under `numpy1` and `torch`, whether one is `()`. Under `numpy1`
    this is NumPy 1.26's `numpy.result_type` to the letter, which can be `"object"`.

    Raises AttributeValueError (a ValueError) without operands, DTypeError (a TypeError) for what is no operand and for
    operands that the policy does not combine.

    >>> import numpy as np, tracejit
    >>> tracejit.result_type("uint8", "int8"), tracejit.result_type(np.arange(7, dtype="int32"), 2.5)
    (tracejit.int16, tracejit.float32)
    >>> tracejit.result_type(3, np.arange(7, dtype="int8"), promotion="numpy1")
    tracejit.int8
    """
    policy = _policy(promotion)
    if not operands:
        raise AttributeValueError("result_type needs at least one operand", fix="give an array, a scalar or a dtype")
    if policy.needs_values:
        return result_dtype(policy, [_argument(operand, policy) for operand in operands])
    decision = policy.decide(tuple([_operand(operand, policy) or _dtype_operand(operand) for operand in operands]))
    return policy.defaults[decision.kind] if decision.dtype is None else decision.dtype


def rules_of(*operands: Any, promotion: str | Policy | None = None) -> tuple[Rule, ...]:
    """Return the rules by which `result_type` decides for these operands; none where its rules have no name.

    >>> [rule.name for rule in rules_of("int32", 2.5)]
    ['integer-float-scalar']
    """
    policy = _policy(promotion)
    try:
        decision = policy.decide(tuple([_operand(operand, policy) or _dtype_operand(operand) for operand in operands]))
    except DTypeError:
        return ()
    # NumPy 1's result_type has cases of its own, for dtypes beside scalars, that no operator meets.
    if decision.dtype is not None and decision.dtype is not result_type(*operands, promotion=policy):
        return ()
    return tuple(dict.fromkeys(decision.rules))


def promote_types(a: Any, b: Any, promotion: str | Policy | None = None) -> DType | str:
    """Return the dtype in which tensors of two dtypes compute together, under a policy or else the current one.

    Raises DTypeError (a TypeError) for what is no dtype, and for dtypes that the policy does not combine.

    >>> import tracejit
    >>> tracejit.promote_types("int64", "float16"), tracejit.promote_types("int64", "float16", promotion="numpy2")
    (tracejit.float16, tracejit.float64)
    """
    policy = _policy(promotion)
    for spec in (a, b):
        if spec is None or _operand(spec, policy) is not None:
            raise DTypeError(f"{spec!r} is not a dtype", fix="use result_type for tensors and scalars")
    return result_type(a, b, promotion=policy)


def min_scalar_type(value: Any) -> DType | str:
    """Return the least dtype that holds a scalar's value; for an array with axes, its dtype.

    NumPy 1.26's: unsigned where the value is not negative, floats by their size only, and `"object"` for a Python int
    beyond 64 bits. A value that is not known yet, and what is no number or boolean: DTypeError (a TypeError).

    >>> import tracejit
    >>> tracejit.min_scalar_type(10), tracejit.min_scalar_type(-300), tracejit.min_scalar_type(1e10)
    (tracejit.uint8, tracejit.int16, tracejit.float32)
    """
    argument = _value_argument(value)
    if argument is None:
        argument = Argument("array", as_dtype(_as_array(value).dtype))
    if isinstance(argument.dtype, str):
        return OBJECT
    return _agreed((least.dtype for least in minimals_of(argument)), argument)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Say whether a dtype, or a scalar by its value, can be cast to a dtype under a casting rule.

    NumPy 1.26's: `casting` is one of no, equiv, safe, same_kind, unsafe; an array with axes counts as its dtype.
    Raises AttributeValueError (a ValueError) for another casting, DTypeError (a TypeError) for what is no dtype and
    for a value that would decide and is not known yet.

    >>> import tracejit
    >>> tracejit.can_cast("int64", "float64"), tracejit.can_cast(300, "uint8"), tracejit.can_cast(200, "uint8")
    (True, False, True)
    """
    if casting not in _CASTINGS:
        raise AttributeValueError(f"casting={casting!r}", fix=f"use one of {', '.join(_CASTINGS)}")
    target = as_dtype(to)
    argument = _value_argument(from_) or Argument("dtype", as_dtype(from_))
    if isinstance(argument.dtype, str):
        return casting == "unsafe"
    swaps = casting == "no" and _is_swapped(from_) is not _is_swapped(to)
    declared = not swaps and _can_cast_dtype(argument.dtype, target, casting)
    if declared or argument.form != "scalar":
        return declared
    return _agreed((_can_cast_minimal(least, target, casting) for least in minimals_of(argument)), argument)


def _can_cast_minimal(least: Minimal, target: DType, casting: str) -> bool:
    signed = least.small and target.kind != "uint"
    return _can_cast_dtype(as_dtype(f"int{least.dtype.bits}") if signed else least.dtype, target, casting)


def _can_cast_dtype(source: DType, target: DType, casting: str) -> bool:
    if source is target or casting == "unsafe":
        return True
    if casting in ("no", "equiv"):
        return False
    if get("numpy1").join_pair(source, target) is target:
        return True
    ranks = {"bool": 0, "uint": 1, "int": 2, "float": 3, "complex": 4}
    return casting == "same_kind" and ranks[source.kind] <= ranks[target.kind]


def _is_swapped(spec: Any) -> bool:
    """Say whether a dtype, or an array's, has the other byte order, which only the casting `no` looks at."""
    try:
        return not np.dtype(getattr(spec, "dtype", spec)).isnative
    except TypeError:
        return False


def _agreed(answers: Iterable[_Answer], argument: Argument) -> _Answer:
    """Return the one answer; where a value that is not known yet leaves several, say so."""
    distinct = set(answers)
    if len(distinct) > 1:
        raise DTypeError(
            f"the answer depends on the value of a {argument.dtype} scalar that is only known when the program runs",
            fix="ask about its dtype instead, as in x.dtype",
        )
    return distinct.pop()


def _policy(promotion: str | Policy | None) -> Policy:
    if promotion is not None:
        return get(promotion)
    from tracejit.ambient import current_policy  # the ambient state stands above the policies, and so above this

    return current_policy()


def _operand(value: Any, policy: Policy) -> Operand | None:
    """Return what a scalar, array or tensor is to the policy; None for what may be a dtype."""
    if isinstance(value, np.generic):
        return _numpy_scalar(value, policy)
    if isinstance(value, bool | int | float | complex):
        return _python_scalar(value, policy)
    if isinstance(value, ScalarType):
        return Operand(None, value.kind)
    if isinstance(value, TensorType):
        return Operand(value.dtype, value.dtype.kind, UNKNOWN, value.ndim)
    # Types and NumPy's dtypes have some of a tensor's attributes too.
    if isinstance(value, type | np.dtype) or not (hasattr(value, "dtype") and hasattr(value, "shape")):
        return None
    traced = getattr(getattr(value, "_data", None), "type", None)
    if isinstance(traced, ScalarType):
        return Operand(None, traced.kind)
    dtype, ndim = as_dtype(value.dtype), len(value.shape)
    known = policy.needs_values and not ndim and traced is None
    return Operand(dtype, dtype.kind, _value_of(value) if known else UNKNOWN, ndim)


def _python_scalar(value: bool | int | float | complex, policy: Policy) -> Operand:
    kind = next(kind.__name__ for kind in (bool, int, float, complex) if isinstance(value, kind))
    if policy.numpy_scalars == "tensor" and value.__class__.__name__ != kind:
        # NumPy 2 and JAX take only Python's own classes for weak scalars, not what is derived from them.
        dtype = policy.defaults[kind]
        return Operand(dtype, dtype.kind, UNKNOWN, 0)
    return Operand(None, kind, value if policy.needs_values else UNKNOWN, 0)


def _numpy_scalar(value: np.generic, policy: Policy) -> Operand:
    dtype = as_dtype(value.dtype)
    if policy.numpy_scalars == "python":
        return Operand(None, "int" if dtype.kind == "uint" else dtype.kind)
    return Operand(dtype, dtype.kind, value.item() if policy.needs_values else UNKNOWN, 0)


def _value_of(tensor: Any) -> object:
    try:
        return np.asarray(tensor).item()
    except TypeError:  # a value that a trace is still computing
        return UNKNOWN


def _dtype_operand(spec: Any) -> Operand:
    dtype = as_dtype(spec)
    return Operand(dtype, dtype.kind)


def _argument(operand: Any, policy: Policy) -> Argument:
    """Return what an operand is to NumPy 1's `result_type`."""
    found = _operand(operand, policy)
    if found is not None:
        return argument_of(policy, found)
    if operand is None:
        return Argument("dtype", float64)
    return Argument("dtype", OBJECT if _is_object_dtype(operand) else as_dtype(operand))


def _is_object_dtype(spec: Any) -> bool:
    try:
        return isinstance(spec, str | type | np.dtype) and not isinstance(spec, DType) and np.dtype(spec) == object
    except TypeError:
        return False


def _value_argument(value: Any) -> Argument | None:
    """Return what a scalar or tensor is to NumPy 1's `can_cast` and `min_scalar_type`; None for anything else."""
    policy = get("numpy1")
    found = _operand(value, policy)
    return None if found is None else argument_of(policy, found)


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, list | tuple):
        try:
            return np.asarray(value)
        except ValueError:
            pass
    raise DTypeError(f"{value!r} has no minimal dtype", fix="give a number, a boolean, or an array of them")
