"""The same work for every side: as a tracejit function, and as an expert would write it for JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

CHAIN_STEPS = 20
CHAIN_SIZE = 1_000_000
PIXELS, CLASSES, IMAGES, RATE = 64, 10, 256, 0.1


def chain(x: Any, y: Any) -> Any:
    """Run twenty steps of a recurrence; with operators alone, so that every framework takes the same function."""
    for _ in range(CHAIN_STEPS):
        x = x * y + 0.25
    return x


def chain_inputs() -> tuple[np.ndarray, np.ndarray]:
    """Make the operands of the chain: a million numbers each, between 0.5 and 1, so that nothing overflows."""
    random = np.random.default_rng(0)
    return tuple(random.uniform(0.5, 1.0, CHAIN_SIZE).astype(np.float32) for _ in range(2))  # type: ignore[return-value]


def straight_line(operations: int, maximum: Callable[..., Any], tanh: Callable[..., Any]) -> Callable[..., Any]:
    """Make a new function of that many operations in a row: no cache can know it."""

    def function(x: Any, y: Any) -> Any:
        for i in range(operations):
            match i % 5:
                case 0:
                    x = x + y
                case 1:
                    x = x * y
                case 2:
                    x = maximum(x, y)
                case 3:
                    x = x - y
                case _:
                    x = tanh(x)
        return x

    return function


def softmax_data() -> tuple[np.ndarray, np.ndarray]:
    """Make a batch of images as float32 and their labels one-hot, with the shapes of scikit-learn's digits."""
    random = np.random.default_rng(0)
    images = random.uniform(0.0, 1.0, (IMAGES, PIXELS)).astype(np.float32)
    labels = np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, IMAGES)]
    return images, labels


def softmax_parameters() -> tuple[np.ndarray, np.ndarray]:
    """Make the first weights and bias."""
    random = np.random.default_rng(1)
    return (0.01 * random.standard_normal((PIXELS, CLASSES))).astype(np.float32), np.zeros(CLASSES, np.float32)


def jax_softmax_step() -> Callable[..., Any]:
    """Write one step of softmax regression by hand: (weights, bias, images, labels) -> (weights, bias, loss)."""
    import jax
    import jax.numpy as jnp

    def step(weights: Any, bias: Any, images: Any, labels: Any) -> Any:
        logits = images @ weights + bias
        shifted = logits - jnp.max(logits, axis=1, keepdims=True)
        exponentials = jnp.exp(shifted)
        total = jnp.sum(exponentials, axis=1, keepdims=True)
        loss = -jnp.sum(labels * (shifted - jnp.log(total))) / IMAGES
        slope = (exponentials / total - labels) / IMAGES
        return weights - RATE * (images.T @ slope), bias - RATE * jnp.sum(slope, axis=0), loss

    return jax.jit(step, donate_argnums=(0, 1))


def tracejit_softmax_step() -> Callable[..., Any]:
    """Write the same step with Parameters: (images, labels) -> loss; it has them in `parameters`."""
    from tracejit import Parameter, Tensor, jit, ops

    first_weights, first_bias = softmax_parameters()
    weights = Parameter(Tensor(first_weights), name="weights")
    bias = Parameter(Tensor(first_bias), name="bias")

    @jit
    def step(images: Tensor, labels: Tensor) -> Tensor:
        logits = ops.matmul(images, weights) + bias
        shifted = logits - ops.reduce_max(logits, 1, keep_dims=True)
        exponentials = ops.exp(shifted)
        total = ops.reduce_sum(exponentials, 1, keep_dims=True)
        loss = -ops.reduce_sum(labels * (shifted - ops.log(total))) / IMAGES
        slope = (exponentials / total - labels) / IMAGES
        ops.assign_sub(weights, RATE * ops.matmul(ops.transpose(images, (1, 0)), slope))
        ops.assign_sub(bias, RATE * ops.reduce_sum(slope, 0))
        return loss

    return step


def device_arrays(arrays: Iterable[np.ndarray]) -> list[Any]:
    """Put NumPy arrays on JAX's device, awaited."""
    import jax

    return jax.block_until_ready([jax.device_put(np.array(array)) for array in arrays])
