"""Graph -> Graph functions: `promote` writes the implicit conversions, `simplify` removes what has no use."""

from tracejit.passes.promote import promote
from tracejit.passes.simplify import simplify

__all__ = ["promote", "simplify"]
