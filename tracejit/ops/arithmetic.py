"""Element-wise arithmetic of two operands (OPS.md 1): both in one dtype group, shapes broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ops.record import Dialects, Op, Sample, op
from tracejit.ops.sets import (
    ALL,
    BOOL,
    COMPLEXES,
    FLOATS,
    HALF_AND_SINGLE,
    INEXACT,
    INTEGERS,
    NUMBERS,
    NUMBERS_THEN_BOOL,
    REALS,
    REALS_THEN_BOOL,
)
from tracejit.ops.shapes import broadcast

SAMPLES = ("f32[2,3] f32[3]", "i8[4] i32[4]", "f16[3] 2.5", "2 i16[2,1]", "b1[3] u8[3]", "f64[] f32[2]")
REFUSED = (
    Sample("f32[2] f32[3]", raises=ShapeError),
    Sample("u16[3] i16[3]", raises=DTypeError),
    Sample("i32[3] 1j", raises=DTypeError),
    Sample("b1[3] b1[3]", raises=DTypeError),
    Sample("2 3", raises=DTypeError),
)


def _binary(class_name: str, doc: str, samples: tuple[str, ...] = SAMPLES, **options: Any):
    options.setdefault("scalars", "same")
    return op(class_name, "input_x:T, input_y:T", doc=doc, shape=broadcast, samples=(*samples, *REFUSED), **options)


def quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Reference of the integer divisions: exact, truncated; by zero the dtype's maximum, minimum or 0."""
    info = np.iinfo(x.dtype)
    by_zero = np.where(x > 0, info.max, np.where(x < 0, info.min, 0))
    with np.errstate(all="ignore"):
        wide = [int(a) for a in np.broadcast_arrays(x, y)[0].ravel()]
        divisors = [int(b) for b in np.broadcast_arrays(x, y)[1].ravel()]
        exact = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0 for a, b in zip(wide, divisors)]
    wrapped = np.array([value & (2**info.bits - 1) for value in exact], np.uint64).astype(x.dtype)
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.where(np.broadcast_to(y, shape) == 0, by_zero, wrapped.reshape(shape)).astype(x.dtype)


def floor_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Reference of FloorDiv on integers: exact, rounded toward minus infinity."""
    truncated = quotient(x, y)
    with np.errstate(all="ignore"):
        inexact = (y != 0) & (truncated * y != x) & ((x < 0) != (y < 0))
        return np.where(inexact, truncated - 1, truncated).astype(x.dtype)


def _real(x: np.ndarray) -> np.ndarray:
    return x.astype(np.longdouble if x.dtype.itemsize == 8 else np.float64)


def _floor(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Round the quotient down, with more precision than the operands have."""
    return np.floor(_real(x) / _real(y))


def _float_modulus(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x - trunc(x / y) * y, with the real quotient."""
    return np.where(np.isinf(y), np.nan, np.fmod(x, y))


def _float_floor_modulus(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = _float_modulus(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def _by_kind(on_floats: Callable[..., Any], on_integers: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            integral = np.issubdtype(x.dtype, np.integer)
            return np.asarray((on_integers if integral else on_floats)(x, y), x.dtype)

    return reference


def _integer_power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8

    def power(base: int, exponent: int) -> int:
        if exponent >= 0:
            return pow(base, exponent, 2**bits)
        return {1: 1, -1: 1 if exponent % 2 == 0 else -1}.get(base, 0) % 2**bits

    values = [power(int(a), int(b)) for a, b in np.broadcast(x, y)]
    return np.array(values, np.uint64).astype(x.dtype).reshape(np.broadcast_shapes(x.shape, y.shape))


def _exponent(op: Op, position: int, value: Any, to: Any) -> None:
    if position == 1 and isinstance(to, dt.DType) and dt.is_integer(to) and value < 0:
        raise AttributeValueError(
            f"{op.name}: {to} to the negative power {value} is no integer",
            fix=f"write the exponent as the float {value}.0, or convert the base, as in ops.cast(x, tracejit.float32)",
        )


_COMPLEX_IN_2X = Dialects(HALF_AND_SINGLE, INEXACT)

add = _binary(
    "Add", "x + y; integers wrap.", accepts=NUMBERS_THEN_BOOL, reference=np.add,
    methods=("__add__", "add"), aliases=("TensorAdd",),
)  # fmt: skip
sub = _binary(
    "Sub", "x - y; integers wrap.", accepts=NUMBERS_THEN_BOOL, reference=np.subtract, methods=("__sub__", "sub")
)
mul = _binary(
    "Mul", "x * y; integers wrap.", accepts=NUMBERS_THEN_BOOL, reference=np.multiply, methods=("__mul__", "mul")
)
div = _binary(
    "Div",
    "x / y. On integers r1.1 truncates toward zero and keeps the dtype; 2.x divides in float32.",
    accepts=Dialects(NUMBERS, ALL),
    result=Dialects("T", lambda groups, attributes, dialect: _true_quotient_dtype(groups["T"])),
    dialect_matters=True,
    reference=_by_kind(np.divide, quotient),
    methods=("__truediv__", "div"),
    scalars="float",
)
real_div = _binary(
    "RealDiv", "x / y; integers truncate toward zero.", accepts=NUMBERS, reference=_by_kind(np.divide, quotient)
)
div_no_nan = _binary(
    "DivNoNan",
    "x / y, and 0 wherever y is 0.",
    accepts=Dialects(NUMBERS, INEXACT | {dt.uint8, dt.int8, dt.int32, dt.int64}),
    reference=_by_kind(
        lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)),
        lambda x, y: np.where(y == 0, 0, quotient(x, np.where(y == 0, 1, y).astype(y.dtype))),
    ),
    differs="Integers are computed (MindSpore's CPU has no kernel for them).",
)
floor_div = _binary(
    "FloorDiv", "The real quotient x / y, rounded down.", accepts=REALS_THEN_BOOL,
    methods=("__floordiv__", "floor_divide"), reference=_by_kind(_floor, floor_quotient),
    differs="float64 is exact too: 1.0 // 0.1 is 9 (MindSpore, which rounds the quotient first, gives 10).",
)  # fmt: skip
truncate_div = _binary(
    "TruncateDiv", "x / y, truncated toward zero.", accepts=REALS_THEN_BOOL,
    reference=_by_kind(lambda x, y: np.trunc(x / y), quotient),
)  # fmt: skip
floor_mod = _binary(
    "FloorMod",
    "x - floor(x / y) * y, with the real quotient and the sign of y; NaN for an infinite y.",
    accepts=REALS_THEN_BOOL,
    methods=("__mod__", "floor_mod"),
    reference=_by_kind(
        _float_floor_modulus,
        lambda x, y: np.where(y == 0, 0, x - floor_quotient(x, y) * y),
    ),
    differs="Integers modulo zero are 0 (MindSpore's CPU kernels give the least integer).",
)
mod = _binary(
    "Mod",
    "x - trunc(x / y) * y, with the real quotient and the sign of x; 0 modulo 0 is 0; NaN for an infinite y.",
    accepts=REALS,
    reference=_by_kind(
        lambda x, y: np.where((x == 0) & (y == 0), 0, _float_modulus(x, y)),
        lambda x, y: np.where(y == 0, 0, x - quotient(x, y) * y),
    ),
    differs="Integers modulo zero are 0 (MindSpore's CPU kernels give the least integer).",
)
truncate_mod = _binary(
    "TruncateMod",
    "C's fmod(x, y), with the sign of x.",
    accepts=Dialects(REALS, FLOATS | {dt.uint8, dt.int8, dt.int32}),
    reference=_by_kind(np.fmod, lambda x, y: np.where(y == 0, 0, x - quotient(x, y) * y)),
    differs="Integers modulo zero are 0.",
)
pow_ = _binary(
    "Pow",
    "x to the power y. Integers are exact modulo 2**bits; a negative exponent gives 0, or ±1 for the base ±1.",
    accepts=NUMBERS_THEN_BOOL,
    methods=("__pow__", "pow"),
    check_literal=_exponent,
    reference=_by_kind(np.power, _integer_power),
    differs="MindSpore computes integer powers in float64, which loses and clamps large results. The gradient "
    "of x ** 0 at 0 is 0 (MindSpore: NaN).",
)
maximum = _binary(
    "Maximum",
    "x if x > y, else y (so a NaN in y is kept, one in x is not).",
    accepts=REALS_THEN_BOOL,
    methods=("maximum",),
    reference=lambda x, y: np.where(x > y, x, y),
)
minimum = _binary(
    "Minimum",
    "x if x < y, else y (so a NaN in y is kept, one in x is not).",
    accepts=REALS,
    methods=("minimum",),
    reference=lambda x, y: np.where(x < y, x, y),
)
squared_difference = _binary(
    "SquaredDifference",
    "(x - y) squared.",
    accepts=Dialects(HALF_AND_SINGLE | {dt.int32}, HALF_AND_SINGLE | {dt.int32, dt.int64, dt.float64} | COMPLEXES),
    reference=lambda x, y: np.conj(x - y) * (x - y) if np.iscomplexobj(x) else (x - y) * (x - y),
    samples=("f32[2,3] f32[3]", "i8[4] i32[4]", "f16[3] 2.5", "b1[3] f32[3]"),
)
atan2 = _binary(
    "Atan2",
    "The angle of the point (y, x) in (-pi, pi]: x is the ordinate, y the abscissa.",
    accepts=REALS_THEN_BOOL,
    methods=("atan2",),
    reference=lambda x, y: (
        np.arctan2(x, y) if not np.issubdtype(x.dtype, np.integer)
        else np.arctan2(x.astype("f8"), y.astype("f8")).astype(x.dtype)
    ),
    differs="Integers are computed in float64 and truncated (MindSpore 2.x has no kernel for them).",
)  # fmt: skip
xdivy = _binary(
    "Xdivy",
    "0 where x is 0, else x / y.",
    accepts=_COMPLEX_IN_2X,
    reference=lambda x, y: np.where(x == 0, 0, _quiet(np.divide, x, y)),
    samples=("f32[2,3] f32[3]", "i8[4] f32[4]", "f16[3] 2.5", "b1[3] f32[3]"),
)
xlogy = _binary(
    "Xlogy",
    "0 where x is 0 and y is not NaN, else x * log(y).",
    accepts=_COMPLEX_IN_2X,
    reference=lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * _quiet(np.log, y)),
    tensors_only=Dialects(False, True),
    samples=("f32[2,3] f32[3]", "i8[4] f32[4]", "f16[3] 2.5", "b1[3] f32[3]"),
    differs="MindSpore's CPU kernel does not mask x = 0 and gives NaN for log of 0 and of negative numbers.",
)


def _quiet(function: Callable[..., Any], *operands: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        return function(*operands)


def _true_quotient_dtype(dtype: dt.DType) -> dt.DType:
    return dtype if dtype in FLOATS | COMPLEXES else dt.float32


def _bitwise(class_name: str, word: str, reference: Callable[..., Any], method: str):
    return op(
        class_name,
        "x1:T, x2:T",
        doc=f"Bitwise {word} in two's complement; logical {word} on bool.",
        accepts=INTEGERS | BOOL,
        shape=broadcast,
        reference=reference,
        methods=(method,),
        scalars="same",
        samples=(
            "i32[2,3] i32[3]",
            "i8[4] i32[4]",
            "u8[3] i8[3]",
            "b1[3] b1[3]",
            "i16[3] 5",
            Sample("i8[2] i8[3]", raises=ShapeError),
            Sample("i32[3] f32[3]", raises=DTypeError),
            Sample("i32[3] 2.5", raises=DTypeError),
            Sample("u16[3] i16[3]", raises=DTypeError),
        ),
        differs="bool with bool is accepted in both dialects (r1.1 refuses it).",
    )


bitwise_and = _bitwise("BitwiseAnd", "and", np.bitwise_and, "__and__")
bitwise_or = _bitwise("BitwiseOr", "or", np.bitwise_or, "__or__")
bitwise_xor = _bitwise("BitwiseXor", "exclusive or", np.bitwise_xor, "__xor__")
