"""Which recorded rows of the binary operators differ from tracejit, and what tracejit gives for them.

Each rule belongs to the difference of its name in `docs/operator_differences.py`, which words it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit
from tests.recorded_calls import Made
from tests.recorded_outcomes import Outcome
from tests.recorded_rows import ASSIGN, NumPyArray, Row, Written
from tracejit.dtypes import DType
from tracejit.errors import DTypeError


class Given(NamedTuple):
    """A result: the dtype in which it is computed (none of it for `Tensor(...)`), and what it is."""

    computed: str
    values: np.ndarray


Expected = Given | type[Exception]


class Case(NamedTuple):
    """A row under a policy, with the outcomes that count."""

    row: Row
    policy: str
    told: list[Outcome]

    @property
    def name(self) -> str:
        return self.row.record.name if self.row.record else self.row.op

    @property
    def r11(self) -> bool:
        return self.policy == "mindspore"

    @property
    def error(self) -> str:
        """The text of the recorded error."""
        return next((outcome.text for outcome in self.told if outcome.kind == "raises"), "")

    @property
    def values(self) -> np.ndarray | None:
        """The recorded values."""
        return self.told[-1].values if self.told[-1].kind == "value" else None

    @property
    def tensors(self) -> list[np.ndarray]:
        found = [x.values if isinstance(x, Written | NumPyArray) else x for x in self.row.operands]
        return [x for x in found if isinstance(x, np.ndarray)]

    @property
    def dtypes(self) -> set[str]:
        return {str(x.dtype) for x in self.tensors}

    @property
    def scalar(self) -> Any:
        """The Python or NumPy scalar among the operands."""
        return next((x for x in self.row.operands if isinstance(x, bool | int | float | np.generic)), None)

    @property
    def whole(self) -> int | None:
        """The integer among the operands."""
        integral = isinstance(self.scalar, int | np.integer) and not isinstance(self.scalar, bool)
        return int(self.scalar) if integral else None

    @property
    def dtype(self) -> str:
        """The name of the dtype in which the operands meet, if they do."""
        if not self.tensors or any(isinstance(x, str) for x in self.row.operands):
            return ""
        values = [x.values if isinstance(x, Written | NumPyArray) else x for x in self.row.operands]
        try:
            dtype = tracejit.result_type(*values, promotion=self.policy)
        except DTypeError:
            return ""
        return dtype.name if isinstance(dtype, DType) else dtype

    @property
    def reference(self) -> Callable[..., Any]:
        """The operator's NumPy reference."""
        assert self.row.record is not None and self.row.record.reference is not None
        return self.row.record.reference

    @property
    def compares(self) -> bool:
        return self.row.record is not None and self.row.record.comparison is not None

    @property
    def overflows(self) -> bool:
        """Whether the integer is outside of the dtype in which the operands meet."""
        return self.whole is not None and is_integer(self.dtype) and not fits(self.whole, self.dtype)

    @property
    def negative_power(self) -> bool:
        """Whether an integer is raised to a negative Python int."""
        second = self.row.operands[-1]
        return self.name == "pow" and type(second) is int and second < 0 and is_integer(self.dtype)


def is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def fits(value: int, dtype: str) -> bool:
    return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


# What tracejit gives


def converted(x: Any, dtype: str) -> np.ndarray:
    """Return an operand in a dtype; a Python int wraps."""
    values = x.values if isinstance(x, Written | NumPyArray) else x
    if isinstance(values, int) and is_integer(dtype):
        bits = np.iinfo(dtype).bits
        return np.array(values % 2**bits, f"uint{bits}").astype(dtype)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def computed_in(dtype: str, case: Case) -> Given:
    """Compute the operator's NumPy reference in a dtype. In 2.x Div of integers and of bools divides in float32."""
    operands = [converted(x, dtype) for x in case.row.operands]
    if case.name == "div" and not case.r11 and operands[0].dtype.kind in "biu":
        operands = [x.astype("float32") for x in operands]
    if case.name == "sub" and dtype == "bool":
        return Given(dtype, np.logical_xor(*operands))
    with np.errstate(all="ignore"):
        return Given(dtype, np.asarray(case.reference(*operands, **case.row.attributes)))


def compared(case: Case) -> Given:
    """Compare by the true values."""
    exact = [np.asarray(x, object) for x in case.row.operands]
    return Given(case.dtype, np.asarray(case.reference(*exact)).astype(bool))


def ruled(case: Case) -> Expected:
    """Return what DECISIONS gives for a call of an operator with two operands of which one at least is a tensor."""
    if case.negative_power:
        return ValueError
    if case.r11 and case.dtype == "bool" and not case.compares and not case.name.startswith(("bitwise", "logical")):
        return TypeError
    if case.overflows and not fits(case.whole or 0, "int64"):
        return OverflowError
    if case.overflows and case.r11:
        return compared(case) if case.compares else OverflowError
    return computed_in(case.dtype, case)


def in_int32(case: Case) -> Given:
    return compared(case)._replace(computed="int32") if case.compares else computed_in("int32", case)


def clamped(case: Case) -> Given:
    """Convert floats to an integer dtype: out of range to the nearest, NaN to 0."""
    x, target = case.row.operands[0], case.row.attributes["dtype"]
    low, high = np.iinfo(target).min, np.iinfo(target).max
    values = [0 if math.isnan(v) else int(max(low, min(high, v))) for v in x.ravel().tolist()]
    return Given(target, np.array(values, target).reshape(x.shape))


def of_dtype(dtype: str) -> Callable[[Case], Given]:
    """Return what makes the data of `Tensor(data)` an array."""
    return lambda case: Given("", converted(np.array(data_of(case)), dtype))


def data_of(case: Case) -> Any:
    """Return the first argument of `Tensor(...)`."""
    return eval(case.row.operands[0], {"Tensor": lambda data, dtype=None: data, "np": np, "ms": tracejit})


def raising(error: type[Exception]) -> Callable[[Case], type[Exception]]:
    return lambda case: error


# Which rows differ


class Rule(NamedTuple):
    """Which rows fall under a difference, and what tracejit gives for each."""

    falls: Callable[[Case], Any]
    gives: Callable[[Case], Expected]


def bool_with_int(case: Case) -> bool:
    recorded = case.name == "squared_difference" or any(x.dtype == "int64" for x in case.told)
    here = case.r11 and case.dtypes == {"bool"} and isinstance(case.whole, int) and recorded
    excluded = isinstance(case.scalar, np.generic) or case.negative_power or out_of_range(case)
    return here and not excluded


def out_of_range(case: Case) -> bool:
    if not case.r11 or not case.overflows or case.negative_power:
        return False
    refused = case.error and case.name != "squared_difference"
    return not refused and (not case.compares or not fits(case.whole or 0, "int64"))


def inexact_float(case: Case) -> bool:
    """Say whether a float scalar is not exact in float32."""
    with np.errstate(all="ignore"):
        return isinstance(case.scalar, float) and float(np.float32(case.scalar)) != case.scalar


def by_value(case: Case) -> bool:
    """Say whether the scalar is one that 2.10 compares unconverted, and that conversion changes."""
    place = {"Equal": 1, "Less": 1, "<": 1, ">": 0}.get(case.row.op)
    if place is None or case.row.operands[place] is not case.scalar or case.values is None:
        return False
    if case.dtypes <= {"float16", "float32"}:
        return isinstance(case.scalar, float) and float(converted(case.scalar, case.dtype)) != case.scalar
    return not case.r11 and case.overflows


def zero_divisor(case: Case) -> bool:
    if case.name not in ("floor_mod", "mod") or not is_integer(case.dtype) or case.values is None:
        return False
    return not (case.r11 and case.overflows) and not converted(case.row.operands[1], case.dtype).all()


def negative_zero(case: Case) -> bool:
    if case.name not in ("div", "real_div", "floor_div", "truncate_div") or not case.dtype.startswith("float"):
        return False
    divisor = converted(case.row.operands[1], case.dtype)
    return bool(np.any((divisor == 0) & np.signbit(divisor)))


def integer_power(case: Case) -> bool:
    here = case.name == "pow" and is_integer(case.dtype) and case.values is not None and case.dtypes != {"bool"}
    return here and not case.negative_power and not (case.r11 and case.overflows)


def beyond_2_to_53(case: Case) -> bool:
    here = case.name in ("floor_mod", "floor_div") and case.dtypes == {"int64"} and case.values is not None
    return here and any(abs(int(x)) > 2**53 for tensor in case.tensors for x in tensor.ravel())


def zero_d_right(case: Case) -> bool:
    if len(case.tensors) < 2 or case.row.tag != "shape" or case.name not in ("mul", "div"):
        return False
    left, right = case.tensors
    return left.ndim > 0 and right.ndim == 0 and str(left.dtype) != case.dtype


def numpy_scalar(case: Case) -> bool:
    taken_over = isinstance(case.row.operands[0], np.generic) and case.row.op == "+"
    return isinstance(case.scalar, np.generic) and (taken_over or "not support implicit" in case.error)


def another_dtype(case: Case) -> bool:
    """Say whether dtypes outside of the nine, or one with another, are combined."""
    return case.r11 and len(case.dtypes) == 2 and bool(case.dtypes & {"bfloat16", "complex64", "complex128"})


def shapes_differ(case: Case) -> bool:
    if case.row.op not in ASSIGN or not isinstance(case.row.operands[0], Written):
        return False
    return np.shape(converted(case.row.operands[1], "float32")) != case.tensors[0].shape and case.tensors[0].size > 1


def has_zero(x: Any) -> bool:
    return isinstance(x, np.ndarray) and not x.all()


RULES = {
    "bool-with-int": Rule(bool_with_int, in_int32),
    "int-out-of-range": Rule(out_of_range, raising(OverflowError)),
    "true-value": Rule(
        lambda case: case.r11 and case.compares and case.overflows and case.values is not None
        and case.dtypes != {"bool"} and not out_of_range(case),
        compared,
    ),
    "float64-scalar": Rule(
        lambda case: case.dtypes == {"float64"} and inexact_float(case) and not case.error,
        lambda case: computed_in("float64", case),
    ),
    "compared-unconverted": Rule(by_value, ruled),
    "scalar-first": Rule(
        lambda case: case.row.op in ("Equal", "Less") and case.row.operands[0] is case.scalar
        and "Failed calling" in case.error,
        ruled,
    ),
    "int-beyond-int64": Rule(
        lambda case: case.told[0].error is OverflowError and case.dtype.startswith("float"), ruled
    ),
    "compared-beyond-int64": Rule(lambda case: case.error.startswith("SystemError"), raising(OverflowError)),
    "div-out-of-range": Rule(
        lambda case: not case.r11 and case.name == "div" and case.overflows and case.values is not None, ruled
    ),
    "modulus-by-zero": Rule(zero_divisor, ruled),
    "negative-zero": Rule(negative_zero, ruled),
    "integer-power": Rule(integer_power, ruled),
    "negative-exponent": Rule(
        lambda case: case.negative_power and not case.error and not numpy_scalar(case), raising(ValueError)
    ),
    "integer-modulus": Rule(lambda case: beyond_2_to_53(case) and not zero_divisor(case), ruled),
    "missing-symbols": Rule(
        lambda case: case.row.op in ("&", "|", "^", "**") and "unsupported operand type" in case.error, ruled
    ),
    "not-equal-scalar": Rule(lambda case: case.row.op == "!=" and case.error.startswith("AttributeError"), ruled),
    "bool-bitwise": Rule(
        lambda case: case.r11 and case.row.op.startswith("Bitwise") and case.dtype == "bool" and case.error,
        lambda case: computed_in("bool", case),
    ),
    "bool-arithmetic": Rule(
        lambda case: not case.r11 and case.name in ("add", "sub") and case.dtype == "bool"
        and "must be a type of" in case.error,
        lambda case: computed_in("bool", case),
    ),
    "zero-d-right": Rule(zero_d_right, ruled),
    "mul-int8-int64": Rule(
        lambda case: case.row.op == "Mul" and case.row.tag == "shape" and case.dtypes == {"int8", "int64"}
        and not zero_d_right(case),
        ruled,
    ),
    "numpy-arrays": Rule(lambda case: any(isinstance(x, NumPyArray) for x in case.row.operands), ruled),
    "numpy-scalars": Rule(numpy_scalar, ruled),
    "lists": Rule(lambda case: any(type(x) in (list, tuple) for x in case.row.operands), raising(TypeError)),
    "two-scalars": Rule(
        lambda case: case.row.op != "Tensor" and not case.tensors and not case.error, raising(TypeError)
    ),
    "wide-unsigned-scalar": Rule(
        lambda case: case.r11 and case.dtypes <= {"uint16", "uint32", "uint64"} and "should be subclass" in case.error,
        ruled,
    ),
    "outside-the-nine": Rule(another_dtype, raising(TypeError)),
    "mul-wide-unsigned-bool": Rule(lambda case: "promote output type is invalid" in case.error, ruled),
    "tensor-of-floats": Rule(
        lambda case: case.row.op == "Tensor" and case.r11 and case.told[0].dtype == "float64", of_dtype("float32")
    ),
    "tensor-of-complex": Rule(
        lambda case: case.row.op == "Tensor" and isinstance(data_of(case), complex), of_dtype("complex64")
    ),
    "tensor-out-of-range": Rule(
        lambda case: case.row.op == "Tensor" and type(data_of(case)) is int, raising(OverflowError)
    ),
    "tensor-of-nan": Rule(
        lambda case: case.row.op == "Tensor" and "int" in case.told[0].dtype
        and isinstance(data_of(case), float),
        lambda case: Given("", np.zeros((), "int32")),
    ),
    "float-to-integer": Rule(lambda case: case.row.op == "Cast", clamped),
    "xlogy-of-zero": Rule(
        lambda case: case.name == "xlogy" and case.dtype.startswith("float") and has_zero(case.row.operands[0]), ruled
    ),
    "xlogy-of-integers": Rule(
        lambda case: case.name == "xlogy" and is_integer(case.dtype) and not case.error, raising(TypeError)
    ),
    "xdivy-of-zero": Rule(
        lambda case: case.name == "xdivy" and len({x.shape for x in case.tensors}) == 2
        and has_zero(case.row.operands[0]),
        ruled,
    ),
    "assigned-shapes": Rule(lambda case: shapes_differ(case) and not case.error, raising(ValueError)),
    "assigned-tensors": Rule(
        lambda case: case.row.op in ASSIGN and not isinstance(case.row.operands[0], Written), raising(TypeError)
    ),
}  # fmt: skip


def states(expected: Expected, made: Made) -> bool:
    """Say whether what tracejit makes of a row is what is expected."""
    if isinstance(expected, type):
        return made.error is not None and issubclass(made.error, expected)
    return (made.declared is None or made.declared.computed == expected.computed) and made.gives(expected.values)
