"""NumPy 1.x's value-based promotion: the minimal dtype of a scalar, and the fold of `numpy.result_type`.

A positive integer is ambiguous: 100 fits uint8 and int8. Its minimal dtype is the unsigned one, with a flag *small*
that says "the signed dtype of that width holds it too"; where it meets something signed, it turns signed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tracejit.dtypes import BY_NAME, DType, bool_, complex64, float16, float32, integer_range, is_integer
from tracejit.policies.engine import UNKNOWN, Decision, ObjectResult, Operand, Policy, Rule, ValueNeeded

#: NumPy's dtype of arbitrary Python objects, which no tensor has; query functions return this name for it.
OBJECT = "object"
#: NumPy's bounds for "fits float16" and "fits float32", which are not the largest finite values.
FLOAT16_BOUND, FLOAT32_BOUND = 65000.0, 3.4e38


class Argument(NamedTuple):
    """An argument of `result_type`: its form (scalar, array or dtype), its declared dtype, and a scalar's value."""

    form: str
    dtype: Any  # a DType, or OBJECT
    value: Any = UNKNOWN


class Minimal(NamedTuple):
    """The least dtype that holds a value, and whether the signed dtype of the same width would too."""

    dtype: DType
    small: bool


_UNSIGNED = tuple(BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64))
_SIGNED = tuple(BY_NAME[f"int{bits}"] for bits in (8, 16, 32, 64))


def _signed(dtype: DType) -> DType:
    return BY_NAME[f"int{dtype.bits}"] if dtype.kind == "uint" else dtype


def declared_dtype(value: object) -> DType | str:
    """Return the dtype as which a Python scalar starts out: bool, int64 (uint64, `object`), float64, complex128."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return BY_NAME["int64"]
        return BY_NAME["uint64"] if 0 <= value < 2**64 else OBJECT
    return BY_NAME["float64" if isinstance(value, float) else "complex128"]


def minimal(dtype: DType, value: Any) -> Minimal:
    """Return the least dtype that holds a value of `dtype`, as `numpy.min_scalar_type`, and the flag *small*."""
    if is_integer(dtype):
        return _minimal_integer(int(value))
    if dtype.name in ("float32", "float64"):
        return Minimal(_minimal_float(dtype, float(value)), False)
    if dtype.name == "complex128" and all(-FLOAT32_BOUND < part < FLOAT32_BOUND for part in (value.real, value.imag)):
        return Minimal(complex64, False)
    return Minimal(dtype, False)


def _minimal_integer(value: int) -> Minimal:
    for dtype in _UNSIGNED if value >= 0 else _SIGNED:
        low, high = integer_range(dtype)
        if low <= value <= high:
            return Minimal(dtype, 0 <= value <= high // 2)
    raise ValueError(f"{value} is beyond 64 bits")


def _minimal_float(dtype: DType, value: float) -> DType:
    if not abs(value) < float("inf") or -FLOAT16_BOUND < value < FLOAT16_BOUND:
        return float16
    return float32 if -FLOAT32_BOUND < value < FLOAT32_BOUND else dtype


def possible_minimals(dtype: DType) -> list[Minimal]:
    """Return what `minimal` can give for the values of a dtype, where the value itself is not known yet."""
    if is_integer(dtype):
        low, high = integer_range(dtype)
        edges = [edge for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64) for edge in (2**bits - 1, 2**bits, -(2**bits))]
        samples: Sequence[Any] = [edge for edge in edges if low <= edge <= high]
    elif dtype.kind == "float":
        samples = (0.0, 1e38, 1e39)
    else:
        samples = (0j, complex("inf"))
    return list(dict.fromkeys(minimal(dtype, value) for value in samples))


def _category(dtype: DType) -> int:
    return {"bool": 0, "uint": 1, "int": 1}.get(dtype.kind, 2)


def is_value_based(arguments: Iterable[Argument]) -> bool:
    """Say whether scalars count by value: beside arrays or dtypes, whose category is as high as theirs or higher."""
    scalars, others = [-1], [-1]
    for argument in arguments:
        (scalars if argument.form == "scalar" else others).append(_category(argument.dtype))
    return 0 <= max(scalars) <= max(others)


def result_dtype(policy: Policy, arguments: Sequence[Argument]) -> DType | str:
    """Return `numpy.result_type` of at least one argument: a dtype, or the name `object`.

    Raises PromotionError where there is no common dtype, ValueNeeded where it depends on a value not known yet.
    """
    if len(arguments) == 1:
        return arguments[0].dtype
    if any(isinstance(argument.dtype, str) for argument in arguments):
        return OBJECT
    if not is_value_based(arguments):
        return policy.join([argument.dtype for argument in arguments])[0]
    return _fold(policy, arguments)


def _fold(policy: Policy, arguments: Sequence[Argument]) -> DType:
    # NumPy looks at the dtypes after all arrays and scalars, wherever they stood. An unknown value stands for every
    # minimal dtype that it can have, so what is folded are sets.
    reached: set[Minimal] = set()
    for argument in sorted(arguments, key=lambda argument: argument.form == "dtype"):
        new = minimals_of(argument)
        if not reached:
            reached = new
            continue
        # NumPy's quirk: the flag of what has been folded so far is not updated by dtypes.
        keep = argument.form == "dtype"
        reached = {
            Minimal(_join(policy, mine, other), other.small and (keep or mine.small))
            for mine in new
            for other in reached
        }
    dtypes = {dtype for dtype, _ in reached}
    if len(dtypes) > 1:
        raise _value_needed(policy, arguments)
    return dtypes.pop()


def minimals_of(argument: Argument) -> set[Minimal]:
    """Return what an argument can count as: one minimal dtype, or several where a scalar's value is not known."""
    if argument.form != "scalar":
        return {Minimal(argument.dtype, False)}
    if argument.value is UNKNOWN:
        return set(possible_minimals(argument.dtype))
    return {minimal(argument.dtype, argument.value)}


def _join(policy: Policy, one: Minimal, other: Minimal) -> DType:
    a, b = one.dtype, other.dtype
    if one.small and b.kind not in ("bool", "uint"):
        a = _signed(a)
    elif other.small and a.kind not in ("bool", "uint"):
        b = _signed(b)
    joined = policy.join_pair(a, b)
    if joined is None:
        raise policy.refusal(f"{a} and {b}")
    return joined


def _value_needed(policy: Policy, arguments: Sequence[Argument]) -> ValueNeeded:
    unknown = ", ".join(str(a.dtype) for a in arguments if a.form == "scalar" and a.value is UNKNOWN)
    return ValueNeeded(
        f"under the policy {policy.name} the dtype depends on the value of a scalar ({unknown}) that is only known "
        "when the program runs",
        rule=policy.rule("value-needed"),
        fix="make the argument static (static_argnums, static_argnames), or give the 0-d tensor an axis",
    )


def by_values(policy: Policy, operands: tuple[Operand, ...]) -> Decision:
    """Decide a group as `numpy.result_type` would: Python scalars and 0-d tensors count with their values."""
    dtypes = {operand.dtype for operand in operands}
    if dtypes <= {None}:
        return policy.only_scalars(operands)
    if len(dtypes) == 1 and all(operand.value is UNKNOWN for operand in operands):
        # There is nothing to convert. NumPy can widen even here (300 and 200 beside an int16 array give int32), which
        # a program that is compiled before the values are known cannot.
        (dtype,) = dtypes
        assert dtype is not None
        return Decision(dtype, dtype.kind, (policy.rule("same-dtype"),) * len(operands))
    arguments = [argument_of(policy, operand) for operand in operands]
    result = result_dtype(policy, arguments)
    if isinstance(result, str):
        raise ObjectResult(
            "a Python int beyond 64 bits gives a result of dtype object, which no tensor has",
            rule=policy.rule("object-result"),
            fix="use a smaller value, or a float",
        )
    return Decision(result, result.kind, _rules(policy, arguments, result))


def argument_of(policy: Policy, operand: Operand) -> Argument:
    """Return the argument of `result_type` that an operand is; 0-d tensors are scalars."""
    value = operand.value
    if operand.dtype is None:
        return Argument("scalar", policy.defaults[operand.kind] if value is UNKNOWN else declared_dtype(value), value)
    return Argument("array" if operand.ndim else "scalar", operand.dtype, value)


def _rules(policy: Policy, arguments: list[Argument], result: DType) -> tuple[Rule, ...]:
    arrays = [argument.dtype for argument in arguments if argument.form == "array"]
    if not arrays:
        return (policy.rule("declared-dtypes"),) * len(arguments)
    if not is_value_based(arguments) and len(arrays) < len(arguments):
        return (policy.rule("scalar-category"),) * len(arguments)
    joined, rule = policy.join(arrays)
    if joined is not result:
        return (policy.rule("scalar-widens"),) * len(arguments)
    scalar_rule = policy.rule("minimal-scalar")
    return tuple([rule if argument.form == "array" else scalar_rule for argument in arguments])
