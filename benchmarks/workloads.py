"""The same work for every side: as a tracejit function, and as an expert would write it for JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

CHAIN_STEPS = 20
CHAIN_SIZE = 1_000_000
PIXELS, HIDDEN, CLASSES, IMAGES, RATE = 64, 128, 10, 1024, 0.1


def chain(x: Any, y: Any) -> Any:
    """Run twenty steps of a recurrence; with operators alone, so that every framework takes the same function."""
    for _ in range(CHAIN_STEPS):
        x = x * y + 0.25
    return x


def chain_inputs() -> tuple[np.ndarray, np.ndarray]:
    """Make the operands of the chain: a million numbers each, between 0.5 and 1, so that nothing overflows."""
    random = np.random.default_rng(0)
    return tuple(random.uniform(0.5, 1.0, CHAIN_SIZE).astype(np.float32) for _ in range(2))  # type: ignore[return-value]


def straight_line(operations: int, tanh: Callable[..., Any]) -> Callable[..., Any]:
    """Make a new function of that many operations in a row, which mean the same everywhere: no cache can know it."""

    def function(x: Any, y: Any) -> Any:
        for i in range(operations):
            match i % 5:
                case 0:
                    x = x + y
                case 1:
                    x = x * y
                case 2:
                    x = -x
                case 3:
                    x = x - y
                case _:
                    x = tanh(x)
        return x

    return function


def images_and_labels() -> list[np.ndarray]:
    """Make a batch of images as float32 and their labels one-hot, of the shapes of scikit-learn's digits."""
    random = np.random.default_rng(0)
    images = random.uniform(0.0, 1.0, (IMAGES, PIXELS)).astype(np.float32)
    return [images, np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, IMAGES)]]


def first_weights() -> list[np.ndarray]:
    """Make the weights and biases of two layers."""
    random = np.random.default_rng(1)
    layers = ((PIXELS, HIDDEN), (HIDDEN, CLASSES))
    pairs = [(0.1 * random.standard_normal(shape), np.zeros(shape[1])) for shape in layers]
    return [array.astype(np.float32) for pair in pairs for array in pair]


def jax_step() -> Callable[..., Any]:
    """Write a step of a two-layer network by hand: (list of four arrays, images, labels) -> (new list, loss)."""
    import jax
    import jax.numpy as jnp

    def step(state: list[Any], images: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = state
        hidden = jnp.tanh(images @ w1 + b1)
        logits = hidden @ w2 + b2
        shifted = logits - jnp.max(logits, axis=1, keepdims=True)
        exponentials = jnp.exp(shifted)
        total = jnp.sum(exponentials, axis=1, keepdims=True)
        loss = -jnp.sum(labels * (shifted - jnp.log(total))) / IMAGES
        slope2 = (exponentials / total - labels) / IMAGES
        slope1 = (slope2 @ w2.T) * (1.0 - hidden * hidden)
        w1 = w1 - RATE * (images.T @ slope1)
        b1 = b1 - RATE * jnp.sum(slope1, axis=0)
        w2 = w2 - RATE * (hidden.T @ slope2)
        b2 = b2 - RATE * jnp.sum(slope2, axis=0)
        return [w1, b1, w2, b2], loss

    return jax.jit(step, donate_argnums=0)


def tracejit_step() -> Callable[..., Any]:
    """Write the same step with four Parameters: (images, labels) -> loss."""
    from tracejit import Parameter, Tensor, jit, ops

    names = ("w1", "b1", "w2", "b2")
    w1, b1, w2, b2 = (Parameter(Tensor(array), name=name) for array, name in zip(first_weights(), names, strict=True))

    @jit
    def step(images: Tensor, labels: Tensor) -> Tensor:
        hidden = ops.tanh(images @ w1 + b1)
        logits = hidden @ w2 + b2
        shifted = logits - ops.reduce_max(logits, 1, keep_dims=True)
        exponentials = ops.exp(shifted)
        total = ops.reduce_sum(exponentials, 1, keep_dims=True)
        loss = -ops.reduce_sum(labels * (shifted - ops.log(total))) / IMAGES
        slope2 = (exponentials / total - labels) / IMAGES
        slope1 = (slope2 @ ops.transpose(w2, (1, 0))) * (1.0 - hidden * hidden)
        ops.assign_sub(w1, RATE * (ops.transpose(images, (1, 0)) @ slope1))
        ops.assign_sub(b1, RATE * ops.reduce_sum(slope1, 0))
        ops.assign_sub(w2, RATE * (ops.transpose(hidden, (1, 0)) @ slope2))
        ops.assign_sub(b2, RATE * ops.reduce_sum(slope2, 0))
        return loss

    return step


def device_arrays(arrays: Iterable[np.ndarray]) -> list[Any]:
    """Copy NumPy arrays to JAX's device, and await them; `jax.device_put` might only alias their memory."""
    import jax
    import jax.numpy as jnp

    return jax.block_until_ready([jnp.array(array) for array in arrays])
