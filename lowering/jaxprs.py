"""Looking into what JAX traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def primitives(jaxpr: Any) -> Iterator[str]:
    """Yield the names of all primitives of a jaxpr, those of the jaxprs inside included."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for item in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(item, "jaxpr", item)
                if hasattr(inner, "eqns"):
                    yield from primitives(inner)
