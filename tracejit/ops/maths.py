"""Element-wise mathematics beyond the operators of `elementwise`, and limits and mixtures of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeValueError, DTypeError, ShapeError
from tracejit.ir import ABSENT
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Op, Sample, op
from tracejit.ops.sets import ALL, BOOL, FLOATS, INEXACT, NUMBERS, REALS
from tracejit.ops.shapes import broadcast, same_as_first


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reference of a NumPy function that says nothing about overflow and undefined values."""

    def reference(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return reference


def each(function: Callable[[float], float]) -> Callable[..., Any]:
    """Make a reference of a function of one Python float."""
    return lambda x: np.array([function(float(v)) for v in np.ravel(x)], x.dtype).reshape(x.shape)


def _inverse_erf(x: float) -> float:
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < x else (low, middle)
    return (low + high) / 2


def unary(class_name: str, doc: str, accepts: Any, reference: Callable[..., Any], **options: Any) -> Op:
    """Declare an element-wise operator of one operand; its method has the function's name."""
    refused = "c64[2]" if dt.int32 in accepts else "i32[2]"
    refusal = (Sample(refused if not accepts >= NUMBERS else "2.0", raises=DTypeError),)
    if dt.bool_ not in accepts:
        refusal = (*refusal, Sample("b1[2]", raises=DTypeError))
    options["samples"] = (*options.get("samples", ("f32[2,3]", "f16[4]", "f64[]")), *refusal)
    name = options.setdefault("name", class_name.lower())
    options.setdefault("methods", (name,))
    return op(
        class_name, "input:T", doc=doc, accepts=accepts, shape=same_as_first, reference=quiet(reference), **options
    )


sin = unary("Sin", "The sine.", INEXACT, np.sin)
cos = unary("Cos", "The cosine.", INEXACT, np.cos)
tan = unary("Tan", "The tangent.", INEXACT, np.tan)
asin = unary("Asin", "The inverse sine.", INEXACT, np.arcsin)
acos = unary("ACos", "The inverse cosine.", INEXACT, np.arccos)
atan = unary("Atan", "The inverse tangent.", INEXACT, np.arctan)
sinh = unary("Sinh", "The hyperbolic sine.", INEXACT, np.sinh)
cosh = unary("Cosh", "The hyperbolic cosine.", INEXACT, np.cosh)
asinh = unary("Asinh", "The inverse hyperbolic sine.", INEXACT, np.arcsinh)
acosh = unary("Acosh", "The inverse hyperbolic cosine.", INEXACT, np.arccosh)
atanh = unary("Atanh", "The inverse hyperbolic tangent.", INEXACT, np.arctanh)
expm1 = unary("Expm1", "e to the power x, minus 1, exact near 0.", INEXACT, np.expm1)
log1p = unary("Log1p", "The natural logarithm of 1 + x, exact near 0.", INEXACT, np.log1p)
log2 = unary("Log2", "The logarithm to base 2.", INEXACT, np.log2)
log10 = unary("Log10", "The logarithm to base 10.", INEXACT, np.log10)
rsqrt = unary("Rsqrt", "1 / sqrt(x).", INEXACT, lambda x: (1 / np.sqrt(x)).astype(x.dtype))
square = unary("Square", "x * x; integers wrap.", NUMBERS, np.square, samples=("f32[2,3]", "i8[4]", "c64[2]"))
erf = unary("Erf", "The error function.", FLOATS, each(math.erf))
erfc = unary("Erfc", "1 minus the error function, exact far from 0.", FLOATS, each(math.erfc))
erfinv = unary("Erfinv", "The inverse of the error function.", FLOATS, each(_inverse_erf))
floor = unary("Floor", "The greatest whole number that is not above x.", FLOATS, np.floor)
ceil = unary("Ceil", "The least whole number that is not below x.", FLOATS, np.ceil)
trunc = unary("Trunc", "x without its fraction.", REALS | BOOL, lambda x: x if x.dtype == bool else np.trunc(x))
sign = unary(
    "Sign", "-1, 0 or 1; of a complex number, the number of its direction.", NUMBERS, np.sign,
    samples=("f32[2,3]", "i8[4]", "c64[3]"), differs="Integers are taken too, as in r1.1.",
)  # fmt: skip
reciprocal = unary(
    "Reciprocal",
    "1 / x; integers and bool are taken to float32 first.",
    ALL,
    lambda x: 1 / (x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float32)),
    result=lambda groups, attributes, dialect: groups["T"] if groups["T"] in INEXACT else dt.float32,
    samples=("f32[2,3]", "f16[4]", "i32[3]"),
)
isnan = unary("IsNan", "Whether x is NaN.", REALS | BOOL, np.isnan, name="isnan", result="bool")
isinf = unary("IsInf", "Whether x is infinite.", REALS | BOOL, np.isinf, name="isinf", result="bool")
isfinite = unary(
    "IsFinite", "Whether x is neither infinite nor NaN.", REALS | BOOL, np.isfinite, name="isfinite", result="bool"
)


def _round(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    if attributes["decimals"] < 0 and dt.is_integer(types[0].dtype):
        raise AttributeValueError(
            f"Round: decimals {attributes['decimals']} is negative, and the tensor holds integers"
        )
    return [types[0].shape]


round_ = op(
    "Round",
    "input:T",
    doc="The nearest multiple of 10 to the power -decimals; halves go to the even one. Integers are unchanged.",
    accepts=REALS,
    attributes=(Attribute("decimals", checks.integer, 0),),
    shape=_round,
    reference=lambda x, decimals=0: np.round(x, decimals),
    methods=("round",),
    samples=(
        "f32[2,3]",
        "i32[3]",
        Sample("f64[4]", {"decimals": 1}),
        Sample("i32[3]", {"decimals": -1}, AttributeValueError),
        Sample("b1[3]", raises=DTypeError),
    ),
)


def _limits(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    given = [type_ for type_ in types if type_ is not ABSENT]
    if len(given) < 2:
        raise AttributeValueError(f"{op.name}: neither a lower nor an upper limit was given", types=op.names_of(types))
    return broadcast(op, given, attributes)


def _clip(class_name: str, signature: str, *samples: str, **options: Any) -> Op:
    return op(
        class_name,
        signature,
        doc="Values below the lower limit become that, then values above the upper one become this.",
        accepts=REALS,
        shape=_limits,
        reference=lambda x, low=None, high=None: np.clip(x, low, high),
        samples=(*samples, Sample("f32[3]", raises=AttributeValueError), Sample("f32[3] f32[2]", raises=ShapeError)),
        **options,
    )


clamp = _clip(
    "Clamp", "input:T, min:T?, max:T?", "f32[2,3] 0.25", "f32[2,3] f32[3] f32[3]", "i32[4] -1 1", "f16[3] f32[] f32[]",
    functions=("clamp", "clip"), methods=("clamp", "clip"),
)  # fmt: skip
clip_by_value = _clip(
    "ClipByValue", "x:T, clip_value_min:T?, clip_value_max:T?", "f32[2,3] -0.5 0.5", "i8[4] 0",
    differs="The limits take part in the conversion, as in r1.1 (2.10 converts them to x's dtype).",
)  # fmt: skip
lerp = op(
    "Lerp",
    "input:=T, end:=T, weight:=T",
    doc="input + weight * (end - input); shapes broadcast.",
    accepts=FLOATS,
    shape=broadcast,
    reference=lambda x, end, weight: x + weight * (end - x),
    methods=("lerp",),
    samples=(
        "f32[2,3] f32[2,3] 0.25",
        "f64[3] f64[3] f64[3]",
        Sample("f32[3] f16[3] 0.25", raises=DTypeError),
        Sample("i32[3] i32[3] 1", raises=DTypeError),
        Sample("f32[3] f32[2] 0.5", raises=ShapeError),
    ),
)
