"""NumPy models of the optimizers, written from OPS.md's formulas: what the tests compare every path with.

Each returns the new values of the state, in the order in which the operator writes it. Attributes that change no
value are swallowed by `**_`.
"""

from __future__ import annotations

# pyright: reportMissingParameterType=false
# NumPy references take arrays; saying so for each argument would only be noise.
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray


def _scalars(*values: Any) -> Any:
    return tuple([np.reshape(value, ()) for value in values])


def momentum(variable, accumulation, learning_rate, gradient, momentum, use_nesterov, gradient_scale, **_):
    """Model ApplyMomentum."""
    rate, decay = _scalars(learning_rate, momentum)
    gradient = gradient * gradient.dtype.type(gradient_scale)
    accumulation = accumulation * decay + gradient
    step = rate * gradient + rate * decay * accumulation if use_nesterov else rate * accumulation
    return variable - step, accumulation


def ada_max(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    """Model ApplyAdaMax."""
    beta1_power, lr, beta1, beta2, epsilon = _scalars(beta1_power, lr, beta1, beta2, epsilon)
    m = beta1 * m + (1 - beta1) * grad
    v = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - beta1_power) * (m / (v + epsilon)), m, v


def adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    """Model ApplyAdadelta."""
    lr, rho, epsilon = _scalars(lr, rho, epsilon)
    accum = rho * accum + (1 - rho) * grad**2
    update = np.sqrt(accum_update + epsilon) * grad / np.sqrt(accum + epsilon)
    return var - lr * update, accum, rho * accum_update + (1 - rho) * update**2


def adagrad(var, accum, lr, grad, update_slots):
    """Model ApplyAdagrad, with the hidden constant of 1.1.1."""
    accum = accum + grad**2 if update_slots else accum
    return var - np.reshape(lr, ()) * grad / np.sqrt(accum + var.dtype.type(1e-6)), accum


def adagrad_v2(var, accum, lr, grad, epsilon, update_slots):
    """Model ApplyAdagradV2."""
    accum = accum + grad**2 if update_slots else accum
    root = np.sqrt(accum) + var.dtype.type(epsilon)
    return var - np.reshape(lr, ()) * grad / np.where(root == 0, var.dtype.type(1e-6), root), accum


def add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    """Model ApplyAddSign."""
    lr, alpha, sign_decay, beta = _scalars(lr, alpha, sign_decay, beta)
    m = beta * m + (1 - beta) * grad
    return var - lr * (alpha + sign_decay * np.sign(grad) * np.sign(m)) * grad, m


def power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    """Model ApplyPowerSign."""
    lr, logbase, sign_decay, beta = _scalars(lr, logbase, sign_decay, beta)
    m = beta * m + (1 - beta) * grad
    return var - lr * np.exp(logbase * sign_decay * np.sign(grad) * np.sign(m)) * grad, m


def gradient_descent(var, alpha, delta):
    """Model ApplyGradientDescent."""
    return var - np.reshape(alpha, ()) * delta


def _proximal(x: Array, rate: Array, l1: Array, l2: Array) -> Array:
    shrunk = np.sign(x) * np.maximum(np.abs(x) - rate * l1, 0) if l1 > 0 else x
    return shrunk / (1 + rate * l2)


def proximal_adagrad(var, accum, lr, l1, l2, grad, **_):
    """Model ApplyProximalAdagrad."""
    lr, l1, l2 = _scalars(lr, l1, l2)
    accum = accum + grad**2
    rate = lr / np.sqrt(accum)
    return _proximal(var - rate * grad, rate, l1, l2), accum


def proximal_gradient_descent(var, alpha, l1, l2, delta):
    """Model ApplyProximalGradientDescent."""
    alpha, l1, l2 = _scalars(alpha, l1, l2)
    return _proximal(var - alpha * delta, alpha, l1, l2)


# Sparse ones: a model of one row's update, run for each position or for each distinct row


def one_after_another(row: Callable[..., Sequence[Array]], tables: int) -> Callable[..., tuple[Array, ...]]:
    """Make the model of an operator that updates once for each index, in order."""

    def model(*operands: Any, **attributes: Any) -> tuple[Array, ...]:
        state, (*scalars, grad, indices) = [table.copy() for table in operands[:tables]], operands[tables:]
        for gradient, index in zip(grad, indices.tolist()):
            if 0 <= index < len(state[0]):
                new = row(*[table[index] for table in state], *scalars, gradient, **attributes)
                for table, value in zip(state, new):
                    table[index] = value
        return tuple(state)

    return model


def summed_first(row: Callable[..., Sequence[Array]], tables: int) -> Callable[..., tuple[Array, ...]]:
    """Make the model of an operator that adds up the gradients of equal indices first."""
    update = one_after_another(row, tables)

    def model(*operands: Any, **attributes: Any) -> tuple[Array, ...]:
        *rest, grad, indices = operands
        return update(*rest, *sums(grad, indices), **attributes)

    return model


def sums(grad: Array, indices: Array) -> tuple[Array, Array]:
    """Add up the gradients of equal indices, in their order; returns them with the distinct indices."""
    totals: dict[int, Array] = {}
    for gradient, index in zip(grad, indices.tolist()):
        totals[index] = totals[index] + gradient if index in totals else gradient
    return np.array(list(totals.values()), grad.dtype).reshape(-1, *grad.shape[1:]), np.array(list(totals), int)


def sparse_adagrad_row(var, accum, grad, lr, update_slots, **_):
    """Model one row of SparseApplyAdagrad."""
    accum = accum + grad**2 if update_slots else accum
    return var - var.dtype.type(lr) * grad / np.sqrt(accum), accum


def sparse_adagrad_v2_row(var, accum, grad, lr, epsilon, update_slots, **_):
    """Model one row of SparseApplyAdagradV2, with epsilon outside the root."""
    accum = accum + grad**2 if update_slots else accum
    return var - var.dtype.type(lr) * grad / (np.sqrt(accum) + var.dtype.type(epsilon)), accum


def ftrl_row(var, accum, linear, grad, lr, l1, l2, lr_power, l2_shrinkage=0.0, **_):
    """Model one row of the Ftrl operators."""
    number = var.dtype.type
    power = number(-lr_power)
    new = accum + grad**2
    sigma = (new**power - accum**power) / number(lr)
    linear = linear + grad + number(2 * l2_shrinkage) * var - sigma * var
    quadratic = new**power / number(lr) + number(2 * l2)
    shrunk = (np.sign(linear) * number(l1) - linear) / quadratic
    return np.where(np.abs(linear) > l1, shrunk, number(0)), new, linear


def _adam_rate(beta1_power, beta2_power, lr):
    beta1_power, beta2_power, lr = _scalars(beta1_power, beta2_power, lr)
    return lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)


def lazy_adam_row(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov, **_):
    """Model one row of FusedSparseLazyAdam."""
    beta1, beta2, epsilon = _scalars(beta1, beta2, epsilon)
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    mean = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return var - _adam_rate(beta1_power, beta2_power, lr) * mean / (np.sqrt(v) + epsilon), m, v


def sparse_adam(var, m, v, *rest, **attributes):
    """Model FusedSparseAdam: lazy Adam on a gradient that is 0 for the rows not named."""
    *scalars, grad, indices = rest
    dense = np.zeros_like(var)
    for total, index in zip(*sums(grad, indices)):
        if 0 <= index < len(var):
            dense[index] = total
    return lazy_adam_row(var, m, v, *scalars, dense, **attributes)  # pyright: ignore[reportCallIssue]
