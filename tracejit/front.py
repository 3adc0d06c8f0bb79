# ruff: noqa: F401
"""Everything that `tracejit` offers, loaded together when the first of its names is asked for.

The list of the names is `tracejit.__all__`.
"""

import tracejit.dispatch  # fills tracejit.ops and the Tensor class
from tracejit import debug, errors, nn, ops, policies
from tracejit.ambient import check_indices, promotion
from tracejit.caching import enable_compilation_cache
from tracejit.comparison import compare
from tracejit.control import cond, fori_loop, scan, switch, while_loop
from tracejit.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int4,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint16,
    qint32,
    quint8,
    quint16,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tracejit.explanation import explain_casts
from tracejit.exporting import load
from tracejit.foreign import from_jax
from tracejit.ir import Graph, TensorType
from tracejit.jitted import jit
from tracejit.nn import ParameterTuple
from tracejit.parameter import Generator, Parameter
from tracejit.queries import can_cast, min_scalar_type, promote_types, result_type
from tracejit.reporting import report
from tracejit.saving import load_parameters, save_parameters
from tracejit.tensor import Tensor
from tracejit.transforms import checkpoint, custom_vjp, grad, jvp, value_and_grad, vjp, vmap
