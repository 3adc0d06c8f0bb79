"""Builds the operands that the recorded NumPy files describe, and names results as the files do.

Imports nothing but NumPy, so that an environment with another NumPy can use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PYTHON_TYPES = {"bool": bool, "int": int, "float": float, "complex": complex}
#: The dtypes that NumPy and tracejit share.
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def _number(kind: str, entry: dict[str, Any]) -> Any:
    if kind == "complex":
        return complex(float(entry["re"]), float(entry["im"]))
    if kind == "bool":
        return entry["value"] == "True"
    return float(entry["value"]) if kind == "float" else int(entry["value"])


def _kind(dtype: str) -> str:
    return "int" if dtype.startswith("uint") else dtype.rstrip("0123456789")


def build(entry: dict[str, Any]) -> Any:
    """Return the operand that an entry of a recorded file describes."""
    if "array" in entry:
        dtype = entry["array"]
        if entry["shape"]:
            return np.zeros(entry["shape"], dtype)
        return np.array(_number(_kind(dtype), entry), dtype)
    if "npscalar" in entry:
        return np.dtype(entry["npscalar"]).type(_number(_kind(entry["npscalar"]), entry))
    if "scalar" in entry:
        return _number(entry["scalar"], entry)
    if "pytype" in entry:
        return PYTHON_TYPES[entry["pytype"]]
    if "dtype" in entry:
        return np.dtype(entry["dtype"])
    return entry["dtypestr"] if "dtypestr" in entry else eval(entry["py"])


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what a call gives, as the files have it: a name, a bool, or `TypeError` and `ValueError`."""
    try:
        result = function(*args, **kwargs)
    except TypeError:
        return "TypeError"
    except ValueError:
        return "ValueError"
    return result if isinstance(result, bool) else str(getattr(result, "name", result))
