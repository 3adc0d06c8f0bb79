"""The emitter: walks a promoted Graph and calls the lowering rule of each operation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from lowering.arrays import x64
from lowering.registry import LOCATED, REGION_RULES, RULES
from tracejit.dtypes import DType
from tracejit.errors import X64Error
from tracejit.ir import Graph, Literal, Operation, TensorType, Value

#: Whether what a profiler shows is named after operators and the user's lines, as in `matmul[model.py:12]`.
NAMED_SCOPES = os.environ.get("TRACEJIT_NAMED_SCOPES", "1") != "0"


def emit(graph: Graph, inputs: Sequence[Any], state: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Compute a Graph on JAX arrays or tracers: (outputs, new state). The Graph must be promoted."""
    env: dict[int, Any] = {id(value): array for value, array in zip(graph.inputs, inputs)}
    env.update({id(value): array for value, array in zip(graph.state, state)})
    scoped = NAMED_SCOPES and graph.location is not None  # the program of one operator serves every line that runs it
    scopes: dict[Any, Any] = {}
    for operation in graph.operations:
        if scoped and operation.location is not None:
            with _scope_of(operation, scopes):
                results = results_of(operation, env, graph)
        else:
            results = results_of(operation, env, graph)
        for value, array in zip(operation.results, results):
            env[id(value)] = array
    return [read_value(value, env) for value in graph.outputs], [read_value(value, env) for value in graph.new_state]


def _scope_of(operation: Operation, scopes: dict[Any, Any]) -> Any:
    """Return the named scope of an operation; a line that is run many times, as in a loop, has it made once."""
    location = operation.location
    assert location is not None
    key = operation.name, location.instruction
    scope = scopes.get(key)
    if scope is None:
        scope = scopes[key] = jax.named_scope(f"{operation.name}[{location}]")
    return scope


def read_value(value: Value, env: dict[int, Any]) -> Any:
    """Return what stands for a Value: an array, or the Python scalar of a Literal."""
    return value.value if isinstance(value, Literal) else env[id(value)]


def results_of(operation: Operation, env: dict[int, Any], graph: Graph) -> Sequence[Any]:
    """Compute the results of one operation of a Graph."""
    operands = [read_value(value, env) for value in operation.operands]
    if operation.name != "cast":  # a cast takes a Python scalar as it is; all else computes with arrays
        operands = [scalar_array(x) if x.__class__ in PYTHON_WIDTHS else x for x in operands]
    attributes = operation.attributes
    if "rule" in attributes:
        attributes = {name: value for name, value in attributes.items() if name != "rule"}
    if operation.regions:
        return REGION_RULES[operation.name](emit, operands, operation.regions, **attributes)
    if operation.name in LOCATED:  # a program of one operator serves every line that runs it
        attributes = {**attributes, "location": operation.location if graph.location is not None else None}
    results = RULES[operation.name](*operands, **attributes)
    return results if isinstance(results, tuple | list) else (results,)


def check_x64(graph: Graph) -> None:
    """Raise X64Error if the Graph has a 64-bit type while JAX's 64-bit mode is off.

    At top level the mode is always on; it is off only under the user's own transformations.
    """
    if x64():
        return
    for operation in graph.walk():
        for value in (*operation.operands, *operation.results):
            _check_value(value, operation)
    for value in (*graph.inputs, *graph.state, *graph.outputs):
        _check_value(value, None)


_WIDE = {"int64", "uint64", "float64", "complex128"}


def _check_value(value: Value, operation: Operation | None) -> None:
    if isinstance(value.type, TensorType) and value.type.dtype.name in _WIDE:
        where = operation.name if operation is not None else value.name or "an input"
        raise X64Error(
            f"{where} has the 64-bit type {value.type}, but this runs under a JAX transformation with 64 bits off",
            location=operation.location if operation is not None else None,
            types={"value": value.type},
            rule="inside jax.jit, jax.grad or jax.vmap the user's jax_enable_x64 decides which dtypes exist",
            fix='set jax.config.update("jax_enable_x64", True), or keep to 32-bit dtypes there',
        )


#: Narrow and wide dtypes of Python scalars, which compute in as many bits as there are.
PYTHON_WIDTHS: dict[type, tuple[str, str]] = {
    bool: ("bool", "bool"),
    int: ("int32", "int64"),
    float: ("float32", "float64"),
    complex: ("complex64", "complex128"),
}


def scalar_array(value: Any) -> np.ndarray:
    """Return a Python scalar as an array for computing among Python scalars."""
    return np.asarray(value, PYTHON_WIDTHS[value.__class__][x64()])


def literal_array(value: Any, dtype: DType) -> np.ndarray:
    """Return a Python scalar as a 0-d array: integers wrap, floats out of range are infinite, as Cast does."""
    target = dtype.numpy
    if dtype.kind in ("int", "uint"):
        return _integer_array(value, dtype)
    if value.__class__ is int and dtype.kind != "bool" and not -(2**63) <= value < 2**63:
        try:
            value = float(value)
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    with np.errstate(all="ignore"):
        if value.__class__ is complex and dtype.kind == "float":
            value = value.real
        return np.asarray(value).astype(target)


def _integer_array(value: Any, dtype: DType) -> np.ndarray:
    if value.__class__ is complex:
        value = value.real
    if value.__class__ is float:
        low, high = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        value = 0 if value != value else int(min(max(value, float(low)), float(high)))
        value = min(max(value, int(low)), int(high))
    unsigned = np.dtype(f"uint{dtype.bits}")
    return np.asarray(int(value) % 2**dtype.bits, unsigned).view(dtype.numpy)
