"""Element-wise functions of one operand, and Cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.errors import AttributeTypeError, DTypeError
from tracejit.ops import checks
from tracejit.ops.record import Attribute, Sample, op
from tracejit.ops.sets import ALL, BOOL, INEXACT, INTEGERS, NUMBERS, REALS
from tracejit.ops.shapes import same_as_first


def _unary(class_name: str, doc: str, accepts: Any, reference: Callable[..., Any], **options: Any):
    samples = (*options.pop("samples", ("f32[2,3]", "f16[4]", "f64[]", "bf16[0]")), *_refused(accepts))
    return op(
        class_name,
        "x:T",
        doc=doc,
        accepts=accepts,
        shape=same_as_first,
        reference=reference,
        samples=samples,
        **options,
    )


def _refused(accepts: Any) -> list[Sample]:
    dtypes = [] if dt.bool_ in accepts else ["b1"]
    dtypes += [] if dt.int32 in accepts else ["i32"]
    return [Sample(f"{dtype}[3]", raises=DTypeError) for dtype in dtypes] + [Sample("", raises=AttributeTypeError)]


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return function(x)

    return reference


exp = _unary("Exp", "e to the power x.", INEXACT, _quiet(np.exp), methods=("exp",))
log = _unary("Log", "The natural logarithm.", INEXACT, _quiet(np.log), methods=("log",))
sqrt = _unary(
    "Sqrt",
    "The square root; integers are taken to float32 first.",
    NUMBERS,
    _quiet(lambda x: np.sqrt(x.astype(np.float32) if np.issubdtype(x.dtype, np.integer) else x)),
    result=lambda groups, attributes, dialect: groups["T"] if groups["T"] in INEXACT else dt.float32,
    methods=("sqrt",),
    samples=("f32[2,3]", "i32[4]", "f64[]"),
)
tanh = _unary("Tanh", "The hyperbolic tangent.", INEXACT, np.tanh, methods=("tanh",))
sigmoid = _unary("Sigmoid", "1 / (1 + exp(-x)).", INEXACT, _quiet(lambda x: 1 / (1 + np.exp(-x))), methods=("sigmoid",))
relu = _unary(
    "ReLU", "x where x > 0, else 0.", REALS, lambda x: np.maximum(x, np.zeros((), x.dtype)), methods=("relu",)
)
neg = _unary(
    "Neg", "-x; integers wrap.", NUMBERS, np.negative, methods=("__neg__", "neg"), scalars="same",
    samples=("f32[2,3]", "i8[4]", "f64[]"),
)  # fmt: skip
abs_ = _unary(
    "Abs",
    "|x|; bool is unchanged, the least integer stays.",
    ALL,
    lambda x: x if x.dtype == bool else np.abs(x),
    result=lambda groups, attributes, dialect: {dt.complex64: dt.float32, dt.complex128: dt.float64}.get(
        groups["T"], groups["T"]
    ),
    methods=("__abs__", "abs"),
    scalars="same",
    samples=("f32[2,3]", "i8[4]", "b1[2]"),
)
bitwise_not = _unary(
    "Invert",
    "Bitwise not of integers, logical not of bool.",
    INTEGERS | BOOL,
    np.invert,
    methods=("__invert__",),
    samples=("i32[2,3]", "u8[4]", "b1[3]"),
)
cast = op(
    "Cast",
    "input_x:-, dtype",
    doc="Convert the values to a dtype. Out of range, a float clamps to the integer's limits and NaN gives 0; "
    "integers wrap; non-zero is True; a complex loses its imaginary part to a real.",
    result=":dtype",
    attributes=(Attribute("dtype", checks.dtype),),
    shape=same_as_first,
    methods=("astype", "cast"),
    scalars="cast",
    reference=lambda x, dtype: x.astype(dtype.numpy),
    samples=(
        Sample("f32[2,3]", {"dtype": dt.float16}),
        Sample("i32[4]", {"dtype": dt.float32}),
        Sample("f64[3]", {"dtype": dt.bool_}),
        Sample("i64[3]", {"dtype": dt.uint8}),
        Sample("c64[2]", {"dtype": dt.complex128}),
        Sample("f32[3]", {"dtype": "qint8"}, raises=DTypeError),
        Sample("f32[3]", {"dtype": None}, raises=DTypeError),
    ),
    differs="MindSpore's CPU kernels give x86's bits for floats outside the integer's range.",
)

stop_gradient = op(
    "StopGradient",
    "x:-",
    doc="The same value, as a constant for every gradient.",
    result="-",
    shape=same_as_first,
    reference=lambda x: x,
    methods=("stop_gradient",),
    samples=("f32[2,3]", "i8[4]"),
)
