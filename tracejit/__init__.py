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
from tracejit.control import cond, fori_loop, scan, switch, while_loop
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
from tracejit.parameter import Generator, Parameter
from tracejit.tensor import Tensor
from tracejit.transforms import checkpoint, custom_vjp, grad, jvp, value_and_grad, vjp, vmap

__version__ = "0.1.0"

__all__ = [
    "DType",
    "Generator",
    "Graph",
    "Parameter",
    "Tensor",
    "TensorType",
    "as_dtype",
    "bfloat16",
    "bool_",
    "check_indices",
    "checkpoint",
    "complex128",
    "complex64",
    "cond",
    "custom_vjp",
    "errors",
    "float16",
    "float32",
    "float64",
    "fori_loop",
    "grad",
    "int16",
    "int32",
    "int64",
    "int8",
    "jit",
    "jvp",
    "ops",
    "policies",
    "promotion",
    "scan",
    "switch",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
