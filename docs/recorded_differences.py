"""Where recorded runs of MindSpore differ from tracejit's operators that write Parameters, and by which rule.

`tests/test_scatter.py` and `tests/test_optimizers.py` take the recorded rows that differ from here, and fail for a row
that differs without standing here, and for one that stands here and does not differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Difference(NamedTuple):
    """One difference: the operators, MindSpore's versions, what differs, and the rule that decides."""

    operators: str
    versions: str
    mindspore: str
    tracejit: str
    rule: str


DIFFERENCES = {
    "int64-indices": Difference(
        "Scatter*, ScatterNd*, ScatterNonAliasingAdd, SparseApply*, FusedSparse*",
        "1.1.1, for some 2.10",
        "refuse int64 indices (TypeError)",
        "take int32 and int64 indices",
        "index dtypes are exactly int32 and int64 for every operator",
    ),
    "narrow-indices": Difference(
        "FusedSparseProximalAdagrad",
        "1.1.1, 2.10",
        "takes int16, uint16, uint32 and uint64 indices too",
        "takes int32 and int64 indices",
        "index dtypes are exactly int32 and int64 for every operator",
    ),
    "nd-strides": Difference(
        "ScatterNdUpdate",
        "1.1.1",
        "writes a wrong element where indices hold two or more coordinates",
        "writes the element that the coordinates name",
        "defects of MindSpore's kernels are not copied",
    ),
    "nd-range": Difference(
        "ScatterNdUpdate",
        "1.1.1",
        "ignores an index out of range, or ends the process",
        "raises IndexBoundsError",
        "a bad index raises in eager calls",
    ),
    "zero-divisor": Difference(
        "ScatterDiv",
        "2.10",
        "refuses updates that contain 0 (ValueError)",
        "divides: floats follow IEEE, integers give their greatest or least value, or 0",
        "integer division by zero is defined, ScatterDiv's too; floats IEEE",
    ),
    "nesterov": Difference(
        "ApplyMomentum",
        "1.1.1, 2.10 on the CPU",
        "ignores use_nesterov and gradient_scale",
        "follows both",
        "defects of MindSpore's kernels are not copied",
    ),
    "power-of-one": Difference(
        "ApplyAdaMax, FusedSparseAdam, FusedSparseLazyAdam",
        "1.1.1, 2.10",
        "refuse beta1_power = 1 (RuntimeError)",
        "give what IEEE arithmetic gives",
        "beta1_power = 1 and the like are no error",
    ),
    "half-rate": Difference(
        "ApplyMomentum",
        "1.1.1 in graph mode",
        "fails for a float16 learning_rate with a float32 variable",
        "converts it",
        "a scalar with a group of its own is converted to the variable's dtype",
    ),
    "epsilon-inside": Difference(
        "SparseApplyAdagradV2",
        "2.10",
        "puts epsilon inside the root",
        "puts epsilon outside the root",
        "epsilon outside the root (r1.1 pages)",
    ),
    "epsilon-is-rate": Difference(
        "SparseApplyAdagradV2",
        "2.0",
        "takes lr for epsilon",
        "takes epsilon",
        "defects of MindSpore's kernels are not copied",
    ),
    "stale-rows": Difference(
        "FusedSparseAdam",
        "1.1.1, 2.10",
        "with use_nesterov, applies stale memory to rows that no index names",
        "moves them as a gradient of 0 does",
        "with Nesterov's rule rows not named have the gradient 0",
    ),
    "fused-results": Difference(
        "FusedSparse*",
        "1.1.1, 2.10",
        "return tensors without information",
        "return the updated Parameters",
        "FusedSparse* return the updated Parameters",
    ),
    "one-element-scalars": Difference(
        "ApplyProximalAdagrad, ApplyProximalGradientDescent, SparseApplyProximalAdagrad",
        "2.10",
        "refuse hyper-parameters of shape (1,) (ValueError)",
        "take hyper-parameters of shape () and (1,), as 1.1.1 does",
        "hyper-parameters are numbers, 0-d tensors or tensors of shape (1,)",
    ),
}


def markdown(differences: Iterable[Difference]) -> str:
    """Write differences as a table."""
    lines = ["| operators | MindSpore | does | tracejit | rule |", "|---|---|---|---|---|"]
    for difference in differences:
        cells = [cell.replace("|", "\\|") for cell in difference]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
