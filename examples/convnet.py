"""A small convolutional network on scikit-learn's digits: 1,797 real 8x8 images of hand-written digits.

Batch normalization keeps running statistics in Parameters, which the step writes inside the gradient; the images are
uint8, and the convolution's input is converted by MindSpore's rules.

    python examples/convnet.py [--epochs N] [--plot loss.svg]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from mlp import BATCH, CLASSES, accuracy, load, make_step, train
from plots import save_curve, sparkline

import tracejit
from tracejit import Tensor, nn


class ConvNet(nn.Cell):
    """Two convolutions with batch normalization, then two dense layers; dtype is that of the last one's weights."""

    def __init__(self, dtype: Any = tracejit.float16):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2, 2), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.SequentialCell(nn.Dense(512, 64, activation="relu"), nn.Dense(64, CLASSES, dtype=dtype))

    def construct(self, images: Tensor) -> Tensor:
        """Return the logits of images of (batch, 1, 8, 8) with pixels from 0 to 16."""
        return self.head(self.features(images / 16.0))


def as_images(pixels: np.ndarray) -> np.ndarray:
    """Return rows of 64 pixels as uint8 images with one channel."""
    return pixels.astype(np.uint8).reshape(-1, 1, 8, 8)


def main() -> None:
    """Print the typed step, train, test, draw the loss curve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--plot", type=Path, help="draw the loss curve into this file")
    arguments = parser.parse_args()

    nn.set_seed(0)
    net = ConvNet().set_train()
    step = make_step(net, nn.Momentum(net.trainable_params(), learning_rate=0.05, momentum=0.9))
    train_pixels, test_pixels, train_labels, test_labels = load()
    train_images, test_images = as_images(train_pixels), as_images(test_pixels)
    print(step.trace(Tensor(train_images[:BATCH]), Tensor(train_labels[:BATCH])))

    losses = train(step, train_images, train_labels, arguments.epochs)
    print(f"\nloss {losses[0]:.3f} {sparkline(losses)} {losses[-1]:.3f}")
    print(f"test accuracy {accuracy(net, test_images, test_labels):.2%}")
    if arguments.plot:
        save_curve(losses, arguments.plot, "convolutional network on digits")


if __name__ == "__main__":
    main()
