"""Policy `mindspore`: MindSpore r1.1's implicit conversion as its pages have it, with tracejit's choices."""

from __future__ import annotations

from tracejit.policies.engine import Policy

_ORDER = "bool < uint8 < int8 < int16 < int32 < int64 < float16 < float32 < float64"

MINDSPORE = Policy(
    name="mindspore",
    source="MindSpore r1.1, operator_list_implicit (`mindspore.ops` implicit conversion). Where MindSpore as it runs "
    "(1.1.1 to 2.10) differs from these pages, the pages count: a bool tensor with a Python int gives int32, not "
    "int64. Dtypes outside the nine combine with themselves and, an extension, with a Python scalar of their kind or "
    "a lower one. NumPy scalars are Python scalars of their kind, as in MindSpore 1.10 and later.",
    # int8 stands above uint8 in the order of the pages, but the two meet in int16 unless something higher is there.
    tensors="""
        b1 < u8 < i16
        b1 < i8 < i16 < i32 < i64 < f16 < f32 < f64
    """,
    scalars="""
                b1   u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  c64  c128
        bool    =    =    =    =    =    =    =    =    =    =    =    =    =    =    =
        int     i32  =    =    =    =    =    =    =    =    =    =    =    =    =    =
        float   f32  f32  -    -    -    f32  f32  f32  f32  =    =    =    =    =    =
        complex -    -    -    -    -    -    -    -    -    -    -    -    -    =    =
    """,
    rules={
        "highest-priority": f"Tensors are converted to the dtype of the highest priority among theirs: {_ORDER}.",
        "uint8-int8": "Where nothing stands higher, uint8 and int8 tensors are both converted to int16.",
        "bool-int-scalar": "A bool tensor and a Python int are both converted to int32.",
        "bool-float-scalar": "A bool tensor and a Python float are both converted to float32.",
        "integer-float-scalar": "An integer tensor and a Python float are both converted to float32.",
        "not-combined": f"Only the nine dtypes {_ORDER} are converted to each other; Python complex numbers combine "
        "with complex tensors only.",
    },
    documented="b1 u8 i8 i16 i32 i64 f16 f32 f64 bool int float",
)
