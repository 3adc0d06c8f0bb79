"""Lowerings of the sparse optimizers (OPS.md 5): each row of the gradient belongs to the row that its index names.

Rows that are not named are not touched, rows out of range left out. An update is a list of stages: each gives one
table's new rows from all tables' rows as they are by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.optimizers import proximal, scalar
from lowering.registry import lower
from lowering.rows import Distinct, Stage, in_range, summed, update_distinct, update_in_order


class _Batch:
    """Tables in two axes, the rows that are named in them and their gradients; nothing of it is differentiated."""

    def __init__(self, tables: Sequence[Any], indices: Any, gradient: Any):
        self.shape = tables[0].shape
        self.length = self.shape[0]
        width = math.prod(self.shape[1:])
        tables, gradient = lax.stop_gradient((tuple(tables), gradient))
        self.tables = [jnp.reshape(table, (self.length, width)) for table in tables]
        self.gradient = jnp.reshape(gradient, (indices.shape[0], width))
        self.rows = in_range(indices, self.length)

    @property
    def empty(self) -> bool:
        return not (self.gradient.size and self.tables[0].size)

    def summed(self) -> Distinct:
        return summed(self.rows, self.gradient, self.length)

    def restore(self, tables: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([jnp.reshape(table, self.shape) for table in tables])


def _sum_first(tables: Sequence[Any], indices: Any, gradient: Any, stages: Sequence[Stage]) -> tuple[Any, ...]:
    """Add up the gradients of equal indices; one update for each row."""
    batch = _Batch(tables, indices, gradient)
    return tuple(tables) if batch.empty else batch.restore(update_distinct(batch.tables, batch.summed(), stages))


def _in_order(tables: Sequence[Any], indices: Any, gradient: Any, stages: Sequence[Stage]) -> tuple[Any, ...]:
    """Make one update for each index, one after another."""
    batch = _Batch(tables, indices, gradient)
    if batch.empty:
        return tuple(tables)
    return batch.restore(update_in_order(batch.tables, batch.rows, batch.gradient, stages))


def _hyper(*scalars: Any) -> Any:
    return lax.stop_gradient(tuple(map(scalar, scalars)))


# Adagrad: var, accum

ACCUMULATE: Stage = (1, lambda t, g: t[1] + g * g)


@lower("sparse_apply_adagrad")
def sparse_apply_adagrad(
    var: Any, accum: Any, grad: Any, indices: Any, *, lr: float, update_slots: bool, use_locking: bool
) -> Any:
    """Adagrad without any epsilon, on sums of gradients."""
    step: Stage = (0, lambda t, g: t[0] - lr * g / lax.sqrt(t[1]))
    return _sum_first((var, accum), indices, grad, [ACCUMULATE, step] if update_slots else [step])


@lower("sparse_apply_adagrad_v2")
def sparse_apply_adagrad_v2(
    var: Any, accum: Any, grad: Any, indices: Any, *, lr: float, epsilon: float, use_locking: bool, update_slots: bool
) -> Any:
    """Adagrad with epsilon outside the root, one index after another."""
    step: Stage = (0, lambda t, g: t[0] - lr * g / (lax.sqrt(t[1]) + epsilon))
    return _in_order((var, accum), indices, grad, [ACCUMULATE, step] if update_slots else [step])


def _proximal_stages(lr: Any, l1: Any, l2: Any) -> list[Stage]:
    lr, l1, l2 = _hyper(lr, l1, l2)

    def step(t: Sequence[Any], g: Any) -> Any:
        rate = lr / lax.sqrt(t[1])
        return proximal(t[0] - rate * g, rate, l1, l2)

    return [ACCUMULATE, (0, step)]


@lower("sparse_apply_proximal_adagrad")
def sparse_apply_proximal_adagrad(
    var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any, *, use_locking: bool
) -> Any:
    """ApplyProximalAdagrad on rows, one index after another."""
    return _in_order((var, accum), indices, grad, _proximal_stages(lr, l1, l2))


@lower("fused_sparse_proximal_adagrad")
def fused_sparse_proximal_adagrad(
    var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any, *, use_locking: bool
) -> Any:
    """ApplyProximalAdagrad on rows, with sums of gradients."""
    return _sum_first((var, accum), indices, grad, _proximal_stages(lr, l1, l2))


# Ftrl: var, accum, linear


def _power(x: Any, exponent: float) -> Any:
    known: dict[float, Callable[[Any], Any]] = {0.0: jnp.ones_like, 0.5: lax.sqrt, 1.0: lambda x: x}
    return known.get(exponent, lambda x: jnp.power(x, exponent))(x)


def _ftrl_stages(lr: float, l1: float, l2: float, lr_power: float, l2_shrinkage: float = 0.0) -> list[Stage]:
    def linear(t: Sequence[Any], g: Any) -> Any:
        sigma = (_power(t[1] + g * g, -lr_power) - _power(t[1], -lr_power)) / lr
        return t[2] + (g + 2 * l2_shrinkage * t[0] if l2_shrinkage else g) - sigma * t[0]

    def var(t: Sequence[Any], g: Any) -> Any:
        quotient = (lax.sign(t[2]) * l1 - t[2]) / (_power(t[1], -lr_power) / lr + 2 * l2)
        return jnp.where(jnp.abs(t[2]) > l1, quotient, 0)

    return [(2, linear), ACCUMULATE, (0, var)]


@lower("sparse_apply_ftrl")
def sparse_apply_ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, indices: Any, *,
    lr: float, l1: float, l2: float, lr_power: float, use_locking: bool,
) -> Any:  # fmt: skip
    """Follow the regularised leader, one index after another."""
    return _in_order((var, accum, linear), indices, grad, _ftrl_stages(lr, l1, l2, lr_power))


@lower("sparse_apply_ftrl_v2")
def sparse_apply_ftrl_v2(
    var: Any, accum: Any, linear: Any, grad: Any, indices: Any, *,
    lr: float, l1: float, l2: float, l2_shrinkage: float, lr_power: float, use_locking: bool,
) -> Any:  # fmt: skip
    """Do the same with shrinkage of the weights in `linear`."""
    return _in_order((var, accum, linear), indices, grad, _ftrl_stages(lr, l1, l2, lr_power, l2_shrinkage))


@lower("fused_sparse_ftrl")
def fused_sparse_ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, indices: Any, *,
    lr: float, l1: float, l2: float, lr_power: float, use_locking: bool,
) -> Any:  # fmt: skip
    """Follow the regularised leader, with sums of gradients."""
    return _sum_first((var, accum, linear), indices, grad, _ftrl_stages(lr, l1, l2, lr_power))


# Adam: var, m, v


@lower("fused_sparse_lazy_adam")
def fused_sparse_lazy_adam(
    var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Any, indices: Any, *, use_locking: bool, use_nesterov: bool,
) -> Any:  # fmt: skip
    """Adam on the rows that are named alone."""
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = _hyper(beta1_power, beta2_power, lr, beta1, beta2, epsilon)
    rate = lr * lax.sqrt(1 - beta2_power) / (1 - beta1_power)

    def step(t: Sequence[Any], g: Any) -> Any:
        mean = beta1 * t[1] + (1 - beta1) * g if use_nesterov else t[1]
        return t[0] - rate * mean / (lax.sqrt(t[2]) + epsilon)

    first: Stage = (1, lambda t, g: beta1 * t[1] + (1 - beta1) * g)
    second: Stage = (2, lambda t, g: beta2 * t[2] + (1 - beta2) * g * g)
    return _sum_first((var, m, v), indices, grad, [first, second, (0, step)])


@lower("fused_sparse_adam")
def fused_sparse_adam(
    var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Any, indices: Any, *, use_locking: bool, use_nesterov: bool,
) -> Any:  # fmt: skip
    """Adam on the whole table, with a gradient of 0 for the rows that are not named: every row decays and moves."""
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = _hyper(beta1_power, beta2_power, lr, beta1, beta2, epsilon)
    rate = lr * lax.sqrt(1 - beta2_power) / (1 - beta1_power)
    batch = _Batch((var, beta1 * m, beta2 * v), indices, grad)
    var, m, v = batch.tables
    distinct = None if batch.empty else batch.summed()
    if distinct is not None:
        first: Stage = (0, lambda t, g: t[0] + (1 - beta1) * g)
        second: Stage = (1, lambda t, g: t[1] + (1 - beta2) * g * g)
        m, v = update_distinct((m, v), distinct, [first, second])
    var = var - rate * (beta1 * m if use_nesterov else m) / (lax.sqrt(v) + epsilon)
    if use_nesterov and distinct is not None:  # what the gradient adds to the mean, for the rows that have one
        ahead: Stage = (0, lambda t, g: t[0] - rate * ((1 - beta1) * g) / (lax.sqrt(t[1]) + epsilon))
        (var, _) = update_distinct((var, v), distinct, [ahead])
    return batch.restore((var, m, v))
