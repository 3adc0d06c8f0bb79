"""Lowerings of products of matrices and tensors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from lowering.arithmetic import mul
from lowering.registry import lower
from lowering.structure import matmul

lower("bmm")(matmul)


@lower("dot")
def dot(x: Any, y: Any) -> Any:
    """Sum products over the last axis and the last but one."""
    return jnp.dot(x, y, preferred_element_type=x.dtype)


@lower("outer")
def outer(x: Any, y: Any) -> Any:
    """Multiply each element with each."""
    return mul(x.reshape(-1, 1), y.reshape(1, -1))


@lower("tensor_dot")
def tensor_dot(x: Any, y: Any, axes: Any) -> Any:
    """Sum products over pairs of axes."""
    return jnp.tensordot(x, y, axes, preferred_element_type=x.dtype)


@lower("einsum")
def einsum(*operands: Any, equation: str) -> Any:
    """Sum products as an equation says."""
    return jnp.einsum(equation, *operands, preferred_element_type=operands[0].dtype)
