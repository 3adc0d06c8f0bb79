"""MindSpore's operators: as functions (`ops.floor_mod(x, y)`) and as classes (`ops.FloorMod()(x, y)`).

The modules below hold the Op records, a file per family. `tracejit.dispatch` makes the functions and classes from
them and puts them here.
"""

from importlib import import_module
from typing import Any

from tracejit.ops import (  # noqa: F401  # imported for the records that they declare
    activations,
    arithmetic,
    bits,
    comparison,
    convolution,
    creation,
    debugging,
    elementwise,
    foreign,
    linear,
    losses,
    making,
    maths,
    moving,
    normalization,
    optimizers,
    pooling,
    products,
    random_numbers,
    reductions,
    scatter,
    selection,
    shaping,
    slicing,
    sorting,
    sparse_optimizers,
    state,
    statistics,
)
from tracejit.ops.record import CLASSES, RECORDS, Op

__all__ = ["CLASSES", "RECORDS", "Op"]
__all__ += [name for table in (RECORDS, CLASSES) for name, op in table.items() if not op.hidden]


def __getattr__(name: str) -> Any:
    """Make the functions and classes when the first of them is asked for."""
    if name in __all__:
        import_module("tracejit.dispatch")
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'tracejit.ops' has no attribute {name!r}")
