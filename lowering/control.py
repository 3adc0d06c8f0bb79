"""Lowerings of control flow: regions become functions for `lax.cond`, `lax.while_loop`, `lax.scan`.

Every operation with regions takes its own operands, then what the regions use (outer values, then state), and gives
its own results, then the new values of the state that any region writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from lowering.registry import lower_regions
from tracejit.ir import Graph

Emit = Callable[..., tuple[list[Any], list[Any]]]


def written_state(regions: Sequence[Graph]) -> list[int]:
    """Return the positions in the state that any of the regions writes."""
    return [i for i in range(len(regions[0].state)) if any(i in region.written for region in regions)]


def split_state(values: Sequence[Any], regions: Sequence[Graph]) -> tuple[list[Any], list[Any]]:
    """Split what regions use into inputs and state."""
    count = len(values) - len(regions[0].state)
    return list(values[:count]), list(values[count:])


def _strong(values: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Return values in the dtypes of others, as strong types: a weak one would change a carry's type."""
    return [lax.convert_element_type(value, jnp.asarray(old).dtype) for value, old in zip(values, like)]


@lower_regions("cond")
def cond(emit: Emit, operands: Sequence[Any], regions: Sequence[Graph]) -> list[Any]:
    """Run the second region if the condition holds, else the first."""
    choice, *used = operands
    return _switch(emit, lambda branches, *args: lax.cond(choice, branches[1], branches[0], *args), used, regions)


@lower_regions("switch")
def switch(emit: Emit, operands: Sequence[Any], regions: Sequence[Graph]) -> list[Any]:
    """Run the region with the given number, the nearest one if there is none."""
    choice, *used = operands
    return _switch(emit, lambda branches, *args: lax.switch(choice, branches, *args), used, regions)


def _switch(emit: Emit, call: Any, used: Sequence[Any], regions: Sequence[Graph]) -> list[Any]:
    inputs, state = split_state(used, regions)
    written = written_state(regions)

    def branch(region: Graph) -> Callable[..., Any]:
        def run(inputs: Any, state: Any) -> Any:
            outputs, new = emit(region, inputs, state)
            return [jnp.asarray(x) for x in outputs], [new[i] for i in written]

        return run

    outputs, new = call([branch(region) for region in regions], inputs, state)
    return [*outputs, *new]


@lower_regions("while_loop")
def while_loop(emit: Emit, operands: Sequence[Any], regions: Sequence[Graph]) -> list[Any]:
    """Run the second region while the first gives true; both take the carry."""
    test, body = regions
    inputs, state = split_state(operands, regions)
    count = len(body.outputs)
    carry, outer = inputs[:count], inputs[count:]
    written = written_state(regions)

    def full(held: Any) -> list[Any]:
        return [held[written.index(i)] if i in written else value for i, value in enumerate(state)]

    def go_on(loop: Any) -> Any:
        values, held = loop
        return emit(test, [*values, *outer], full(held))[0][0]

    def step(loop: Any) -> Any:
        values, held = loop
        outputs, new = emit(body, [*values, *outer], full(held))
        return _strong(outputs, values), [new[i] for i in written]

    start = (_strong(carry, carry), [state[i] for i in written])
    outputs, new = lax.while_loop(go_on, step, start)
    return [*outputs, *new]


@lower_regions("fori_loop")
def fori_loop(
    emit: Emit, operands: Sequence[Any], regions: Sequence[Graph], known_bounds: tuple[int, int] | None
) -> list[Any]:
    """Run the region for each index; it takes the carry, then the index. With known bounds it has a gradient."""
    (body,) = regions
    count = len(body.outputs)
    carry, (lower, upper), used = operands[:count], operands[count : count + 2], operands[count + 2 :]
    outer, state = split_state(used, regions)
    written = body.written

    def step(index: Any, loop: Any) -> Any:
        values, held = loop
        index = lax.convert_element_type(index, jnp.asarray(lower).dtype)
        full = [held[written.index(i)] if i in written else value for i, value in enumerate(state)]
        outputs, new = emit(body, [*values, index, *outer], full)
        return _strong(outputs, values), [new[i] for i in written]

    start = (_strong(carry, carry), [state[i] for i in written])
    outputs, new = lax.fori_loop(*(known_bounds or (lower, upper)), step, start)
    return [*outputs, *new]


@lower_regions("scan")
def scan(
    emit: Emit,
    operands: Sequence[Any],
    regions: Sequence[Graph],
    length: int,
    reverse: bool,
    unroll: int,
    carries: int,
    slices: int,
) -> list[Any]:
    """Run the region for each slice; it takes the carry, then the slices."""
    (body,) = regions
    inputs, state = split_state(operands, regions)
    carry, xs, outer = inputs[:carries], inputs[carries : carries + slices], inputs[carries + slices :]
    written = body.written

    def step(loop: Any, items: Any) -> Any:
        values, held = loop
        full = [held[written.index(i)] if i in written else value for i, value in enumerate(state)]
        outputs, new = emit(body, [*values, *items, *outer], full)
        return (_strong(outputs[:carries], values), [new[i] for i in written]), outputs[carries:]

    start = (_strong(carry, carry), [state[i] for i in written])
    (outputs, new), stacked = lax.scan(step, start, xs, length=length, reverse=reverse, unroll=unroll)
    return [*outputs, *stacked, *new]
