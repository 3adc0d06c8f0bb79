"""A small convolutional network on scikit-learn's digits: 1,797 real 8x8 images of hand-written digits.

Batch normalization keeps running statistics in Parameters, which the step writes inside the gradient; the images are
uint8, and the convolution's input is converted by MindSpore's rules.

    python examples/convnet.py [--epochs N] [--plot loss.svg]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mlp import CLASSES, run

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
    """Train the network."""
    run(ConvNet, "A convolutional network on digits", epochs=15, rate=0.05, prepare=as_images)


if __name__ == "__main__":
    main()
