"""Policy `numpy2`: NumPy 2's promotion (NEP 50), in which Python scalars are weak."""

from __future__ import annotations

from tracejit.dtypes import bool_, complex128, float64, int64
from tracejit.policies.engine import Policy
from tracejit.policies.numpy1 import FOLD_ORDER, NUMPYS_OWN, TENSORS

NUMPY2 = Policy(
    name="numpy2",
    source="NumPy 2.4 and NEP 50. bfloat16 stands in its table as ml_dtypes puts it there, and takes Python floats as "
    "NEP 50 has it for every float dtype (NumPy gives float64, since ml_dtypes registers it as a legacy dtype).",
    tensors=TENSORS,
    fold_order=FOLD_ORDER,
    scalars="""
                b1   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128
        bool    =    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        int     i64  =    =    =    =    =    =    =    =    =    =    =    =    =    =
        float   f64  f64  f64  f64  f64  f64  f64  f64  f64  =    =    =    =    =    =
        complex c128 c128 c128 c128 c128 c128 c128 c128 c128 c64  c64  c64  c128 =    =
    """,
    defaults={"bool": bool_, "int": int64, "float": float64, "complex": complex128},
    rules={
        "highest-priority": "The tensors are converted to the dtype among theirs that holds the values of the others.",
        "common-dtype": "The tensors are converted to the least dtype that holds the values of all of theirs.",
        "bool-int-scalar": "A bool tensor and a Python int are both converted to int64.",
        "bool-float-scalar": "A bool tensor and a Python float are both converted to float64.",
        "bool-complex-scalar": "A bool tensor and a Python complex are both converted to complex128.",
        "integer-float-scalar": "An integer tensor and a Python float are both converted to float64.",
        "integer-complex-scalar": "An integer tensor and a Python complex are both converted to complex128.",
        "float-complex-scalar": "A float tensor and a Python complex are converted to the complex dtype of its "
        "precision, complex64 at least.",
        "not-combined": "NumPy has no common dtype for bfloat16 and float16, or integers of more than 8 bits.",
    },
    documented=NUMPYS_OWN,
    numpy_scalars="tensor",
)
