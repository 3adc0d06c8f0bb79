"""The training steps of the example models, as an expert would write them for JAX, with every conversion spelled out.

Weights are dictionaries by the names that the examples' Parameters have; they and the optimizer's state are donated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Weights = dict[str, jax.Array]


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean loss of class indices."""
    hot = labels[..., None] == jnp.arange(logits.shape[-1], dtype=labels.dtype)
    target = jnp.where(hot, jnp.float32(1.0), jnp.float32(0.0))
    return -(jax.nn.log_softmax(logits) * target).sum(-1).mean()


def momentum_step(loss: Callable[..., Any], momentum: float) -> Callable[..., Any]:
    """Make the step of a model under gradient descent with momentum; the loss returns (value, changed statistics)."""

    def step(weights: Weights, statistics: Weights, moments: Weights, rate: jax.Array, *batch: jax.Array) -> Any:
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(weights, statistics, *batch)
        moments = {name: moments[name] * _as(momentum, w) + gradients[name] for name, w in weights.items()}
        weights = {name: w - moments[name] * rate.astype(w.dtype) for name, w in weights.items()}
        return weights, statistics, moments, value

    return jax.jit(step, donate_argnums=(0, 1, 2))


def _as(number: float, like: jax.Array) -> jax.Array:
    return jnp.asarray(number, like.dtype)


def mlp_loss(weights: Weights, statistics: Weights, pixels: jax.Array, labels: jax.Array) -> tuple[jax.Array, Weights]:
    """Return the loss of `examples/mlp.py`."""
    x = pixels / 16.0
    for number in range(3):
        weight, bias = (weights[f"layers.{number}.{name}"].astype(jnp.float32) for name in ("weight", "bias"))
        x = x @ weight.T + bias
        x = jax.nn.relu(x) if number < 2 else x
    return cross_entropy(x, labels), statistics


def _convolved(x: jax.Array, weight: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def _normalized(x: jax.Array, weights: Weights, statistics: Weights, name: str) -> tuple[jax.Array, Weights]:
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    count = x.size // x.shape[1]
    scale, shift = (weights[f"{name}.{part}"][:, None, None] for part in ("gamma", "beta"))
    result = (x - mean[:, None, None]) * jax.lax.rsqrt(variance[:, None, None] + 1e-5) * scale + shift
    new = {
        f"{name}.moving_mean": 0.9 * statistics[f"{name}.moving_mean"] + 0.1 * mean,
        f"{name}.moving_variance": 0.9 * statistics[f"{name}.moving_variance"] + 0.1 * variance * count / (count - 1),
    }
    return result, new


def convnet_loss(
    weights: Weights, statistics: Weights, images: jax.Array, labels: jax.Array
) -> tuple[jax.Array, Weights]:
    """Return the loss of `examples/convnet.py`, and the new running statistics."""
    x = images.astype(jnp.float32) / 16.0
    new: Weights = {}
    for number in (0, 3):
        x = _convolved(x, weights[f"features.{number}.weight"])
        x, moved = _normalized(x, weights, statistics, f"features.{number + 1}")
        x = jax.nn.relu(x)
        new |= moved
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(x @ weights["head.0.weight"].T + weights["head.0.bias"])
    weight, bias = (weights[f"head.1.{name}"].astype(jnp.float32) for name in ("weight", "bias"))
    return cross_entropy(x @ weight.T + bias, labels), new


def transformer_loss(weights: Weights, text: jax.Array, layers: int, heads: int) -> jax.Array:
    """Return the loss of `examples/transformer.py`."""
    ids, labels = text[:, :-1], text[:, 1:]
    table = weights["characters.embedding_table"]
    vectors = table.at[ids].get(mode="fill", fill_value=0, wrap_negative_indices=False)
    x = vectors.astype(jnp.float32) + weights["places"][: ids.shape[1]]
    for number in range(layers):
        x = _block(x, weights, f"blocks.{number}", heads)
    return cross_entropy(_layer_norm(x, weights, "norm") @ weights["head.weight"].T, labels)


def _dense(x: jax.Array, weights: Weights, name: str) -> jax.Array:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _layer_norm(x: jax.Array, weights: Weights, name: str) -> jax.Array:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-7) * weights[f"{name}.gamma"] + weights[f"{name}.beta"]


def _block(x: jax.Array, weights: Weights, name: str, heads: int) -> jax.Array:
    x = x + _attention(_layer_norm(x, weights, f"{name}.norm1"), weights, f"{name}.attention", heads)
    hidden = jax.nn.gelu(_dense(_layer_norm(x, weights, f"{name}.norm2"), weights, f"{name}.network.0"))
    return x + _dense(hidden, weights, f"{name}.network.1")


def _attention(x: jax.Array, weights: Weights, name: str, heads: int) -> jax.Array:
    batch, length, width = x.shape
    parts = _dense(x, weights, f"{name}.mix").reshape(batch, length, 3, heads, width // heads)
    query, key, value = (parts[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = query @ key.swapaxes(-1, -2) / (width // heads) ** 0.5
    scores = jnp.where(np.tril(np.ones((length, length), bool)), scores, -1e9)
    mixed = jax.nn.softmax(scores) @ value
    return _dense(mixed.transpose(0, 2, 1, 3).reshape(batch, length, width), weights, f"{name}.out")


def adamax_step(loss: Callable[..., jax.Array], beta1: float, beta2: float, epsilon: float) -> Callable[..., Any]:
    """Make the step of a model under AdaMax."""

    def step(
        weights: Weights, first: Weights, second: Weights, power: jax.Array, rate: jax.Array, *batch: jax.Array
    ) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        power = power * beta1
        for name, gradient in gradients.items():
            w = weights[name]
            first[name] = _as(beta1, w) * first[name] + _as(1 - beta1, w) * gradient
            second[name] = jnp.maximum(_as(beta2, w) * second[name], jnp.abs(gradient))
            scale = rate.astype(w.dtype) / (1 - power.astype(w.dtype))
            weights[name] = w - scale * (first[name] / (second[name] + _as(epsilon, w)))
        return weights, first, second, power, value

    return jax.jit(step, donate_argnums=(0, 1, 2, 3))
