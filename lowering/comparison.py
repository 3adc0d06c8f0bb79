"""Lowerings of comparisons and logical operators."""

from __future__ import annotations

from typing import Any

from jax import lax

from lowering.broadcasting import align, like
from lowering.registry import lower

_COMPARISONS = {
    "equal": lax.eq,
    "not_equal": lax.ne,
    "greater": lax.gt,
    "greater_equal": lax.ge,
    "less": lax.lt,
    "less_equal": lax.le,
}


def _comparison(function: Any) -> Any:
    return lambda x, y: function(*align(x, y))


for _name, _function in _COMPARISONS.items():
    lower(_name)(_comparison(_function))


@lower("approximate_equal")
def approximate_equal(x: Any, y: Any, tolerance: float) -> Any:
    """Compare the difference with the tolerance, strictly."""
    difference = lax.abs(lax.sub(x, y))
    return lax.lt(difference, like(difference, tolerance))


def _truth(x: Any) -> Any:
    return x if x.dtype == bool else lax.ne(x, like(x, 0))


@lower("logical_and")
def logical_and(x: Any, y: Any) -> Any:
    """Logical and of truth values."""
    return lax.bitwise_and(*align(_truth(x), _truth(y)))


@lower("logical_or")
def logical_or(x: Any, y: Any) -> Any:
    """Logical or of truth values."""
    return lax.bitwise_or(*align(_truth(x), _truth(y)))


@lower("logical_not")
def logical_not(x: Any) -> Any:
    """Logical not of truth values."""
    return lax.bitwise_not(_truth(x))
