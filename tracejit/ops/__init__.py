"""MindSpore's operators: as functions (`ops.floor_mod(x, y)`) and as classes (`ops.FloorMod()(x, y)`).

The modules below hold the Op records, a file per family. `tracejit.dispatch` makes the functions and classes from
them and puts them here.
"""

from tracejit.ops import (  # noqa: F401  # imported for the records that they declare
    arithmetic,
    bits,
    comparison,
    creation,
    elementwise,
    linear,
    reductions,
    selection,
    shaping,
    state,
)
from tracejit.ops.record import CLASSES, RECORDS, Op

__all__ = ["CLASSES", "RECORDS", "Op"]
