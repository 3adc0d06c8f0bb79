"""Lowerings of the dense optimizers (OPS.md 4), and the formulas that the sparse ones share with them.

State is updated first; the variable sees the new state. Each rule returns the new values of what it writes.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.registry import lower

#: What r1.1's ApplyAdagrad adds under the root.
HIDDEN_EPSILON = 1e-6


def scalar(x: Any) -> Any:
    """Return a hyper-parameter of shape () or (1,) as a 0-d array."""
    return jnp.reshape(x, ())


def proximal(x: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """Shrink toward 0 by rate * l1 where l1 is positive, and divide by 1 + rate * l2."""
    shrunk = lax.sign(x) * jnp.maximum(jnp.abs(x) - rate * l1, 0)
    return jnp.where(l1 > 0, shrunk, x) / (1 + rate * l2)


@lower("apply_momentum")
def apply_momentum(
    variable: Any, accumulation: Any, learning_rate: Any, gradient: Any, momentum: Any, *,
    use_nesterov: bool, use_locking: bool, gradient_scale: float,
) -> Any:  # fmt: skip
    """Follow a decaying sum of gradients, by Nesterov's rule a step ahead of it."""
    rate, momentum = scalar(learning_rate), scalar(momentum)
    if gradient_scale != 1.0:
        gradient = gradient * gradient_scale
    accumulation = accumulation * momentum + gradient
    step = rate * gradient + rate * momentum * accumulation if use_nesterov else rate * accumulation
    return variable - step, accumulation


@lower("apply_ada_max")
def apply_ada_max(
    var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
) -> Any:
    """Adam with the infinity norm."""
    beta1_power, lr, beta1, beta2, epsilon = map(scalar, (beta1_power, lr, beta1, beta2, epsilon))
    m = beta1 * m + (1 - beta1) * grad
    v = jnp.maximum(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


@lower("apply_adadelta")
def apply_adadelta(var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any) -> Any:
    """Scale by the ratio of the averages of past updates and past gradients."""
    lr, rho, epsilon = map(scalar, (lr, rho, epsilon))
    accum = rho * accum + (1 - rho) * grad * grad
    update = lax.sqrt(accum_update + epsilon) * grad / lax.sqrt(accum + epsilon)
    return var - lr * update, accum, rho * accum_update + (1 - rho) * update * update


@lower("apply_adagrad")
def apply_adagrad(var: Any, accum: Any, lr: Any, grad: Any, *, update_slots: bool) -> Any:
    """Scale by the root of the sum of squared gradients."""
    accum = accum + grad * grad if update_slots else accum
    return var - scalar(lr) * grad / lax.sqrt(accum + HIDDEN_EPSILON), accum


@lower("apply_adagrad_v2")
def apply_adagrad_v2(var: Any, accum: Any, lr: Any, grad: Any, *, epsilon: float, update_slots: bool) -> Any:
    """Adagrad with epsilon outside the root; a denominator of 0 counts as 1e-6."""
    accum = accum + grad * grad if update_slots else accum
    denominator = lax.sqrt(accum) + epsilon
    denominator = jnp.where(denominator == 0, jnp.asarray(1e-6, var.dtype), denominator)
    return var - scalar(lr) * grad / denominator, accum


@lower("apply_add_sign")
def apply_add_sign(var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any) -> Any:
    """Take larger steps where the gradient and its average agree in sign."""
    lr, alpha, sign_decay, beta = map(scalar, (lr, alpha, sign_decay, beta))
    m = beta * m + (1 - beta) * grad
    return var - lr * (alpha + sign_decay * lax.sign(grad) * lax.sign(m)) * grad, m


@lower("apply_power_sign")
def apply_power_sign(var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any) -> Any:
    """Take exponentially larger steps where the gradient and its average agree in sign."""
    lr, logbase, sign_decay, beta = map(scalar, (lr, logbase, sign_decay, beta))
    m = beta * m + (1 - beta) * grad
    return var - lr * lax.exp(logbase * sign_decay * lax.sign(grad) * lax.sign(m)) * grad, m


@lower("apply_gradient_descent")
def apply_gradient_descent(var: Any, alpha: Any, delta: Any) -> Any:
    """Follow the gradient."""
    return var - scalar(alpha) * delta


@lower("apply_proximal_adagrad")
def apply_proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, *, use_locking: bool) -> Any:
    """Adagrad, and the proximal step with each element's own rate."""
    lr, l1, l2 = map(scalar, (lr, l1, l2))
    accum = accum + grad * grad
    rate = lr / lax.sqrt(accum)
    return proximal(var - rate * grad, rate, l1, l2), accum


@lower("apply_proximal_gradient_descent")
def apply_proximal_gradient_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> Any:
    """Follow the gradient, and take the proximal step."""
    alpha, l1, l2 = map(scalar, (alpha, l1, l2))
    return proximal(var - alpha * delta, alpha, l1, l2)
