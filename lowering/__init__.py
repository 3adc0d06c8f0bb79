"""tracejit's lowering: the only code that imports JAX.

It takes promoted Graphs (`tracejit.ir`) and knows nothing else of the front: positions, not Parameters. `bind` tells
it the Tensor class once, so that Tensors are pytree nodes for the user's own JAX code.
"""

from lowering import arithmetic, bits, comparison, control, elementwise, structure, transforms  # noqa: F401  # registers the rules
from lowering.arrays import (
    ArrayType,
    copy,
    from_numpy,
    has_failed,
    host_copy,
    is_array,
    is_deleted,
    is_tracer,
    restore,
    to_numpy,
    type_of,
    under_transformation,
    wait,
    wide,
    x64,
)
from lowering.emit import check_x64, emit
from lowering.programs import (
    CompiledProgram,
    Failed,
    FixedProgram,
    Program,
    StatefulProgram,
    abstract_results,
)
from lowering.registry import REGION_RULES, RULES
from lowering.trees import LEAF, bind, compile_time, flatten, flatten_named, map_leaves, map_tensors, unflatten

__all__ = [
    "LEAF",
    "REGION_RULES",
    "RULES",
    "ArrayType",
    "CompiledProgram",
    "Failed",
    "FixedProgram",
    "Program",
    "StatefulProgram",
    "abstract_results",
    "bind",
    "check_x64",
    "compile_time",
    "copy",
    "emit",
    "flatten",
    "flatten_named",
    "from_numpy",
    "has_failed",
    "host_copy",
    "is_array",
    "is_deleted",
    "is_tracer",
    "map_leaves",
    "map_tensors",
    "restore",
    "to_numpy",
    "type_of",
    "under_transformation",
    "unflatten",
    "wait",
    "wide",
    "x64",
]
