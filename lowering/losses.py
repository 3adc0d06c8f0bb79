"""Lowerings of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import xlogy

from lowering.broadcasting import align
from lowering.registry import lower
from lowering.structure import reduce_mean, reduce_sum


def _reduced(loss: Any, reduction: str) -> Any:
    if reduction == "none":
        return loss
    if reduction == "batchmean":
        return reduce_sum(loss, (), False) / loss.shape[0]
    return (reduce_mean if reduction == "mean" else reduce_sum)(loss, (), False)


def _shaped(values: Any, axis: int, rank: int) -> Any:
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


@lower("nll_loss")
def nll_loss(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float) -> Any:
    """Pick the target's element along the classes; one that does not exist is NaN."""
    axis = int(x.ndim > 1)
    kept = target != ignore_index
    safe = jnp.where(kept, jnp.where(target < 0, x.shape[axis], target), 0)
    picked = jnp.take_along_axis(x, jnp.expand_dims(safe, axis), axis, mode="fill", fill_value=jnp.nan).squeeze(axis)
    weights = jnp.ones((), x.dtype) if weight is None else weight.at[safe].get(mode="fill", fill_value=jnp.nan)
    loss = -picked * weights
    if label_smoothing:
        scaled = x if weight is None else x * _shaped(weight, axis, x.ndim)
        smooth = -jnp.sum(scaled, axis) / x.shape[axis]
        loss = loss * (1 - label_smoothing) + smooth * label_smoothing
    loss = jnp.where(kept, loss, jnp.zeros((), x.dtype))
    if reduction != "mean":
        return _reduced(loss, reduction)
    return jnp.sum(loss) / jnp.sum(jnp.where(kept, weights, jnp.zeros((), x.dtype)))


@lower("cross_entropy")
def cross_entropy(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float) -> Any:
    """Compare logits with class indices or probabilities."""
    axis = int(x.ndim > 1)
    logs = jax.nn.log_softmax(x, axis)
    if not jnp.issubdtype(target.dtype, jnp.floating):
        return nll_loss(logs, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    logs = logs if weight is None else logs * _shaped(weight, axis, x.ndim)
    return _reduced(-jnp.sum(logs * target, axis), reduction)


@lower("sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(logits: Any, labels: Any, is_grad: bool) -> Any:
    """Return the mean loss, or its gradient."""

    def loss(logits: Any) -> Any:
        return nll_loss(jax.nn.log_softmax(logits, 1), labels, None, -100, "mean", 0.0)

    return jax.grad(loss)(logits) if is_grad else loss(logits)


@lower("softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Return the loss of each row, and its gradient."""
    logs = jax.nn.log_softmax(logits, 1)
    return -jnp.sum(logs * labels, 1), lax.sub(lax.exp(logs), labels)


def _distance(name: str, function: Callable[..., Any], floats: bool) -> None:
    def rule(x: Any, target: Any, reduction: str, **attributes: Any) -> Any:
        if floats and not jnp.issubdtype(x.dtype, jnp.floating):
            x, target = (lax.convert_element_type(value, jnp.float32) for value in (x, target))
        return _reduced(function(lax.sub(*align(x, target)), **attributes), reduction)

    lower(name)(rule)


def _smooth(difference: Any, beta: float) -> Any:
    size = lax.abs(difference)
    return jnp.where(size < beta, lax.square(difference) / (2 * beta), size - beta / 2)


def _huber(difference: Any, delta: float) -> Any:
    size = lax.abs(difference)
    return jnp.where(size <= delta, lax.square(difference) / 2, delta * (size - delta / 2))


_distance("mse_loss", lax.square, floats=True)
_distance("l1_loss", lambda difference: jnp.abs(difference), floats=False)
_distance("smooth_l1_loss", _smooth, floats=False)
_distance("huber_loss", _huber, floats=True)


@lower("kl_div")
def kl_div(logits: Any, labels: Any, reduction: str) -> Any:
    """Compare probabilities with logarithms of probabilities."""
    positive = labels > 0
    safe = jnp.where(positive, labels, jnp.ones((), labels.dtype))
    loss = jnp.where(positive, xlogy(safe, safe) - safe * logits, jnp.zeros((), labels.dtype))
    return _reduced(loss, reduction)


@lower("binary_cross_entropy")
def binary_cross_entropy(x: Any, labels: Any, weight: Any, reduction: str) -> Any:
    """Compare probabilities with labels; logarithms are bounded."""
    least = max(1e-12, float(jnp.finfo(x.dtype).tiny))
    first, second = (lax.log(jnp.maximum(value, jnp.asarray(least, x.dtype))) for value in (x, 1 - x))
    loss = -(labels * first + (1 - labels) * second)
    return _reduced(loss if weight is None else loss * weight, reduction)


@lower("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x: Any, labels: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    """Compare logits with labels."""
    factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * labels
    loss = (1 - labels) * x + factor * jax.nn.softplus(-x)
    return _reduced(loss if weight is None else loss * weight, reduction)
