"""The optimizers as a good JAX user writes them: each takes its state as a tuple, which is donated, and returns it.

Hyper-parameters are Python numbers, the same on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

State = tuple[jax.Array, ...]
Dense = Callable[..., State]


def _momentum(state: State, gradient: jax.Array, learning_rate: float, momentum: float) -> State:
    variable, accumulation = state
    accumulation = accumulation * momentum + gradient
    return variable - learning_rate * accumulation, accumulation


def _ada_max(
    state: State, grad: jax.Array, beta1_power: float, lr: float, beta1: float, beta2: float, epsilon: float
) -> State:
    var, m, v = state
    m = beta1 * m + (1 - beta1) * grad
    v = jnp.maximum(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def _adadelta(state: State, grad: jax.Array, lr: float, rho: float, epsilon: float) -> State:
    var, accum, accum_update = state
    accum = rho * accum + (1 - rho) * grad**2
    update = jnp.sqrt(accum_update + epsilon) * grad / jnp.sqrt(accum + epsilon)
    return var - lr * update, accum, rho * accum_update + (1 - rho) * update**2


def _adagrad(state: State, grad: jax.Array, lr: float) -> State:
    var, accum = state
    accum = accum + grad**2
    return var - lr * grad / jnp.sqrt(accum + 1e-6), accum


def _adagrad_v2(state: State, grad: jax.Array, lr: float, epsilon: float) -> State:
    var, accum = state
    accum = accum + grad**2
    root = jnp.sqrt(accum) + epsilon
    return var - lr * grad / jnp.where(root == 0, 1e-6, root), accum


def _add_sign(state: State, grad: jax.Array, lr: float, alpha: float, sign_decay: float, beta: float) -> State:
    var, m = state
    m = beta * m + (1 - beta) * grad
    return var - lr * (alpha + sign_decay * jnp.sign(grad) * jnp.sign(m)) * grad, m


def _power_sign(state: State, grad: jax.Array, lr: float, logbase: float, sign_decay: float, beta: float) -> State:
    var, m = state
    m = beta * m + (1 - beta) * grad
    return var - lr * jnp.exp(logbase * sign_decay * jnp.sign(grad) * jnp.sign(m)) * grad, m


def _gradient_descent(state: State, delta: jax.Array, alpha: float) -> State:
    return (state[0] - alpha * delta,)


def _proximal(x: jax.Array, rate: Any, l1: float, l2: float) -> jax.Array:
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - rate * l1, 0) / (1 + rate * l2)


def _proximal_adagrad(state: State, grad: jax.Array, lr: float, l1: float, l2: float) -> State:
    var, accum = state
    accum = accum + grad**2
    rate = lr / jnp.sqrt(accum)
    return _proximal(var - rate * grad, rate, l1, l2), accum


def _proximal_gradient_descent(state: State, delta: jax.Array, alpha: float, l1: float, l2: float) -> State:
    return (_proximal(state[0] - alpha * delta, alpha, l1, l2),)


#: By the operator's name: the step, and its hyper-parameters by name.
DENSE: Mapping[str, tuple[Dense, Mapping[str, float]]] = {
    "ApplyMomentum": (_momentum, {"learning_rate": 0.01, "momentum": 0.9}),
    "ApplyAdaMax": (_ada_max, {"beta1_power": 0.9, "lr": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}),
    "ApplyAdadelta": (_adadelta, {"lr": 0.01, "rho": 0.95, "epsilon": 1e-6}),
    "ApplyAdagrad": (_adagrad, {"lr": 0.01}),
    "ApplyAdagradV2": (_adagrad_v2, {"lr": 0.01, "epsilon": 1e-6}),
    "ApplyAddSign": (_add_sign, {"lr": 0.01, "alpha": 1.0, "sign_decay": 0.9, "beta": 0.9}),
    "ApplyPowerSign": (_power_sign, {"lr": 0.01, "logbase": 1.0, "sign_decay": 0.9, "beta": 0.9}),
    "ApplyGradientDescent": (_gradient_descent, {"alpha": 0.01}),
    "ApplyProximalAdagrad": (_proximal_adagrad, {"lr": 0.01, "l1": 0.001, "l2": 0.001}),
    "ApplyProximalGradientDescent": (_proximal_gradient_descent, {"alpha": 0.01, "l1": 0.001, "l2": 0.001}),
}


def dense_step(name: str) -> Any:
    """Compile a dense optimizer's step: (state, gradient) to the new state, in the old one's buffers."""
    step, hyper = DENSE[name]
    return jax.jit(lambda state, gradient: step(state, gradient, **hyper), donate_argnums=0)


# On rows


def scatter_add(state: State, indices: jax.Array, updates: jax.Array) -> State:
    """Add to rows, one position after another."""
    return (state[0].at[indices].add(updates, mode="drop"),)


def sparse_apply_ftrl(
    state: State, indices: jax.Array, grad: jax.Array, lr: float, l1: float, l2: float, lr_power: float
) -> State:
    """Follow the regularised leader, one position after another.

    The rows that are named are gathered first, var, accum and linear in one array: a loop that reads and writes three
    tables copies each of them in every step.
    """
    count = indices.shape[0]
    root = jnp.sqrt if lr_power == -0.5 else lambda x: x**-lr_power
    rows, slots = jnp.unique(indices, size=count, fill_value=state[0].shape[0], return_inverse=True)
    gathered = jnp.stack([table.at[rows].get(mode="clip") for table in state], axis=1)

    def one(i: jax.Array, gathered: jax.Array) -> jax.Array:
        (var, accum, linear), g = gathered[slots[i]], grad[i]
        new = accum + g**2
        power = root(new)
        linear = linear + g - (power - root(accum)) / lr * var
        shrunk = (jnp.sign(linear) * l1 - linear) / (power / lr + 2 * l2)
        var = jnp.where(jnp.abs(linear) > l1, shrunk, 0)
        return gathered.at[slots[i]].set(jnp.stack([var, new, linear]))

    gathered = jax.lax.fori_loop(0, count, one, gathered)
    return _put(state, rows, [gathered[:, i] for i in range(3)])


def _put(state: State, rows: jax.Array, values: Sequence[jax.Array]) -> State:
    """Write rows, none of them twice."""
    pairs = zip(state, values, strict=True)
    return tuple(table.at[rows].set(value, mode="drop", unique_indices=True) for table, value in pairs)


def fused_sparse_lazy_adam(
    state: State, indices: jax.Array, grad: jax.Array,
    beta1_power: float, beta2_power: float, lr: float, beta1: float, beta2: float, epsilon: float,
) -> State:  # fmt: skip
    """Adam on the rows that are named, with the sums of their gradients."""
    count = indices.shape[0]
    rows, slots = jnp.unique(indices, size=count, fill_value=state[0].shape[0], return_inverse=True)
    g = jax.ops.segment_sum(grad, slots, count)
    var, m, v = (table.at[rows].get(mode="clip") for table in state)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    var = var - lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power) * m / (jnp.sqrt(v) + epsilon)
    return _put(state, rows, [var, m, v])


#: By the operator's name: the step, which takes (state, indices, gradient), and its hyper-parameters by name.
SPARSE: Mapping[str, tuple[Dense, Mapping[str, float]]] = {
    "FusedSparseLazyAdam": (
        fused_sparse_lazy_adam,
        {"beta1_power": 0.9, "beta2_power": 0.999, "lr": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    ),
    "SparseApplyFtrl": (sparse_apply_ftrl, {"lr": 0.01, "l1": 0.001, "l2": 0.001, "lr_power": -0.5}),
    "ScatterAdd": (scatter_add, {}),
}


def sparse_step(name: str) -> Any:
    """Compile a step on rows: (state, indices, gradient) to the new state, in the old one's buffers."""
    step, hyper = SPARSE[name]
    return jax.jit(lambda state, indices, gradient: step(state, indices, gradient, **hyper), donate_argnums=0)
