"""The chain and the two-operand call against real MindSpore 2.10 in graph mode, on the CPU."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.workloads import chain, chain_inputs

PYTHON = harness.ROOT / ".venv-mindspore" / "bin" / "python"
SERVER = Path(__file__).with_name("mindspore_server.py")
LABELS = {
    "chain": "20-step chain on 1M float32: times as fast as MindSpore",
    "two_operands": "two-operand call: times as fast as MindSpore",
}
BARS = {"chain": 15.0, "two_operands": None}
ABSENT = "MindSpore's environment is not there: make bench-peers makes it"


class Peer:
    """MindSpore in a process of its own, which times itself."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def side(self, work: str) -> harness.Side:
        """Give its side of a piece of work; the time is what it measured, without the way there and back."""
        return _Remote(self, work)

    def seconds(self, work: str, calls: int) -> float:
        """Have one drained batch run; the time of one call in it."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"work": work, "calls": calls}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"MindSpore's process ended with code {self._process.wait()}")
        return float(answer)


class _Remote(harness.Side):
    """A side that another process runs and times."""

    def __init__(self, peer: Peer, work: str):
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


def measure(quick: bool) -> list[harness.Row]:
    """Measure in alternating rounds, or say why not."""
    if not PYTHON.exists():
        return [harness.Row(LABELS[work], None, ">=", BARS[work], note=ABSENT) for work in LABELS]
    rows = []
    for work, label in LABELS.items():
        with mindspore() as peer:
            timings = harness.compare(_our_side(work), peer.side(work), rounds=20 if quick else 100, batch_seconds=0.05)
        rows.append(timings.row(label, ">=", BARS[work]))
    return rows


if __name__ == "__main__":
    harness.main("mindspore_peer", measure, __doc__)
