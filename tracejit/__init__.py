"""tracejit: programs written for MindSpore's operators and dtype rules, traced and compiled by XLA.

>>> import tracejit
>>> from tracejit import Tensor, jit
>>> @jit
... def scale(x, factor):
...     return x * factor
>>> scale(Tensor([1, 2]), 2.5)
Tensor([2.5, 5. ], dtype=float32)
"""

import tracejit.dispatch  # noqa: F401  # fills tracejit.ops and the Tensor class
from tracejit import errors, ops, policies
from tracejit.ambient import check_indices, promotion
from tracejit.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tracejit.ir import Graph, TensorType
from tracejit.jitted import jit
from tracejit.parameter import Parameter
from tracejit.tensor import Tensor

__version__ = "0.1.0"

__all__ = [
    "DType",
    "Graph",
    "Parameter",
    "Tensor",
    "TensorType",
    "as_dtype",
    "bfloat16",
    "bool_",
    "check_indices",
    "complex64",
    "complex128",
    "errors",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "jit",
    "ops",
    "policies",
    "promotion",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
