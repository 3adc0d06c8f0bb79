"""Policy `torch`: PyTorch's categories, in which 0-d tensors stand below tensors with axes, and numbers below both."""

from __future__ import annotations

from tracejit.policies.engine import Policy

TORCH = Policy(
    name="torch",
    source="PyTorch 2.13 (`torch.result_type`), default dtype float32. NumPy scalars are numbers, as its argument "
    "parser takes them. Where PyTorch gives complex32 (a float16 tensor with a complex number), which is no dtype of "
    "tracejit, the operands do not combine.",
    # Between uint16, 32, 64 and integers, bool or complex tensors PyTorch promotes nothing.
    tensors="""
        b1 < u8 < i16
        b1 < i8 < i16 < i32 < i64 < f16 < f32 < f64 < c128
        i64 < bf16 < f32 < c64 < c128
        u16,u32,u64 bf16 = bf16
        u16,u32,u64 f16  = f16
        u16,u32,u64 f32  = f32
        u16,u32,u64 f64  = f64
    """,
    scalars="""
                b1   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128
        bool    =    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        int     i64  =    =    =    =    =    =    =    =    =    =    =    =    =    =
        float   f32  f32  f32  f32  f32  f32  f32  f32  f32  =    =    =    =    =    =
        complex c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  -    c64  c128 =    =
    """,
    lower_zero_d="""
                          b1   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128
        b1                =    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        u8,i8,i16,i32,i64 <    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        u16,u32,u64       -    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        bf16,f16,f32,f64  <    <    <    <    <    <    <    <    <    =    =    =    =    =    =
        c64,c128          <    <    <    <    <    <    <    <    <    c64  -    c64  c128 =    =
    """,
    rules={
        "highest-priority": "The tensors are converted to the dtype among theirs that is above the others.",
        "common-dtype": "The tensors are converted to the least dtype that is above all of theirs.",
        "scalar-adopts": "A number takes the tensors' dtype where its category (bool, integer, float, complex) is not "
        "higher.",
        "bool-int-scalar": "A bool tensor and a Python int are both converted to int64.",
        "bool-float-scalar": "A bool tensor and a Python float are both converted to the default dtype, float32.",
        "bool-complex-scalar": "A bool tensor and a Python complex are both converted to complex64.",
        "integer-float-scalar": "An integer tensor and a Python float are both converted to the default dtype, "
        "float32.",
        "integer-complex-scalar": "An integer tensor and a Python complex are both converted to complex64.",
        "float-complex-scalar": "A float tensor and a Python complex are converted to the complex dtype of its "
        "precision.",
        "zero-d-category": "A 0-d tensor of a higher category raises the tensors with axes to its dtype (a complex "
        "one raises float tensors to the complex dtype of their precision).",
        "not-combined": "PyTorch does not promote between uint16, uint32 or uint64 and bool, other integers or "
        "complex; complex32 is no dtype of tracejit.",
    },
    documented="b1 u8 i8 i16 i32 i64 bf16 f16 f32 f64 c64 c128 bool int float complex",
    out_of_range="wrap",
)
