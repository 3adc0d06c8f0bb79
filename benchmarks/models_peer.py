"""The MLP and the convolutional network trained by real MindSpore 2.10 in graph mode.

Both sides begin with the same weights and see the same batches. The losses of the first 50 steps are compared, then
the time of a step. All weights are float32 here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import harness
from benchmarks.mindspore_peer import ABSENT, PYTHON

sys.path.insert(0, str(harness.ROOT / "examples"))
SERVER = Path(__file__).with_name("mindspore_models.py")
STEPS, RATE, MOMENTUM = 50, 0.01, 0.9
LABELS = {"mlp": "MLP", "convnet": "convolutional network"}
#: How many times as fast as MindSpore's a step has to be, and how far losses may differ, relatively.
BARS, NEAR = {"mlp": 2.0, "convnet": 5.0}, 1e-4


class Ours(NamedTuple):
    """A model of ours: its compiled step, its initial weights, and the batches to train on."""

    step: Any
    weights: dict[str, np.ndarray]
    images: np.ndarray
    labels: np.ndarray

    def losses(self) -> list[float]:
        """Train on all batches."""
        from tracejit import Tensor

        return [self.step(Tensor(x), Tensor(y)).item() for x, y in zip(self.images, self.labels)]


def make(name: str) -> Ours:
    """Make a model and 50 batches of the digits."""
    import convnet
    import mlp

    import tracejit
    from tracejit import nn

    nn.set_seed(0)
    net = {"mlp": mlp.MLP, "convnet": convnet.ConvNet}[name](dtype=tracejit.float32).set_train()
    weights = {key: parameter.asnumpy() for key, parameter in net.parameters_dict().items()}
    pixels, _, labels, _ = mlp.load()
    chosen = np.random.default_rng(0).integers(0, len(pixels), (STEPS, mlp.BATCH))
    images = pixels[chosen] if name == "mlp" else pixels[chosen].reshape(STEPS, mlp.BATCH, 1, 8, 8)
    return Ours(
        mlp.make_step(net, nn.Momentum(net.trainable_params(), RATE, MOMENTUM)), weights, images, labels[chosen]
    )


class Theirs(harness.Side):
    """MindSpore in a process of its own, which trains the same model and times itself."""

    def __init__(self, process: subprocess.Popen[str], losses: list[float]):
        super().__init__(lambda calls: None, lambda result: None)
        self._process, self.losses = process, losses

    def seconds(self, calls: int) -> float:
        """Have one drained batch run; the time of one call in it."""
        return float(ask(self._process, {"calls": calls}))


def ask(process: subprocess.Popen[str], request: dict[str, Any]) -> Any:
    """Send a request; returns the answer."""
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"MindSpore's process ended with code {process.wait()}")
    return json.loads(answer)


@contextmanager
def mindspore(name: str, ours: Ours) -> Iterator[Theirs]:
    """Start MindSpore on the same weights and batches, and end it."""
    command = [PYTHON, SERVER]
    with tempfile.TemporaryDirectory() as folder:
        stored = {f"weight/{key}": value for key, value in ours.weights.items()}
        file = Path(folder) / "model.npz"
        np.savez(file, images=ours.images, labels=ours.labels, **stored)
        request = {"model": name, "file": str(file), "rate": RATE, "momentum": MOMENTUM}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, text=True, **pipes) as process:  # closing its input ends it
            yield Theirs(process, ask(process, request))


def _compare(name: str, quick: bool) -> list[harness.Row]:
    from tracejit import Tensor

    ours = make(name)
    with mindspore(name, ours) as theirs:
        apart = np.abs(np.array(ours.losses()) / np.array(theirs.losses) - 1).max()
        batch = Tensor(ours.images[0]), Tensor(ours.labels[0])
        timings = harness.compare(
            harness.one_by_one(lambda: ours.step(*batch), Tensor.block_until_ready),
            theirs,
            rounds=20 if quick else 100,
            batch_seconds=0.05,
        )
    label = LABELS[name]
    return [
        harness.Row(f"{label}: losses of {STEPS} steps, largest relative difference", float(apart), "<=", NEAR, ""),
        timings.row(f"{label}: training step, times as fast as MindSpore", ">=", BARS[name]),
    ]


def measure(quick: bool) -> list[harness.Row]:
    """Compare both models, or say why not."""
    if not PYTHON.exists():
        return [harness.Row(label, None, note=ABSENT) for label in LABELS.values()]
    return [row for name in LABELS for row in _compare(name, quick)]


if __name__ == "__main__":
    harness.main("models_peer", measure, __doc__)
