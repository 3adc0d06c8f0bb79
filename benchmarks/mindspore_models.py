"""The MindSpore side of `models_peer`: runs in MindSpore's own environment, and trains the example models on request.

The first line in names a file with the initial weights and the batches; the line out lists the losses of the steps.
After that a line in is a JSON object, `{"calls": 4}`, and a line out the seconds that one step took. Nothing of
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
from mindspore import nn


class MLP(nn.Cell):
    """The network of `examples/mlp.py`."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(64, 256, activation="relu"), nn.Dense(256, 128, activation="relu"), nn.Dense(128, 10)
        )

    def construct(self, pixels: Any) -> Any:
        """Return the logits."""
        return self.layers(pixels / 16.0)


class ConvNet(nn.Cell):
    """The network of `examples/convnet.py`."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2, 2), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.SequentialCell(nn.Dense(512, 64, activation="relu"), nn.Dense(64, 10))

    def construct(self, images: Any) -> Any:
        """Return the logits."""
        return self.head(self.features(images / 16.0))


def _step(name: str, weights: dict[str, np.ndarray], rate: float, momentum: float) -> Any:
    net = {"mlp": MLP, "convnet": ConvNet}[name]()
    for parameter_name, parameter in net.parameters_dict().items():
        parameter.set_data(mindspore.Tensor(weights[parameter_name]))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), rate, momentum)
    return nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()


def _seconds(step: Any, batch: list[Any], calls: int) -> float:
    """Time steps that are awaited one by one, by handing each loss to NumPy."""
    start = time.perf_counter()
    for _ in range(calls):
        step(*batch).asnumpy()
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Answer requests until the input ends."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # MindSpore prints notices of its own
        mindspore.set_context(mode=mindspore.GRAPH_MODE)
        request = json.loads(sys.stdin.readline())
        stored = np.load(request["file"])
        weights = {key.removeprefix("weight/"): stored[key] for key in stored.files if key.startswith("weight/")}
        step = _step(request["model"], weights, request["rate"], request["momentum"])
        pairs = zip(stored["images"], stored["labels"])
        batches = [[mindspore.Tensor(images), mindspore.Tensor(labels)] for images, labels in pairs]
        losses = [float(step(*batch).asnumpy()) for batch in batches]
        print(json.dumps(losses), file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(_seconds(step, batches[0], json.loads(line)["calls"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
