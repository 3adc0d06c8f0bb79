"""Policy `mindspore2`: the implicit conversion of MindSpore 2.10, as measured and as its source has it."""

from __future__ import annotations

from tracejit.policies.engine import Policy

MINDSPORE2 = Policy(
    name="mindspore2",
    source="MindSpore 2.10.0 in PyNative mode; pairs that were not run as in the tables of its source (July 2025). "
    "One answer for every operator: Mul with a 0-d right operand promotes too. A written float16 Parameter with "
    "bfloat16 values, which the source lets pass with a warning, is an error. Python complex numbers are refused, "
    "beside complex tensors too, as its operators do.",
    tensors="""
        b1 < u8 < i16
        b1 < i8 < i16 < i32 < i64 < f16 < f32 < f64 < c128
        i64 < bf16 < f32 < c64 < c128
        b1 < u16
        b1 < u32
        b1 < u64
    """,
    scalars="""
                b1   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128
        bool    =    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        int     i64  =    -    -    -    =    =    =    =    =    =    =    =    =    =
        float   f32  f32  -    -    -    f32  f32  f32  f32  =    =    =    =    =    =
        complex -    -    -    -    -    -    -    -    -    -    -    -    -    -    -
    """,
    rules={
        "highest-priority": "Tensors are converted to the dtype of the highest priority among theirs: bool < uint8 < "
        "int8 < int16 < int32 < int64 < float16, bfloat16 < float32 < float64, complex64 < complex128.",
        "uint8-int8": "Where nothing stands higher, uint8 and int8 tensors are both converted to int16.",
        "bfloat16-float16": "Tensors of bfloat16 and float16 are both converted to float32.",
        "float64-complex64": "Tensors of float64 and complex64 are both converted to complex128.",
        "bool-int-scalar": "A bool tensor and a Python int are both converted to int64.",
        "bool-float-scalar": "A bool tensor and a Python float are both converted to float32.",
        "integer-float-scalar": "An integer tensor and a Python float are both converted to float32.",
        "not-combined": "The dtypes uint16, uint32 and uint64 combine with bool and themselves only, Python complex "
        "numbers with nothing.",
    },
    documented="b1 u8 i8 i16 i32 i64 f16 f32 f64 bool int float",
    dialect="2.x",
    out_of_range="wrap",
)
