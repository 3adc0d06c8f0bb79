"""Graph -> Graph functions: `promote` writes the implicit conversions, `simplify` removes what has no use."""

from tracejit.passes.promotion import promote
from tracejit.passes.simplification import simplify
from tracejit.passes.verification import verify

__all__ = ["promote", "simplify", "verify"]
