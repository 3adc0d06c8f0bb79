"""Lowerings of element-wise functions of one operand, and of Cast."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lowering.arrays import x64
from lowering.broadcasting import like
from lowering.emit import PYTHON_WIDTHS, literal_array
from lowering.registry import lower
from tracejit.dtypes import DType

lower("exp")(lax.exp)
lower("log")(lax.log)
lower("tanh")(lax.tanh)
lower("sigmoid")(lax.logistic)
lower("neg")(lax.neg)
lower("invert")(lax.bitwise_not)
lower("stop_gradient")(lax.stop_gradient)


@lower("sqrt")
def sqrt(x: Any) -> Any:
    """Take the root; of integers in float32."""
    return lax.sqrt(x if jnp.issubdtype(x.dtype, jnp.inexact) else lax.convert_element_type(x, jnp.float32))


@lower("abs")
def abs_(x: Any) -> Any:
    """Take the absolute value; bool and unsigned integers are their own."""
    return x if x.dtype == bool or jnp.issubdtype(x.dtype, jnp.unsignedinteger) else lax.abs(x)


@lower("relu")
def relu(x: Any) -> Any:
    """Return the positive part; the gradient at 0 is 0."""
    return jax.nn.relu(x) if jnp.issubdtype(x.dtype, jnp.floating) else lax.max(x, like(x, 0))


_KINDS = {kind.__name__: widths for kind, widths in PYTHON_WIDTHS.items()}


@lower("cast")
def cast(x: Any, dtype: DType | str) -> Any:
    """Convert the values. A kind instead of a dtype makes a Python scalar of another kind, which has no fixed width."""
    if isinstance(dtype, str):
        return lax.convert_element_type(x, _KINDS[dtype][x64()])
    if x.__class__ in (bool, int, float, complex):
        return jnp.asarray(literal_array(x, dtype))
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and dtype.kind != "complex":
        if dtype.kind == "bool":
            return lax.ne(x, like(x, 0))
        x = lax.real(x)
    if x.dtype == bool and dtype.kind in ("float", "complex"):
        # XLA takes a product with a converted bool for a selection, in which false times NaN would be 0.
        x = lax.convert_element_type(x, jnp.uint8)
    return lax.convert_element_type(x, dtype.numpy)
