"""Operators whose body is a JAX function of the user's; `tracejit.from_jax` makes the calls."""

from __future__ import annotations

from tracejit.ops import checks
from tracejit.ops.record import Attribute, op

_FUNCTION = (Attribute("function", checks.anything),)
jax_call = op(
    "JaxCall", "*inputs:-", doc="Call a JAX function, which the attribute names.", attributes=_FUNCTION, hidden=True
)
jax_callback = op(
    "JaxCallback",
    "*inputs:-",
    doc="Call a JAX function that calls Python code when it runs.",
    attributes=_FUNCTION,
    hidden=True,
    effect=True,
)
