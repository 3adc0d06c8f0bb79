"""Lowerings of transforms: a region becomes a function for `jax.value_and_grad`, `jax.vmap` and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from lowering.control import Emit, split_state
from lowering.jaxprs import primitives
from lowering.registry import lower_regions
from tracejit.errors import GradientError
from tracejit.ir import Graph


def _with(values: Sequence[Any], places: Sequence[int], others: Sequence[Any]) -> list[Any]:
    changed = list(values)
    for place, value in zip(places, others):
        changed[place] = value
    return changed


@lower_regions("value_and_grad")
def value_and_grad(
    emit: Emit,
    operands: Sequence[Any],
    regions: Sequence[Graph],
    arguments: tuple[int, ...],
    parameters: tuple[int, ...],
) -> list[Any]:
    """Differentiate the region's first output by some inputs and some state."""
    (region,) = regions
    inputs, state = split_state(operands, regions)

    def loss(by_inputs: Any, by_state: Any) -> Any:
        outputs, new = emit(region, _with(inputs, arguments, by_inputs), _with(state, parameters, by_state))
        return outputs[0], (outputs[1:], [new[i] for i in region.written])

    chosen = [inputs[i] for i in arguments], [state[i] for i in parameters]
    with _going_back(region):
        (value, (others, new)), gradients = jax.value_and_grad(loss, (0, 1), has_aux=True)(*chosen)
    return [value, *others, *gradients[0], *gradients[1], *new]


@lower_regions("jvp")
def jvp(emit: Emit, operands: Sequence[Any], regions: Sequence[Graph], arguments: int) -> list[Any]:
    """Differentiate the region along tangents of its explicit inputs, which follow those among the operands."""
    (region,) = regions
    primals, tangents = operands[:arguments], operands[arguments : 2 * arguments]
    outer, state = split_state(operands[2 * arguments :], regions)

    def run(*values: Any) -> Any:
        outputs, new = emit(region, [*values, *outer], state)
        return outputs, [new[i] for i in region.written]

    _check_forward(region, run, primals, tangents)
    outputs, derivatives, new = jax.jvp(run, primals, tangents, has_aux=True)
    return [*outputs, *derivatives, *new]


@lower_regions("vjp")
def vjp(emit: Emit, operands: Sequence[Any], regions: Sequence[Graph], arguments: int) -> list[Any]:
    """Pull cotangents of the region's outputs back to its explicit inputs; what it writes is not written again."""
    (region,) = regions
    count = arguments + len(region.outputs)
    primals, cotangents = operands[:arguments], operands[arguments:count]
    outer, state = split_state(operands[count:], regions)
    with _going_back(region):
        _, back = jax.vjp(lambda *values: emit(region, [*values, *outer], state)[0], *primals)
        return [*back(list(cotangents)), *[state[i] for i in region.written]]


def _check_forward(region: Graph, run: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Say in the user's terms that a function with a gradient of its own has no forward derivative.

    JAX finds that out when it lowers what it has differentiated, too late to say whose doing it was.
    """
    own = [operation for operation in region.walk() if operation.name == "custom_vjp"]
    if not own:
        return
    jaxpr = jax.make_jaxpr(lambda p, t: jax.jvp(run, p, t, has_aux=True))(list(primals), list(tangents))
    if "custom_lin" in primitives(jaxpr.jaxpr):
        raise GradientError(
            f"{region.name} has no forward derivative: {own[0].regions[0].name} in it has a gradient of its own",
            location=own[0].location,
            rule="custom_vjp says how to go back through a function, not how to go forward",
            fix="use grad or vjp, or leave the function its own derivatives",
        )


@contextmanager
def _going_back(region: Graph) -> Iterator[None]:
    """Say in the user's terms that a loop has no gradient."""
    try:
        yield
    except ValueError as error:
        loops = [o for o in region.walk() if o.name in ("while_loop", "fori_loop")]
        loops = [o for o in loops if not o.attributes.get("known_bounds")]
        if "Reverse-mode" not in str(error) or not loops:
            raise
        raise GradientError(
            f"{region.name} has no gradient: a {loops[0].name} in it has no known number of turns",
            location=loops[0].location,
            rule="going back needs what every turn computed, and so a number of turns that is known while tracing",
            fix="use scan, or fori_loop with Python ints as bounds; forward derivatives (jvp) go through any loop",
        ) from None


@lower_regions("vmap")
def vmap(
    emit: Emit,
    operands: Sequence[Any],
    regions: Sequence[Graph],
    in_axes: tuple[int | None, ...],
    out_axes: tuple[int, ...],
    size: int,
) -> list[Any]:
    """Map the region over an axis of some explicit inputs; everything else is the same for all."""
    (region,) = regions
    inputs, state = split_state(operands, regions)
    mapped, outer = inputs[: len(in_axes)], inputs[len(in_axes) :]

    def run(*values: Any) -> list[Any]:
        return [jnp.asarray(x) for x in emit(region, [*values, *outer], state)[0]]

    if not out_axes:
        return []
    return jax.vmap(run, in_axes=in_axes, out_axes=list(out_axes), axis_size=size)(*mapped)


@lower_regions("checkpoint")
def checkpoint(emit: Emit, operands: Sequence[Any], regions: Sequence[Graph]) -> list[Any]:
    """Run the region so that its intermediate values are computed again for a gradient."""
    (region,) = regions
    inputs, state = split_state(operands, regions)

    def run(inputs: Any, state: Any) -> Any:
        outputs, new = emit(region, inputs, state)
        return outputs, [new[i] for i in region.written]

    outputs, new = jax.checkpoint(run)(inputs, state)
    return [*outputs, *new]


@lower_regions("custom_vjp")
def custom_vjp(
    emit: Emit, operands: Sequence[Any], regions: Sequence[Graph], results: int, arguments: int
) -> list[Any]:
    """Run the first region; its gradient is that of the second (forward) and third (backward) one."""
    function, forward, backward = regions
    inputs, state = split_state(operands, regions)
    given, outer = inputs[:arguments], inputs[arguments:]

    @jax.custom_vjp
    def run(given: Any, outer: Any, state: Any) -> Any:
        return emit(function, [*given, *outer], state)[0]

    def fwd(given: Any, outer: Any, state: Any) -> Any:
        outputs, _ = emit(forward, [*given, *outer], state)
        return outputs[:results], (outputs[results:], outer, state)

    def bwd(kept: Any, cotangents: Any) -> Any:
        residuals, outer, state = kept
        outputs, _ = emit(backward, [*residuals, *cotangents, *outer], state)
        cotangents = [x if jnp.issubdtype(x.dtype, jnp.inexact) else _zero(x) for x in outputs]
        return cotangents, *[[_zero(x) for x in values] for values in (outer, state)]

    run.defvjp(fwd, bwd)
    return list(run(given, outer, state))


def _zero(x: Any) -> Any:
    """Return the zero cotangent of a value: float0 for what has no gradient."""
    x = jnp.asarray(x)
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.zeros(x.shape, jax.dtypes.float0)
