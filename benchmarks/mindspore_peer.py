"""The chain, the two-operand call and the operators that write Parameters against MindSpore 2.10's graph mode.

Graph mode returns tables by copying them, whether or not anybody looks at the copy. An operator is compared with the
operator alone, in a graph that returns a number; the two with a bar also with the graph that returns their results, as
MindSpore's documentation calls them. tracejit's step writes the Parameters, from which each call's new values are
read without a copy. Both sides await each call.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.batches import NAMED, ROWS, WIDTH, index_batches, signs
from benchmarks.optimizers import GRADIENTS, SIZE, parameters, record, step
from benchmarks.workloads import chain, chain_inputs

PYTHON = harness.ROOT / ".venv-mindspore" / "bin" / "python"
SERVER = Path(__file__).with_name("mindspore_server.py")
LABELS = {
    "chain": "20-step chain on 1M float32: times as fast as MindSpore",
    "two_operands": "two-operand call: times as fast as MindSpore",
}
BARS = {"chain": 15.0, "two_operands": None}
ABSENT = "MindSpore's environment is not there: make bench-peers makes it"


class PeerError(RuntimeError):
    """MindSpore cannot do the work."""


class Peer:
    """MindSpore in a process of its own, which times itself."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def side(self, work: Any) -> harness.Side:
        """Give its side of a piece of work; the time is what it measured, without the way there and back."""
        return _Remote(self, work)

    def seconds(self, work: Any, calls: int) -> float:
        """Have one drained batch run; the time of one call in it."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"work": work, "calls": calls}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise PeerError(f"its process ended with code {self._process.wait()}")
        result = json.loads(answer)
        if isinstance(result, str):
            raise PeerError(result)
        return result


class _Remote(harness.Side):
    """A side that another process runs and times."""

    def __init__(self, peer: Peer, work: Any):
        super().__init__(lambda calls: None, lambda result: None)
        self._peer, self._work = peer, work

    def seconds(self, calls: int) -> float:
        return self._peer.seconds(self._work, calls)


@contextmanager
def mindspore() -> Iterator[Peer]:
    """Start MindSpore, and end it."""
    process = subprocess.Popen(
        [PYTHON, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:  # closing its input ends it
        yield Peer(process)


def _our_side(work: str) -> harness.Side:
    from tracejit import Tensor, jit

    def two_operands(x: Any, y: Any) -> Any:
        return x * y + x

    if work == "chain":
        function, inputs = jit(chain), chain_inputs()
    else:
        function, inputs = jit(two_operands), (np.linspace(1, 2, 16, dtype=np.float32),) * 2
    x, y = map(Tensor, inputs)

    return harness.one_by_one(lambda: function(x, y), Tensor.block_until_ready)


# Operators that write Parameters

_HYPER = {
    "learning_rate": 0.01, "lr": 0.01, "alpha": 0.01, "momentum": 0.9, "beta1_power": 0.9, "beta2_power": 0.999,
    "beta1": 0.9, "beta2": 0.999, "beta": 0.9, "rho": 0.95, "epsilon": 1e-6, "logbase": 1.0, "sign_decay": 0.9,
    "l1": 0.001, "l2": 0.001, "l2_shrinkage": 0.001, "lr_power": -0.5,
}  # fmt: skip
#: How many times as fast as MindSpore, where it returns the operator's results.
_BARS = {"FusedSparseLazyAdam": 15.0, "ApplyMomentum": 2.5}


def operators() -> list[str]:
    """Name the operators that write Parameters: those that scatter, and the optimizers."""
    from tracejit.ops import RECORDS

    named = [op.class_name for op in RECORDS.values() if op.writes and not op.hidden]
    return [name for name in named if name.startswith(("Scatter", "Apply", "Sparse", "FusedSparse"))]


def described(name: str) -> dict[str, Any]:
    """Describe an operator for the server: its state, and the operands before the batch, in it and after it."""
    op = record(name)
    state = [op.operands[i].name for i in op.writes]
    rest = [operand.name for operand in op.operands[len(state) :]]
    batch = [operand for operand in rest if operand == "indices" or operand in GRADIENTS]
    first = rest.index(batch[0])
    return {
        "class": name,
        "attributes": {a.name: _HYPER[a.name] for a in op.attributes if a.name in _HYPER},
        "shape": [ROWS, WIDTH] if "indices" in batch else [SIZE],
        "state": state,
        "before": [_HYPER[operand] for operand in rest[:first]],
        "batch": batch,
        "after": [_HYPER[operand] for operand in rest[first + len(batch) :]],
        "coordinates": name.startswith("ScatterN"),
        "returns": False,
    }


def _our_operator(name: str) -> harness.Side:
    from tracejit import Tensor

    work = described(name)
    known = {operand.name: _HYPER[operand.name] for operand in record(name).operands if operand.name in _HYPER}
    state, shape = parameters(name, work["shape"]), work["shape"]
    run = step(name, state, known | work["attributes"])
    batches: list[list[Any]] = [[Tensor(signs(*shape))]]
    if "indices" in work["batch"]:
        given, depth = Tensor(signs(NAMED, *shape[1:])), (-1, 1) if work["coordinates"] else (-1,)
        batches = [[Tensor(rows.reshape(depth)), given] for rows in index_batches()]
    turn = itertools.cycle(batches)

    def one() -> Any:
        run(*next(turn))
        return state[0]

    return harness.one_by_one(one, lambda parameter: parameter.block_until_ready())


def _operator_rows(name: str, quick: bool) -> Iterator[harness.Row]:
    shape = described(name)["shape"]
    label = f"{name} {'on 10M' if len(shape) == 1 else 'into 1M × 64'}: times as fast as MindSpore"
    ours = _our_operator(name)
    for returns in (True, False) if name in _BARS else (False,):
        where = f"{label}{', which returns its results' if returns else ''}"
        try:
            with mindspore() as peer:
                work = described(name) | {"returns": returns}
                timings = harness.compare(ours, peer.side(work), rounds=10 if quick else 40, batch_seconds=0.05)
        except PeerError as error:
            yield harness.Row(where, None, note=f"MindSpore does not run it on the CPU: {error}")
        else:
            note = "MindSpore's graph copies the tables that it returns" if returns else ""
            yield timings.row(where, ">=", _BARS[name] if returns else None, note)


def measure(quick: bool) -> list[harness.Row]:
    """Measure in alternating rounds, or say why not."""
    if not PYTHON.exists():
        labels = [*LABELS.values(), *operators()]
        return [harness.Row(label, None, note=ABSENT) for label in labels]
    rows = []
    for work, label in LABELS.items():
        with mindspore() as peer:
            timings = harness.compare(_our_side(work), peer.side(work), rounds=20 if quick else 100, batch_seconds=0.05)
        rows.append(timings.row(label, ">=", BARS[work]))
    return [*rows, *itertools.chain.from_iterable(_operator_rows(name, quick) for name in operators())]


if __name__ == "__main__":
    harness.main("mindspore_peer", measure, __doc__)
