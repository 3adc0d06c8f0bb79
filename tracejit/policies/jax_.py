"""Policy `jax`: JAX's type promotion lattice with weak types, 64-bit dtypes enabled."""

from __future__ import annotations

from tracejit.dtypes import bool_, complex128, float64, int64
from tracejit.policies.engine import Policy

JAX = Policy(
    name="jax",
    source="JAX 0.10, standard promotion, jax_enable_x64 on. A Python int, float or complex is the weak node int*, "
    "float* or complex* of the lattice; a Python bool is a bool tensor. uint64 meets signed integers in float*, which "
    "is float64 if nothing else is there and gives way to any float dtype otherwise. A result that JAX calls weak is "
    "an ordinary tensor of that dtype here.",
    tensors="""
        b1 < int* < u8 < u16 < u32 < u64 < float*
             int* < i8 < i16 < i32 < i64 < float*
        u8 < i16
        u16 < i32
        u32 < i64
        float* < bf16 < f32
        float* < f16 < f32 < f64 < c128
        float* < complex* < c64
        f32 < c64 < c128
    """,
    defaults={"bool": bool_, "int": int64, "float": float64, "complex": complex128},
    rules={
        "highest-priority": "The tensors are converted to the dtype among theirs that is above the others in JAX's "
        "lattice.",
        "common-dtype": "The tensors are converted to the least dtype of JAX's lattice that is above all of theirs.",
        "scalar-adopts": "A Python scalar is weakly typed: it takes the tensors' dtype.",
        "bool-int-scalar": "A bool tensor and a Python int are both converted to int64.",
        "bool-float-scalar": "A bool tensor and a Python float are both converted to float64.",
        "bool-complex-scalar": "A bool tensor and a Python complex are both converted to complex128.",
        "integer-float-scalar": "An integer tensor and a Python float are both converted to float64.",
        "integer-complex-scalar": "An integer tensor and a Python complex are both converted to complex128.",
        "float-complex-scalar": "A float tensor and a Python complex are converted to the complex dtype of its "
        "precision, complex64 at least.",
    },
    out_of_range="wrap",
    numpy_scalars="tensor",
)
