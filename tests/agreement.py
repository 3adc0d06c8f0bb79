"""One program run in every way that there is: eagerly, compiled, compiled again, and inside `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from tracejit import Parameter, Tensor, jit
from tracejit.parser import parse_graph

#: How far floats of two ways may lie apart: XLA rounds as it fuses.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}


def tensor(values: Any, dtype: str = "f4") -> Tensor:
    """Make a Tensor of a NumPy dtype."""
    return Tensor(np.array(values, dtype))


def leaves(tree: Any) -> list[np.ndarray]:
    """Return the values in a tree of Tensors, Parameters, arrays and numbers."""
    found = jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, Tensor))
    return [leaf.asnumpy() if isinstance(leaf, Tensor) else np.asarray(leaf) for leaf in found]


def same(mine: Any, other: Any) -> None:
    """Check that two trees hold the same dtypes, shapes and values: floats up to rounding, all else exactly."""
    left, right = leaves(mine), leaves(other)
    assert len(left) == len(right)
    for a, b in zip(left, right):
        assert a.dtype == b.dtype and a.shape == b.shape
        near = TOLERANCE.get(a.dtype.name, 1e-10 if a.dtype.kind in "fc" else 0)
        if near:
            wide = "c16" if a.dtype.kind == "c" else "f8"
            np.testing.assert_allclose(a.astype(wide), b.astype(wide), near, near)
        else:
            np.testing.assert_array_equal(a, b)


def set_all(parameters: Sequence[Parameter], values: Sequence[np.ndarray]) -> None:
    """Put values into Parameters."""
    for parameter, value in zip(parameters, values):
        parameter.set_data(Tensor(value))


def agree(
    function: Callable[..., Any], *args: Any, params: Sequence[Parameter] = (), want: Any = None, under_jax: bool = True
) -> Any:
    """Run a function in every way, check that all agree in results and Parameters, and that its Graphs parse back.

    Returns what the eager run gave; the Parameters are as they were before.
    """
    before = leaves(params)
    result = function(*args)
    after = leaves(params)
    if want is not None:
        np.testing.assert_allclose(leaves(result)[0], want, rtol=1e-4, atol=1e-5)
    compiled = jit(function)
    for _ in range(2):
        set_all(params, before)
        same(result, compiled(*args))
        same(after, leaves(params))
    set_all(params, before)
    traced = compiled.trace(*args)
    for graph in (traced.graph, traced.promoted, traced.simplified):
        assert parse_graph(str(graph)) == graph
    if under_jax and not traced.simplified.written and not any(isinstance(arg, Parameter) for arg in args):
        arrays = [arg.value() if isinstance(arg, Tensor) else arg for arg in args]
        with jax.enable_x64(True):
            same(result, jax.jit(compiled)(*arrays))
    return result
