"""Computing a Graph at once, operator by operator, for somebody who wants to see the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.arrays import x64_scope
from lowering.emit import emit
from tracejit.ir import Graph


def evaluate(graph: Graph, inputs: Sequence[Any], state: Sequence[Any]) -> list[np.ndarray]:
    """Return the values of a promoted Graph's outputs; nothing is compiled as a whole, written or donated."""
    with x64_scope():
        outputs, _ = emit(graph, inputs, state)
        return [np.asarray(output) for output in outputs]
