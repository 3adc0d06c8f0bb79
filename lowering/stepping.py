"""Running a Graph operation by operation, regions too, with somebody looking at the results of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from lowering.arrays import x64_scope
from lowering.control import split_state, written_state
from lowering.emit import read_value, results_of
from tracejit.ir import Graph, Literal, Operation

#: Called after each operation with it, its results, and where it ran: the loops, branches and gradients around it.
Look = Callable[[Operation, Sequence[Any], tuple[str, ...]], None]


def step_through(graph: Graph, inputs: Sequence[Any], state: Sequence[Any], look: Look) -> list[Any]:
    """Run a promoted Graph on arrays, one operation at a time; returns the outputs. Nothing is compiled or written."""
    with x64_scope():
        return _Stepper(look).run(graph, inputs, state, ())[0]


class _Stepper:
    def __init__(self, look: Look):
        self.look = look

    def run(
        self, graph: Graph, inputs: Sequence[Any], state: Sequence[Any], where: tuple[str, ...]
    ) -> tuple[list[Any], list[Any]]:
        env: dict[int, Any] = {id(value): array for value, array in zip(graph.inputs, inputs)}
        env.update({id(value): array for value, array in zip(graph.state, state)})
        for operation in graph.operations:
            results = self._results(operation, env, graph, where)
            self.look(operation, results, where)
            env.update({id(value): array for value, array in zip(operation.results, results)})
        return [read_value(v, env) for v in graph.outputs], [read_value(v, env) for v in graph.new_state]

    def _results(
        self, operation: Operation, env: dict[int, Any], graph: Graph, where: tuple[str, ...]
    ) -> Sequence[Any]:
        into = getattr(self, f"_into_{operation.name}", None) if operation.regions else None
        if into is None:
            return results_of(operation, env, graph)
        return into(operation, [read_value(value, env) for value in operation.operands], where)

    # Branches

    def _into_cond(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        return self._branch(operation, int(bool(operands[0])), operands[1:], where)

    def _into_switch(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        number = min(max(int(operands[0]), 0), len(operation.regions) - 1)
        return self._branch(operation, number, operands[1:], where)

    def _branch(self, operation: Operation, number: int, used: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        region = operation.regions[number]
        inputs, state = split_state(used, operation.regions)
        outputs, new = self.run(region, inputs, state, (*where, f"branch {region.name} of {operation.name}"))
        return [*outputs, *[new[i] for i in written_state(operation.regions)]]

    # Loops

    def _into_while_loop(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        test, body = operation.regions
        inputs, state = split_state(operands, operation.regions)
        count = len(body.outputs)
        carry, outer = inputs[:count], inputs[count:]
        turn = 0
        while True:
            inside = (*where, f"turn {turn} of while_loop")
            if not bool(self.run(test, [*carry, *outer], state, inside)[0][0]):
                break
            carry, state = self.run(body, [*carry, *outer], state, inside)
            turn += 1
        return [*carry, *[state[i] for i in body.written]]

    def _into_fori_loop(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        (body,) = operation.regions
        count = len(body.outputs)
        carry, (lower, upper), used = operands[:count], operands[count : count + 2], operands[count + 2 :]
        outer, state = split_state(used, operation.regions)
        for index in range(int(lower), int(upper)):
            at = jnp.asarray(index, jnp.asarray(lower).dtype)
            inside = (*where, f"turn {index} of fori_loop")
            carry, state = self.run(body, [*carry, at, *outer], state, inside)
        return [*carry, *[state[i] for i in body.written]]

    def _into_scan(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        (body,) = operation.regions
        attributes = operation.attributes
        carries, slices, length = attributes["carries"], attributes["slices"], attributes["length"]
        inputs, state = split_state(operands, operation.regions)
        carry, xs, outer = inputs[:carries], inputs[carries : carries + slices], inputs[carries + slices :]
        stacked: list[Any] = [None] * length
        for turn in reversed(range(length)) if attributes["reverse"] else range(length):
            inside = (*where, f"turn {turn} of scan")
            outputs, state = self.run(body, [*carry, *[x[turn] for x in xs], *outer], state, inside)
            carry, stacked[turn] = outputs[:carries], outputs[carries:]
        types = [value.type for value in operation.results[carries : len(body.outputs)]]
        results = [_stacked([items[i] for items in stacked], type_) for i, type_ in enumerate(types)]
        return [*carry, *results, *[state[i] for i in body.written]]

    # Transforms

    def _into_checkpoint(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        return self._branch(operation, 0, operands, where)

    def _into_custom_vjp(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        return self._branch(operation, 0, operands, where)

    def _into_vmap(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        (region,) = operation.regions
        inputs, state = split_state(operands, operation.regions)
        axes, out_axes = operation.attributes["in_axes"], operation.attributes["out_axes"]
        mapped, outer = inputs[: len(axes)], inputs[len(axes) :]
        examples = []
        for number in range(operation.attributes["size"]):
            given = [x if axis is None else jnp.take(x, number, axis) for x, axis in zip(mapped, axes)]
            inside = (*where, f"example {number} of vmap")
            examples.append(self.run(region, [*given, *outer], state, inside)[0])
        types = [value.type for value in operation.results]
        return [_stacked([e[i] for e in examples], t, out_axes[i]) for i, t in enumerate(types)]

    def _into_value_and_grad(
        self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]
    ) -> Sequence[Any]:
        (region,) = operation.regions
        inputs, state = split_state(operands, operation.regions)
        self.run(region, inputs, state, (*where, f"grad of {region.name}"))
        self._backward(region, inputs, state, (*where, f"the gradient, going back through {region.name}"))
        return results_of(operation, dict(zip(map(id, operation.operands), operands)), region)

    def _into_vjp(self, operation: Operation, operands: Sequence[Any], where: tuple[str, ...]) -> Sequence[Any]:
        (region,) = operation.regions
        arguments = operation.attributes["arguments"]
        rest = operands[arguments + len(region.outputs) :]
        inputs, state = split_state([*operands[:arguments], *rest], operation.regions)
        self.run(region, inputs, state, (*where, f"vjp of {region.name}"))
        return results_of(operation, dict(zip(map(id, operation.operands), operands)), region)

    def _backward(self, region: Graph, inputs: Sequence[Any], state: Sequence[Any], where: tuple[str, ...]) -> None:
        """Go back through a region from its first output, and look at the cotangents that each operation gives."""
        env: dict[int, Any] = {id(value): array for value, array in zip(region.inputs, inputs)}
        env.update({id(value): array for value, array in zip(region.state, state)})
        pulls = [(operation, _pullback(operation, env, region)) for operation in region.operations]
        held = {id(region.outputs[0]): jnp.ones_like(read_value(region.outputs[0], env))}
        for operation, pull in reversed(pulls):
            if pull is None or not any(id(value) in held for value in operation.results):
                continue
            given = [held.pop(id(value), None) for value in operation.results]
            cotangents = pull(given)
            self.look(operation, [x for _, x in cotangents], where)
            for value, cotangent in cotangents:
                held[id(value)] = held[id(value)] + cotangent if id(value) in held else cotangent


def _stacked(arrays: Sequence[Any], type_: Any, axis: int = 0) -> Any:
    return jnp.stack(arrays, axis) if arrays else jnp.zeros(type_.shape, type_.dtype.numpy)


def _is_float(array: Any) -> bool:
    return jnp.issubdtype(jnp.asarray(array).dtype, jnp.inexact)


def _pullback(operation: Operation, env: dict[int, Any], graph: Graph) -> Callable[..., Any] | None:
    """Run an operation, and return what turns cotangents of its results into those of its float operands."""
    places = {id(v): v for v in operation.operands if not isinstance(v, Literal) and _is_float(env[id(v)])}
    values = list(places.values())

    def run(*arrays: Any) -> list[Any]:
        return list(results_of(operation, {**env, **dict(zip(map(id, values), arrays))}, graph))

    results, back = jax.vjp(run, *[env[id(value)] for value in values])
    env.update({id(value): array for value, array in zip(operation.results, results)})
    if not values:
        return None

    def pull(given: Sequence[Any]) -> list[tuple[Any, Any]]:
        cotangents = [_zero(x) if cotangent is None else cotangent for x, cotangent in zip(results, given)]
        return list(zip(values, back(cotangents)))

    return pull


def _zero(x: Any) -> Any:
    return jnp.zeros_like(x) if _is_float(x) else jnp.zeros(jnp.shape(x), jax.dtypes.float0)


def holds_nan(array: Any) -> bool:
    """Say whether a float or complex array holds NaN."""
    return _is_float(array) and bool(jnp.isnan(jnp.asarray(array)).any())


def holds_inf(array: Any) -> bool:
    """Say whether a float or complex array holds an infinity."""
    return _is_float(array) and bool(jnp.isinf(jnp.asarray(array)).any())
