"""A multi-layer perceptron on scikit-learn's digits, written as a MindSpore user would.

The first layer's weights are float16 and everything else is float32: the printed step shows where float16 is
converted to float32 by MindSpore's rules, and each gradient comes back in the dtype of its Parameter.

    python examples/mlp.py [--epochs N] [--plot loss.svg]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from plots import save_curve, sparkline
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import tracejit
from tracejit import Tensor, jit, nn, ops, value_and_grad

CLASSES, BATCH = 10, 128


class MLP(nn.Cell):
    """Two hidden layers; dtype is that of the first layer's weights."""

    def __init__(self, dtype: Any = tracejit.float16):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(64, 256, activation="relu", dtype=dtype),
            nn.Dense(256, 128, activation="relu"),
            nn.Dense(128, CLASSES),
        )

    def construct(self, pixels: Tensor) -> Tensor:
        """Return the logits of images with pixels from 0 to 16."""
        return self.layers(pixels / 16.0)


def make_step(net: nn.Cell, optimizer: nn.Optimizer) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the compiled training step: the loss and its gradients, then the optimizer."""

    def loss_of(pixels: Tensor, labels: Tensor) -> Tensor:
        target = ops.one_hot(labels, CLASSES, Tensor(1.0), Tensor(0.0))
        return -(ops.log_softmax(net(pixels)) * target).sum(axis=1).mean()

    loss_and_gradients = value_and_grad(loss_of, None, params=optimizer.parameters)

    @jit
    def step(pixels: Tensor, labels: Tensor) -> Tensor:
        loss, gradients = loss_and_gradients(pixels, labels)
        optimizer(gradients)
        return loss

    return step


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training pixels, test pixels (float32, 0 to 16), training labels, test labels (int32)."""
    digits = load_digits()
    pixels, labels = digits.data.astype(np.float32), digits.target.astype(np.int32)
    return tuple(train_test_split(pixels, labels, test_size=0.25, random_state=0))


def batches(pixels: np.ndarray, labels: np.ndarray, epochs: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield shuffled batches of equal size."""
    random = np.random.default_rng(1)
    for _ in range(epochs):
        order = random.permutation(len(pixels))[: len(pixels) // BATCH * BATCH]
        for chosen in order.reshape(-1, BATCH):
            yield Tensor(pixels[chosen]), Tensor(labels[chosen])


def train(step: Callable[[Tensor, Tensor], Tensor], pixels: np.ndarray, labels: np.ndarray, epochs: int) -> list[float]:
    """Train; returns the loss of each step."""
    losses = []
    with tqdm(batches(pixels, labels, epochs), total=epochs * (len(pixels) // BATCH), unit="step") as progress:
        for batch in progress:
            losses.append(step(*batch))
            if len(losses) % 20 == 0:
                progress.set_postfix(loss=f"{losses[-1].item():.3f}")
    return [loss.item() for loss in losses]


def accuracy(net: nn.Cell, pixels: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that are predicted right."""
    predict = jit(lambda images: net.set_train(False)(images).argmax(axis=1))
    return float(np.mean(predict(Tensor(pixels)).asnumpy() == labels))


def run(
    make: Callable[[], nn.Cell], description: str, epochs: int, rate: float, prepare: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Print the typed step of a network, train it on what `prepare` makes of the digits, test, draw the loss curve."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--plot", type=Path, help="draw the loss curve into this file")
    arguments = parser.parse_args()

    nn.set_seed(0)
    net = make().set_train()
    step = make_step(net, nn.Momentum(net.trainable_params(), learning_rate=rate, momentum=0.9))
    train_pixels, test_pixels, train_labels, test_labels = load()
    train_inputs, test_inputs = prepare(train_pixels), prepare(test_pixels)
    print(step.trace(Tensor(train_inputs[:BATCH]), Tensor(train_labels[:BATCH])))

    losses = train(step, train_inputs, train_labels, arguments.epochs)
    print(f"\nloss {losses[0]:.3f} {sparkline(losses)} {losses[-1]:.3f}")
    print(f"test accuracy {accuracy(net, test_inputs, test_labels):.2%}")
    if arguments.plot:
        save_curve(losses, arguments.plot, description)


def main() -> None:
    """Train the MLP."""
    run(MLP, "A multi-layer perceptron on digits", epochs=40, rate=0.1, prepare=np.asarray)


if __name__ == "__main__":
    main()
