"""Rows of a table: which of them index positions name, and updating those alone, in place and in order.

A table is an array of shape (rows, width). Everything here costs as much as the rows named, never as the table, and
gives the same bits on every run. On the CPU that takes loops over single rows: XLA runs one that reads any number of
arrays and writes *one* of them in place, as one small kernel, at less than it costs to gather and scatter the rows.
Elsewhere, where a step of a loop is dear, it takes rounds: the first position of every row, the second of every row
that has one, and so on; no round names a row twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from lowering.arrays import x64

#: New values of one of several tables, from (rows of all tables as they are now, gradient). Which table comes first.
Stage = tuple[int, Callable[[Sequence[Any], Any], Any]]
Step = Callable[[Any, Any], Any]
_ROW_OF_SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))


def in_range(indices: Any, length: int) -> Any:
    """Flatten the indices of an axis; bad ones, negative ones included, become `length`."""
    return jnp.where(_outside(indices, length), length, indices.astype(_integer(length))).ravel()


def at_coordinates(indices: Any, shape: Sequence[int]) -> Any:
    """Turn coordinates (the last axis of the indices) into row numbers of a table with these leading axes."""
    count = math.prod(shape)
    columns = [indices[..., axis].ravel() for axis in range(len(shape))]
    rows = jnp.zeros(columns[0].shape, _integer(count))
    bad = jnp.zeros(columns[0].shape, bool)
    for column, length in zip(columns, shape):
        rows = rows * length + column.astype(rows.dtype)
        bad = jnp.logical_or(bad, _outside(column, length))
    return jnp.where(bad, count, rows)


def _outside(indices: Any, length: int) -> Any:
    last = min(length - 1, jnp.iinfo(indices.dtype).max)
    return jnp.logical_or(indices < 0, indices > last)


def _integer(limit: int) -> Any:
    """Return the index dtype that holds a limit; int64 only where it is needed, and exists."""
    return jnp.int64 if limit >= 2**31 and x64() else jnp.int32


def _row(table: Any, number: Any) -> Any:
    return lax.dynamic_slice_in_dim(table, number, 1)


def _set_row(table: Any, row: Any, number: Any) -> Any:
    return lax.dynamic_update_slice_in_dim(table, row, number, 0)


def take(table: Any, rows: Any) -> Any:
    """Gather rows; what a row number out of range gives is arbitrary."""
    return table.at[rows].get(mode="clip")


def put(table: Any, rows: Any, values: Any) -> Any:
    """Write rows, none of them twice; row numbers out of range are left out."""
    return table.at[rows].set(values, mode="drop", unique_indices=True)


# Order


def sort_positions(keys: Any, limit: int) -> tuple[Any, Any]:
    """Sort positions by keys from 0 to limit, equal ones in their order; returns the sorted keys and the positions.

    Key and position share one integer where they fit: sorting single integers is four times as fast as pairs.
    """
    places = lax.iota(jnp.int32, keys.shape[0])
    low = max(1, (keys.shape[0] - 1).bit_length())
    bits = low + limit.bit_length()
    if bits > 63 or (bits > 31 and not x64()):
        return tuple(lax.sort_key_val(keys, places))  # type: ignore[return-value]
    wide = jnp.int64 if bits > 31 else jnp.int32
    packed = lax.sort((keys.astype(wide) << low) | places.astype(wide), is_stable=False)
    return (packed >> low).astype(keys.dtype), (packed & ((1 << low) - 1)).astype(jnp.int32)


def _is_first(ordered: Any) -> Any:
    """Say where a sorted array has a value for the first time."""
    return jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])


class Rounds(NamedTuple):
    """Positions by how many before them name the same row (`rank`), then by row; those of bad indices last."""

    rows: Any
    positions: Any
    rank: Any
    count: Any  # of positions whose row is in range


def in_rounds(rows: Any, length: int) -> Rounds:
    """Arrange positions in rounds, in each of which no row occurs twice."""
    count = rows.shape[0]
    ordered, positions = sort_positions(rows, length)
    places = lax.iota(jnp.int32, count)
    rank = places - jnp.searchsorted(ordered, ordered).astype(jnp.int32)
    rank, by = sort_positions(jnp.where(ordered < length, rank, count), count)
    return Rounds(ordered[by], positions[by], rank, jnp.sum(rank < count, dtype=jnp.int32))


class Distinct(NamedTuple):
    """The rows that are named, each once, in ascending order, with the sum of its gradients; row numbers behind
    `count` are out of range."""  # noqa: D205, D209

    rows: Any
    sums: Any
    count: Any


def summed(rows: Any, gradient: Any, length: int) -> Distinct:
    """Add up the gradients of positions that name the same row, in their order."""
    count = rows.shape[0]
    ordered, positions = sort_positions(rows, length)
    first = _is_first(ordered)
    slots = jnp.cumsum(first, dtype=jnp.int32) - 1
    named = jnp.full(count, length, rows.dtype).at[slots].set(ordered, mode="promise_in_bounds")
    slots = jnp.zeros(count, jnp.int32).at[positions].set(slots, mode="promise_in_bounds", unique_indices=True)
    sums = add_in_order(jnp.zeros_like(gradient), slots, gradient)
    return Distinct(named, sums, jnp.sum(jnp.logical_and(first, ordered < length), dtype=jnp.int32))


def is_last(rows: Any, length: int) -> Any:
    """Say which positions are the last ones of their row, bad indices aside."""
    ordered, positions = sort_positions(rows, length)
    last = jnp.concatenate([ordered[1:] != ordered[:-1], jnp.ones(1, bool)])
    last = jnp.logical_and(last, ordered < length)
    return jnp.zeros(rows.shape, bool).at[positions].set(last, mode="promise_in_bounds", unique_indices=True)


# One table


def apply_in_order(table: Any, rows: Any, updates: Any, step: Step) -> Any:
    """Update rows one position after another: row = step(row, update)."""
    if not table.size or not updates.size:
        return table
    return lax.platform_dependent(
        table,
        rows,
        updates,
        cpu=lambda *operands: _position_by_position(*operands, step),  # pyright: ignore[reportCallIssue]
        default=lambda *operands: _round_by_round(*operands, step),  # pyright: ignore[reportCallIssue]
    )


def add_in_order(table: Any, rows: Any, updates: Any) -> Any:
    """Add updates to rows one position after another."""
    return scatter_in_order(table, rows, updates, lax.scatter_add, lax.add)


def scatter_in_order(table: Any, rows: Any, updates: Any, scatter: Callable[..., Any], step: Step) -> Any:
    """Do the same with XLA's scatter, which the CPU runs in order, and where the order cannot matter."""
    if not table.size or not updates.size:
        return table

    direct = _scattered(scatter)
    if jnp.issubdtype(table.dtype, jnp.integer):
        return direct(table, rows, updates)
    return lax.platform_dependent(
        table,
        rows,
        updates,
        cpu=direct,
        default=lambda *operands: _round_by_round(*operands, step),  # pyright: ignore[reportCallIssue]
    )


def _scattered(scatter: Callable[..., Any]) -> Callable[..., Any]:
    def function(table: Any, rows: Any, updates: Any) -> Any:
        starts, mode = lax.expand_dims(rows, (1,)), lax.GatherScatterMode.FILL_OR_DROP
        return scatter(table, starts, updates, _ROW_OF_SCATTER, mode=mode)

    return function


def write_in_order(table: Any, rows: Any, updates: Any) -> Any:
    """Write updates to rows; the last one of each row stays. XLA's scatter runs in order on the CPU."""
    return lax.platform_dependent(table, rows, updates, cpu=_scattered(lax.scatter), default=put_last)


def put_last(table: Any, rows: Any, updates: Any) -> Any:
    """Write the last update of each row, and no other: the others have no derivative either."""
    length = table.shape[0]
    if not table.size or not updates.size:
        return table
    return put(table, jnp.where(is_last(rows, length), rows, length), updates)


def _position_by_position(table: Any, rows: Any, updates: Any, step: Step) -> Any:
    length = table.shape[0]

    def update(position: Any, table: Any) -> Any:
        number = rows[position]
        old = _row(table, number)
        return _set_row(table, jnp.where(number < length, step(old, _row(updates, position)), old), number)

    return lax.fori_loop(0, rows.shape[0], update, table)


def _round_by_round(table: Any, rows: Any, updates: Any, step: Step) -> Any:
    (table,) = _all_rounds([table], in_rounds(rows, table.shape[0]), updates, [(0, lambda old, u: step(old[0], u))])
    return table


# Several tables


def update_distinct(tables: Sequence[Any], distinct: Distinct, stages: Sequence[Stage]) -> list[Any]:
    """Update the rows that are named, each once, with the sum of the gradients given for it."""
    return _by_platform(tables, distinct, _distinct_row_by_row, _distinct_at_once, stages)


def update_in_order(tables: Sequence[Any], rows: Any, gradient: Any, stages: Sequence[Stage]) -> list[Any]:
    """Update rows one position after another."""
    given = (in_rounds(rows, tables[0].shape[0]), gradient)
    return _by_platform(tables, given, _rounds_row_by_row, _rounds_at_once, stages)


def _by_platform(tables: Sequence[Any], given: Any, by_row: Any, at_once: Any, stages: Sequence[Stage]) -> list[Any]:
    def with_stages(function: Any) -> Any:
        return lambda tables, given: tuple(function(tables, given, stages))

    return list(lax.platform_dependent(tuple(tables), given, cpu=with_stages(by_row), default=with_stages(at_once)))


def _distinct_row_by_row(tables: Sequence[Any], distinct: Distinct, stages: Sequence[Stage]) -> Sequence[Any]:
    places = lax.iota(jnp.int32, distinct.rows.shape[0])
    return _walk(tables, distinct.rows, places, distinct.sums, jnp.int32(0), distinct.count, stages)


def _rounds_row_by_row(tables: Sequence[Any], given: tuple[Rounds, Any], stages: Sequence[Stage]) -> Sequence[Any]:
    rounds, gradient = given

    def one_round(carry: Any) -> Any:
        start, tables = carry
        end = jnp.sum(rounds.rank <= rounds.rank[start], dtype=jnp.int32)
        return end, tuple(_walk(tables, rounds.rows, rounds.positions, gradient, start, end, stages))

    return lax.while_loop(lambda carry: carry[0] < rounds.count, one_round, (jnp.int32(0), tuple(tables)))[1]


def _walk(
    tables: Any, rows: Any, positions: Any, gradient: Any, start: Any, end: Any, stages: Sequence[Stage]
) -> list[Any]:
    """Run the stages over the places from start to end, a loop for each, one upward and the next downward.

    A loop begins where the one before it ended. That makes them wait for each other: XLA would else copy a table that
    one loop reads and another writes.
    """
    tables, at, upward = list(tables), start, True
    for written, stage in stages:
        others = tuple(tables)

        def update(
            carry: Any, written: int = written, stage: Any = stage, others: Any = others, up: bool = upward
        ) -> Any:
            at, table = carry
            place = at if up else at - 1
            number, given = rows[place], _row(gradient, positions[place])
            old = [_row(table if i == written else other, number) for i, other in enumerate(others)]
            return (at + 1 if up else at - 1), _set_row(table, stage(old, given), number)

        goes_on = (lambda carry: carry[0] < end) if upward else (lambda carry: carry[0] > start)
        at, tables[written] = lax.while_loop(goes_on, update, (at, tables[written]))
        upward = not upward
    return tables


def _distinct_at_once(tables: Sequence[Any], distinct: Distinct, stages: Sequence[Stage]) -> Sequence[Any]:
    return _one_round(tables, distinct.rows, distinct.sums, stages)


def _rounds_at_once(tables: Sequence[Any], given: tuple[Rounds, Any], stages: Sequence[Stage]) -> Sequence[Any]:
    return _all_rounds(tables, *given, stages)


def _all_rounds(tables: Sequence[Any], rounds: Rounds, gradient: Any, stages: Sequence[Stage]) -> Sequence[Any]:
    length, given = tables[0].shape[0], take(gradient, rounds.positions)

    def one_round(carry: Any) -> Any:
        rank, tables = carry
        rows = jnp.where(rounds.rank == rank, rounds.rows, length)
        return rank + 1, tuple(_one_round(tables, rows, given, stages))

    last = jnp.max(jnp.where(rounds.rank < rounds.rows.shape[0], rounds.rank, -1))
    return lax.while_loop(lambda carry: carry[0] <= last, one_round, (jnp.int32(0), tuple(tables)))[1]


def _one_round(tables: Sequence[Any], rows: Any, given: Any, stages: Sequence[Stage]) -> list[Any]:
    values = [take(table, rows) for table in tables]
    for written, stage in stages:
        values[written] = stage(values, given)
    return [put(table, rows, value) for table, value in zip(tables, values)]
