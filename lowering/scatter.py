"""Lowerings of the Scatter families: in place (Parameters), and out of place (`tensor_scatter_*`, with derivatives)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lowering.arithmetic import real_div
from lowering.registry import lower
from lowering.rows import apply_in_order, at_coordinates, in_range, put_last, scatter_in_order, take, write_in_order


class Kind(NamedTuple):
    """What a scatter does with a row and its update; XLA's own scatter for it, if there is one."""

    step: Callable[[Any, Any], Any]
    scatter: Callable[..., Any] | None = None
    #: XLA's scatter compares floats by another rule (it keeps NaN).
    on_integers_only: bool = False


KINDS = {
    "add": Kind(lax.add, lax.scatter_add),
    "sub": Kind(lax.sub, lax.scatter_sub),
    "mul": Kind(lax.mul, lax.scatter_mul),
    "div": Kind(real_div),
    "max": Kind(lambda x, update: jnp.where(x > update, x, update), lax.scatter_max, on_integers_only=True),
    "min": Kind(lambda x, update: jnp.where(x > update, update, x), lax.scatter_min, on_integers_only=True),
}


def scatter_rows(kind: str, table: Any, rows: Any, updates: Any) -> Any:
    """Update rows of a table, one position after another."""
    if kind == "update":
        return write_in_order(table, rows, updates)
    how = KINDS[kind]
    if how.scatter is None or (how.on_integers_only and not jnp.issubdtype(table.dtype, jnp.integer)):
        return apply_in_order(table, rows, updates, how.step)
    return scatter_in_order(table, rows, updates, how.scatter, how.step)


def _table(x: Any, depth: int) -> Any:
    return jnp.reshape(x, (math.prod(x.shape[:depth]), math.prod(x.shape[depth:])))


def _scatter(function: Callable[..., Any], x: Any, rows: Any, updates: Any, depth: int) -> Any:
    table = _table(x, depth)
    return function(table, rows, jnp.reshape(updates, (rows.shape[0], table.shape[1]))).reshape(x.shape)


def _in_place(kind: str) -> Callable[..., Any]:
    def rule(x: Any, indices: Any, updates: Any, use_locking: bool) -> Any:
        x, updates = lax.stop_gradient((x, updates))  # what is written has no derivative
        rows = in_range(indices, x.shape[0])
        return _scatter(lambda *operands: scatter_rows(kind, *operands), x, rows, updates, 1)

    return rule


def _in_place_at(kind: str) -> Callable[..., Any]:
    def rule(x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
        x, updates = lax.stop_gradient((x, updates))
        return _scatter_at(lambda *operands: scatter_rows(kind, *operands), x, indices, updates)

    return rule


def _scatter_at(function: Callable[..., Any], x: Any, indices: Any, updates: Any) -> Any:
    depth = indices.shape[-1]
    return _scatter(function, x, at_coordinates(indices, x.shape[:depth]), updates, depth)


# Out of place: the same values, and derivatives of them, each a function of (result, operands, tangents)


def _added(table: Any, rows: Any, tangents: Any) -> Any:
    return table.at[rows].add(tangents, mode="drop")  # JAX's own, which can be transposed


def _tangent_of_product(out: Any, table: Any, rows: Any, updates: Any, dtable: Any, dupdates: Any) -> Any:
    """Multiply each update's tangent by the row and the row's other updates, of which one may be 0."""
    zero = updates == 0
    nonzero = jnp.where(zero, 1, updates)
    product = take(differentiable["mul"](table, rows, nonzero), rows)
    zeros = take(_added(jnp.zeros_like(table), rows, zero.astype(table.dtype)), rows)
    others = jnp.where(zeros == zero, product / nonzero, 0)
    factor = differentiable["mul"](jnp.ones_like(table), rows, updates)
    return _added(dtable * factor, rows, dupdates * others)


def _tangent_of_quotient(out: Any, table: Any, rows: Any, updates: Any, dtable: Any, dupdates: Any) -> Any:
    factor = differentiable["div"](jnp.ones_like(table), rows, updates)
    return _added(dtable * factor, rows, -dupdates * take(out, rows) / updates)


def _tangent_of_choice(out: Any, table: Any, rows: Any, updates: Any, dtable: Any, dupdates: Any) -> Any:
    """Share the derivative equally among those that have the chosen value."""
    mine = (table == out).astype(table.dtype)
    theirs = (updates == take(out, rows)).astype(table.dtype)
    sharers = jnp.maximum(_added(mine, rows, theirs), 1)
    return _added(dtable * mine, rows, dupdates * theirs) / sharers


_TANGENTS = {
    "add": lambda out, table, rows, updates, dtable, dupdates: _added(dtable, rows, dupdates),
    "sub": lambda out, table, rows, updates, dtable, dupdates: _added(dtable, rows, -dupdates),
    "mul": _tangent_of_product,
    "div": _tangent_of_quotient,
    "max": _tangent_of_choice,
    "min": _tangent_of_choice,
}


def _with_derivative(kind: str) -> Callable[..., Any]:
    @jax.custom_jvp
    def function(table: Any, rows: Any, updates: Any) -> Any:
        return scatter_rows(kind, table, rows, updates)

    @function.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        out = function(*primals)
        return out, _TANGENTS[kind](out, *primals, tangents[0], tangents[2])

    return function


differentiable: dict[str, Callable[..., Any]] = {kind: _with_derivative(kind) for kind in _TANGENTS}
differentiable["update"] = put_last


def _out_of_place(kind: str) -> Callable[..., Any]:
    return lambda x, indices, updates: _scatter_at(differentiable[kind], x, indices, updates)


for _kind in (*KINDS, "update"):
    lower(f"scatter_{_kind}")(_in_place(_kind))
    lower(f"tensor_scatter_{_kind}")(_out_of_place(_kind))
for _kind in ("add", "sub", "update"):
    lower(f"scatter_nd_{_kind}")(_in_place_at(_kind))
lower("scatter_non_aliasing_add")(_in_place_at("add"))
