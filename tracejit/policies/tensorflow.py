"""Policy `tensorflow`: TensorFlow's refusal to convert tensors; Python scalars take the tensor's dtype."""

from __future__ import annotations

from tracejit.dtypes import bool_, complex128, float32, int32
from tracejit.policies.engine import Policy

TENSORFLOW = Policy(
    name="tensorflow",
    source="TensorFlow 2.21, `+` on eager tensors, tensor first, without `experimental_enable_numpy_behavior`. Which "
    "dtypes take a Python bool is TensorFlow's list as measured (int32, int64, uint64, float16, float32, float64, "
    "complex128). NumPy scalars count as Python scalars of their kind.",
    tensors="",  # no two dtypes meet
    scalars="""
                b1   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128
        bool    =    -    -    -    =    -    -    =    =    -    =    =    =    -    =
        int     -    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        float   -    -    -    -    -    -    -    -    -    =    =    =    =    =    =
        complex -    -    -    -    -    -    -    -    -    -    -    -    -    =    =
    """,
    defaults={"bool": bool_, "int": int32, "float": float32, "complex": complex128},
    rules={
        "not-combined": "TensorFlow converts no tensor implicitly, and a Python scalar only to a dtype that takes it."
    },
    documented="b1 u8 u16 u32 u64 i8 i16 i32 i64 bf16 f16 f32 f64 c64 c128 int float complex",
    out_of_range="wrap",
)
