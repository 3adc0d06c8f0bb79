"""Policy `numpy1`: NumPy 1.x's value-based promotion. The tables are here, the algorithm in `values`."""

from __future__ import annotations

from tracejit.dtypes import BY_NAME, bool_, complex128, float64, int64
from tracejit.policies.engine import Policy
from tracejit.policies.values import by_values

#: `numpy.promote_types`, the same in NumPy 1 and 2.
TENSORS = """
    b1 < u8 < u16 < u32 < u64 < f64
    b1 < i8 < i16 < i32 < i64 < f64
    u8 < i16
    u16 < i32
    u32 < i64
    u8 < f16
    i8 < f16
    u16 < f32
    i16 < f32
    f16 < f32 < f64 < c128
    f32 < c64 < c128
    # An integer and a float dtype are above both, and neither above the other: NumPy takes the integers.
    u8 i8 = i16
    u16 i8 = i32
    u16 i16 = i32
    # bfloat16 is ml_dtypes'. What it does not register, NumPy refuses.
    b1 < bf16
    u8 < bf16
    i8 < bf16
    bf16 < f32
    u16,u32,u64,i16,i32,i64,f16 bf16 = -
"""
#: bfloat16 is a dtype of ml_dtypes, of which NumPy's pages know nothing.
NUMPYS_OWN = "b1 u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64 c64 c128 bool int float complex"
#: The table is not associative: NumPy starts from the highest dtype, by kind, then width.
FOLD_ORDER = tuple(
    BY_NAME[name]
    for name in "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 "
    "bfloat16 float16 float32 float64 complex64 complex128".split()
)

NUMPY1 = Policy(
    name="numpy1",
    source="numpy.result_type of NumPy 1.26.4, to the letter: order dependence included, and 0-d tensors are scalars "
    "of their value. bfloat16 takes part as another float dtype, meeting what ml_dtypes' promote_types lets it meet.",
    tensors=TENSORS,
    fold_order=FOLD_ORDER,
    scalars={},  # values decide
    algorithm=by_values,
    defaults={"bool": bool_, "int": int64, "float": float64, "complex": complex128},
    rules={
        "highest-priority": "The tensors are converted to the dtype among theirs that holds the values of the others.",
        "common-dtype": "The tensors are converted to the least dtype that holds the values of all of theirs.",
        "declared-dtypes": "Scalars and 0-d tensors alone count with their declared dtypes (Python's are int64, "
        "float64, complex128), not their values.",
        "scalar-category": "A scalar or 0-d tensor of a higher category (bool, integer, inexact) than every tensor "
        "with axes counts with its declared dtype.",
        "minimal-scalar": "A scalar or 0-d tensor counts as the least dtype that holds its value, which is within the "
        "tensors' dtype.",
        "scalar-widens": "A scalar or 0-d tensor counts as the least dtype that holds its value, which is more than "
        "the tensors' dtype holds.",
        "not-combined": "NumPy has no common dtype for bfloat16 and float16, or integers of more than 8 bits.",
        "object-result": "A Python int beyond 64 bits makes the result NumPy's dtype object, which no tensor has.",
        "value-needed": "A scalar or 0-d tensor counts as the least dtype that holds its value.",
    },
    documented=NUMPYS_OWN,
    numpy_scalars="value",
    needs_values=True,
)
