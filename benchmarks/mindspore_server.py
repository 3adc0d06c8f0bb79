"""The MindSpore side: runs in MindSpore's own environment, and does on request the work that tracejit does.

A line in is a JSON object, `{"work": "chain", "calls": 4}`; a line out the seconds that one call took. Nothing of
tracejit or JAX is imported, nor anything else that MindSpore's environment lacks.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import Any

import mindspore
import numpy as np


@mindspore.jit
def chain(x: Any, y: Any) -> Any:
    """Run the twenty steps of `workloads.chain`."""
    for _ in range(20):
        x = x * y + 0.25
    return x


@mindspore.jit
def two_operands(x: Any, y: Any) -> Any:
    """Run the two-operand function of `cached_call`."""
    return x * y + x


def _inputs(size: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [mindspore.Tensor(random.uniform(0.5, 1.0, size).astype(np.float32)) for _ in range(2)]


def _seconds(function: Any, arguments: list[Any], calls: int) -> float:
    """Time calls that are awaited one by one, by handing each result to NumPy, which copies nothing here."""
    start = time.perf_counter()
    for _ in range(calls):
        function(*arguments).asnumpy()
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Answer requests until the input ends."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # MindSpore prints notices of its own
        mindspore.set_context(mode=mindspore.GRAPH_MODE)
        work = {"chain": (chain, _inputs(1_000_000)), "two_operands": (two_operands, _inputs(16))}
        for line in sys.stdin:
            request = json.loads(line)
            function, arguments = work[request["work"]]
            print(json.dumps(_seconds(function, arguments, request["calls"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
