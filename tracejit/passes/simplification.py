"""The simplify pass: merges equal operations, folds casts that cannot change a value, drops what nobody uses."""

from __future__ import annotations

from typing import Any

from tracejit.dtypes import DType, holds
from tracejit.ir import Graph, Literal, Operation, ScalarType, Value
from tracejit.ops.record import RECORDS
from tracejit.passes.verification import checked


@checked(takes_promoted=True)
def simplify(graph: Graph) -> Graph:
    """Return a Graph that computes the same values with no more operations.

    Operations with an effect are kept as they are, in order; so are those with regions, whose Graphs are simplified.
    """
    replaced: dict[int, Value] = {}
    seen: dict[Any, Operation] = {}
    operations: list[Operation] = []

    def new(value: Value) -> Value:
        return replaced.get(id(value), value)

    for operation in graph.operations:
        moved = _moved(operation, [new(value) for value in operation.operands] if replaced else None)
        shortcut = _fold_cast(moved)
        if shortcut is not None:
            replaced[id(operation.result)] = shortcut
            continue
        key = _key(moved)
        twin = seen.setdefault(key, moved) if key is not None else moved
        if twin is not moved:
            replaced.update((id(before), after) for before, after in zip(operation.results, twin.results))
        else:
            operations.append(moved)
    outputs = [new(value) for value in graph.outputs]
    new_state = [new(value) for value in graph.new_state]
    kept = _used(operations, [*outputs, *new_state])
    return Graph(graph.name, graph.inputs, graph.state, kept, outputs, new_state, graph.location)


def _moved(operation: Operation, operands: list[Value] | None) -> Operation:
    if operation.regions:
        regions = [simplify(region) for region in operation.regions]
        return operation.replaced(operation.operands if operands is None else operands, regions)
    if operands is None or all(a is b for a, b in zip(operands, operation.operands)):
        return operation
    return operation.replaced(operands)


def _has_effect(operation: Operation) -> bool:
    op = RECORDS.get(operation.name)
    if op is not None and op.effect:
        return True
    return any(_has_effect(inner) for region in operation.regions for inner in region.operations)


def _key(operation: Operation) -> Any:
    """Return what makes two operations the same; None for those that are never merged."""
    if operation.regions or operation.name == "constant" or _has_effect(operation):
        return None
    operands = tuple(
        [(x.value.__class__, repr(x.value)) if x.__class__ is Literal else id(x) for x in operation.operands]  # pyright: ignore[reportAttributeAccessIssue]
    )
    if not operation.attributes:
        return operation.name, operands
    # Which policy decided does not matter once the casts are written; the cast's rule does not change its value.
    attributes = {name: value for name, value in operation.attributes.items() if name != "rule"}
    return operation.name, operands, repr(attributes)


def _fold_cast(operation: Operation) -> Value | None:
    """Return the Value that a cast can be replaced by; None where the cast is needed as it stands."""
    if operation.name != "cast":
        return None
    (operand,) = operation.operands
    to = operation.attributes["dtype"]
    if isinstance(operand.type, ScalarType) or not isinstance(to, DType):
        return None
    if operand.type.dtype is to:
        return operand
    inner = operand.producer
    if inner is not None and inner.name == "cast" and not isinstance(inner.operands[0].type, ScalarType):
        source = inner.operands[0]
        # There and back, or on to a dtype: only if the middle held every value of the source.
        if holds(operand.type.dtype, source.type.dtype) and source.type.dtype is to:
            return source
    return None


def _used(operations: list[Operation], roots: list[Value]) -> list[Operation]:
    needed = {id(value) for value in roots}
    kept = []
    for operation in reversed(operations):
        if _has_effect(operation) or any(id(value) in needed for value in operation.results):
            kept.append(operation)
            needed.update(map(id, operation.operands))
    kept.reverse()
    return kept
