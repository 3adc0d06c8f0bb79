"""Softmax regression with one hidden layer on scikit-learn's digits: 1,797 real 8x8 images of hand-written digits.

The pixels are uint8, the labels int64, the Parameters float32 and the learning rate a Python float, so that real
implicit conversions happen; the printed Graph of the training step shows each of them with its rule and its line.

    python examples/digits.py [--epochs N]
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import tracejit
from tracejit import Parameter, Tensor, jit, ops

PIXELS, HIDDEN, CLASSES, BATCH = 64, 64, 10, 128


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training pixels, test pixels (uint8, 0 to 16), training labels, test labels (int64)."""
    digits = load_digits()
    return train_test_split(
        digits.data.astype(np.uint8), digits.target.astype(np.int64), test_size=0.25, random_state=0
    )


def initial_weights(seed: int = 0) -> dict[str, np.ndarray]:
    """Return the network's weights as float32 arrays."""
    random = np.random.default_rng(seed)
    return {
        "hidden.weight": random.normal(0, 0.1, (PIXELS, HIDDEN)).astype(np.float32),
        "hidden.bias": np.zeros(HIDDEN, np.float32),
        "output.weight": random.normal(0, 0.1, (HIDDEN, CLASSES)).astype(np.float32),
        "output.bias": np.zeros(CLASSES, np.float32),
    }


w1, b1, w2, b2 = (Parameter(value, name=name) for name, value in initial_weights().items())


def forward(pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return scaled pixels, hidden activations and logits."""
    x = pixels / 16.0
    hidden = ops.relu(x @ w1 + b1)
    return x, hidden, hidden @ w2 + b2


@jit
def step(pixels: Tensor, labels: Tensor, rate: float) -> Tensor:
    """Take one step of gradient descent on the cross-entropy; returns the loss before it."""
    x, hidden, logits = forward(pixels)
    exps = ops.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exps / exps.sum(axis=1, keepdims=True)
    target = ops.one_hot(labels, CLASSES, Tensor(1.0), Tensor(0.0))
    loss = -(target * ops.log(probabilities + 1e-9)).sum(axis=1).mean()

    d_logits = (probabilities - target) / pixels.shape[0]
    d_hidden = (d_logits @ w2.T) * (hidden > 0)
    ops.assign_sub(w2, rate * (hidden.T @ d_logits))
    ops.assign_sub(b2, rate * d_logits.sum(axis=0))
    ops.assign_sub(w1, rate * (x.T @ d_hidden))
    ops.assign_sub(b1, rate * d_hidden.sum(axis=0))
    return loss


@jit
def predict(pixels: Tensor) -> Tensor:
    """Return the most likely digit of each image."""
    return forward(pixels)[2].argmax(axis=1)


@functools.partial(jax.jit, donate_argnums=0)
def jax_step(weights: list[jax.Array], pixels: jax.Array, labels: jax.Array, rate: float) -> tuple:
    """Take the same step in hand-written JAX, with every conversion spelled out."""
    w1, b1, w2, b2 = weights
    rate = jnp.float32(rate)
    x = pixels.astype(jnp.float32) / 16.0
    hidden = jax.nn.relu(x @ w1 + b1)
    logits = hidden @ w2 + b2
    exps = jnp.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exps / exps.sum(axis=1, keepdims=True)
    target = jax.nn.one_hot(labels, CLASSES, dtype=jnp.float32)
    loss = -(target * jnp.log(probabilities + 1e-9)).sum(axis=1).mean()
    d_logits = (probabilities - target) / pixels.shape[0]
    d_hidden = (d_logits @ w2.T) * (hidden > 0).astype(jnp.float32)
    gradients = [x.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_logits, d_logits.sum(axis=0)]
    return [weight - rate * gradient for weight, gradient in zip(weights, gradients, strict=True)], loss


def train(pixels: np.ndarray, labels: np.ndarray, epochs: int) -> list[float]:
    """Train for some epochs; returns the loss of each step."""
    random = np.random.default_rng(1)
    losses = []
    with tqdm(range(epochs), desc="training", unit="epoch") as progress:
        for epoch in progress:
            order = random.permutation(len(pixels))[: len(pixels) // BATCH * BATCH].reshape(-1, BATCH)
            rate = 0.5 / (1 + 0.05 * epoch)
            losses += [step(Tensor(pixels[batch]), Tensor(labels[batch]), rate) for batch in order]
            progress.set_postfix(loss=f"{losses[-1].item():.3f}")
    return [loss.item() for loss in losses]


def accuracy(pixels: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that are predicted right."""
    return float(np.mean(predict(Tensor(pixels)).asnumpy() == labels))


def compare_speed(
    pixels: np.ndarray, labels: np.ndarray, rounds: int = 40, calls: int = 50
) -> tuple[float, float, float]:
    """Return microseconds per step of tracejit and of hand-written JAX, and the median ratio, taken in turns."""
    images, targets = Tensor(pixels[:BATCH]), Tensor(labels[:BATCH])
    with jax.enable_x64(True):
        arrays = jnp.asarray(pixels[:BATCH]), jnp.asarray(labels[:BATCH])
    weights = [jnp.asarray(value) for value in initial_weights().values()]

    def ours() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            loss = step(images, targets, 0.0)
        loss.block_until_ready()
        w1.block_until_ready()
        return (time.perf_counter() - start) / calls

    def theirs() -> float:
        nonlocal weights
        start = time.perf_counter()
        for _ in range(calls):
            weights, loss = jax_step(weights, *arrays, 0.0)
        jax.block_until_ready((weights, loss))
        return (time.perf_counter() - start) / calls

    ours(), theirs()
    times = [(ours(), theirs()) if turn % 2 else (theirs(), ours())[::-1] for turn in range(rounds)]
    mine, hand = (statistics.median(side) * 1e6 for side in zip(*times, strict=True))
    return mine, hand, statistics.median(a / b for a, b in times)


def main() -> None:
    """Print the typed Graph of the step, train, test, and compare the speed with hand-written JAX."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--epochs", type=int, default=40)
    epochs = arguments.parse_args().epochs
    train_pixels, test_pixels, train_labels, test_labels = load()

    traced = step.trace(Tensor(train_pixels[:BATCH]), Tensor(train_labels[:BATCH]), 0.5)
    print("The training step with its implicit conversions written out:\n")
    print(traced)
    print()

    losses = train(train_pixels, train_labels, epochs)
    print(f"\nloss {losses[0]:.3f} -> {losses[-1]:.3f} in {len(losses)} steps, {step.cache_info().traces} trace")
    print(f"test accuracy {accuracy(test_pixels, test_labels):.2%}")

    mine, hand, ratio = compare_speed(train_pixels, train_labels)
    print(f"step time {mine:.0f} us; hand-written jax.jit {hand:.0f} us; ratio {ratio:.3f} (median, taken in turns)")
    print(f"tracejit {tracejit.__version__} on JAX {jax.__version__}, {jax.devices()[0].platform}")


if __name__ == "__main__":
    main()
