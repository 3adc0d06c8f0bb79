"""The MindSpore side: runs in MindSpore's own environment, and does on request the work that tracejit does.

A line in is a JSON object, `{"work": "chain", "calls": 4}`; a line out the seconds that one call took, or a text that
says why there is none. `{"work": {"class": "ApplyMomentum", ...}, ...}` describes an operator that writes Parameters.
Nothing of tracejit or JAX is imported, nor anything else that MindSpore's environment lacks.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np
from batches import NAMED, index_batches, signs
from mindspore import nn, ops


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


class Operator(nn.Cell):
    """One operator on Parameters of its own, and what goes to it beside them: before the batch, and after it."""

    def __init__(self, described: dict[str, Any]):
        super().__init__()
        self.operator = getattr(ops, described["class"])(**described["attributes"])
        ones = np.ones(described["shape"], np.float32)
        names = described["state"]
        self.state = mindspore.ParameterTuple([mindspore.Parameter(mindspore.Tensor(ones), name=n) for n in names])
        self.before, self.after = tuple(described["before"]), tuple(described["after"])

    def construct(self, tick: Any, *batch: Any) -> Any:
        """Run it, and return a number."""
        self.operator(*self.state, *self.before, *batch, *self.after)
        return tick + 1


class Returning(Operator):
    """The same, returning the operator's results: graph mode copies the tables among them."""

    def construct(self, tick: Any, *batch: Any) -> Any:
        """Run it, and return its result."""
        return self.operator(*self.state, *self.before, *batch, *self.after)


def _operator(described: dict[str, Any]) -> Callable[[], Any]:
    cell = (Returning if described["returns"] else Operator)(described)
    tick, shape = mindspore.Tensor(np.float32(0)), described["shape"]
    batches = [[mindspore.Tensor(signs(*shape))]]
    if "indices" in described["batch"]:
        given = mindspore.Tensor(signs(NAMED, *shape[1:]))
        depth = [-1, 1] if described["coordinates"] else [-1]
        indices = [mindspore.Tensor(rows.reshape(depth)) for rows in index_batches(shape[0])]
        batches = [[i, given] if described["batch"][0] == "indices" else [given, i] for i in indices]
    turn = itertools.cycle(batches)

    def run() -> Any:
        result = cell(tick, *next(turn))
        return result[0] if isinstance(result, tuple) else result

    return run


def _call(work: Any) -> Callable[[], Any]:
    if not isinstance(work, str):
        return _operator(work)
    function, size = {"chain": (chain, 1_000_000), "two_operands": (two_operands, 16)}[work]
    arguments = _inputs(size)
    return lambda: function(*arguments)


def _seconds(call: Callable[[], Any], calls: int) -> float:
    """Time calls that are awaited one by one, by handing each result to NumPy, which copies nothing here."""
    start = time.perf_counter()
    for _ in range(calls):
        call().asnumpy()
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Answer requests until the input ends; each piece of work is made when it is first asked for."""
    answers, made = sys.stdout, {}
    with contextlib.redirect_stdout(sys.stderr):  # MindSpore prints notices of its own
        mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")
        for line in sys.stdin:
            request = json.loads(line)
            key = json.dumps(request["work"])
            try:
                if key not in made:
                    made[key] = _call(request["work"])
                answer = _seconds(made[key], request["calls"])
            except Exception as error:
                answer = next(
                    filter(None, [line.strip("- :") for line in str(error).splitlines()]), type(error).__name__
                )
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
