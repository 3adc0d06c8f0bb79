# ruff: noqa: F403, F405
"""tracejit: programs written for MindSpore's operators and dtype rules, traced and compiled by XLA.

>>> import tracejit
>>> from tracejit import Tensor, jit
>>> @jit
... def scale(x, factor):
...     return x * factor
>>> scale(Tensor([1, 2]), 2.5)
Tensor([2.5, 5. ], dtype=float32)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracejit.front import *

__version__ = "0.1.0"

__all__ = [
    "DType",
    "Generator",
    "Graph",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "TensorType",
    "as_dtype",
    "bfloat16",
    "bool_",
    "can_cast",
    "check_indices",
    "checkpoint",
    "compare",
    "complex64",
    "complex128",
    "cond",
    "custom_vjp",
    "debug",
    "enable_compilation_cache",
    "errors",
    "explain_casts",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "fori_loop",
    "from_jax",
    "grad",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "jit",
    "jvp",
    "load",
    "load_parameters",
    "min_scalar_type",
    "nn",
    "ops",
    "policies",
    "promote_types",
    "promotion",
    "qint8",
    "qint16",
    "qint32",
    "quint8",
    "quint16",
    "report",
    "result_type",
    "save_parameters",
    "scan",
    "switch",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


_MODULES = frozenset(("debug", "errors", "nn", "ops", "policies"))


def __getattr__(name: str) -> Any:
    """Load everything when the first public name is asked for: the shell and the dtype tables need little of it."""
    if name in _MODULES:
        return import_module(f"tracejit.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'tracejit' has no attribute {name!r}")
    front = import_module("tracejit.front")
    globals().update({public: getattr(front, public) for public in __all__})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
