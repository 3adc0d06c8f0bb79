"""The tracer: records the operators that a function calls, on abstract values, into a Graph.

A Builder knows Values, captured arrays and the slots of Parameters; Tensors are known only to the modules above.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracejit import policies
from tracejit.ambient import surroundings
from tracejit.errors import EscapedValueError
from tracejit.ir import Graph, Operation, Scope, TensorType, Type, Value
from tracejit.locations import Location, user_location
from tracejit.ops.record import RECORDS, Bound, Op
from tracejit.passes.inference import check_literals, infer
from tracejit.policies import Policy


class Slot:
    """A Parameter inside a trace: its key, the Value it had at the start, and the one it has now."""

    __slots__ = ("current", "initial", "key")

    def __init__(self, key: Any, initial: Value):
        self.key, self.initial, self.current = key, initial, initial


class Builder:
    """One trace under way, that of a function or, with a `parent`, that of a region.

    `captured` lists the arrays that became inputs, in the order of their inputs. A region captures through its
    parents: what it uses of its surroundings, arrays too, is in `outer`.
    """

    def __init__(
        self,
        name: str,
        location: Location | None = None,
        parent: Builder | None = None,
        *,
        no_writes: str | None = None,
        differentiated: bool = False,
    ):
        self.name, self.location, self.parent = name, location, parent
        #: Why nothing may be written here; None where it may.
        self.no_writes = no_writes or (parent.no_writes if parent is not None else None)
        #: Whether gradients are taken of this region: written values are then constants to them.
        self.differentiated = differentiated or (parent is not None and parent.differentiated)
        #: The values of the surroundings that a region uses, with the inputs that stand for them.
        self.outer: dict[int, tuple[Value, Value]] = {}
        self.scope = Scope(name, parent.scope if parent is not None else None)
        self.operations: list[Operation] = []
        self.arguments: list[Value] = []
        self.captured: list[Any] = []
        self._captured_values: list[Value] = []
        self._captured_at: dict[int, int] = {}
        self.slots: dict[int, Slot] = {}
        #: Index checks that run with the program: the operation, its bound, and the Value that tells.
        self.checks: list[tuple[Operation, Bound, Value]] = []

    def argument(self, type_: Type, name: str | None = None) -> Value:
        """Add an input for an argument."""
        value = Value(type_, name=name, scope=self.scope)
        self.arguments.append(value)
        return value

    def capture(self, array: Any, type_: TensorType, name: str | None = None) -> Value:
        """Return the input that stands for an array from outside the trace; one array is one input."""
        if self.parent is not None:
            return self.close_over(self.parent.capture(array, type_, name))
        position = self._captured_at.get(id(array))
        if position is None:
            position = self._captured_at[id(array)] = len(self.captured)
            self.captured.append(array)  # keeps the array alive, so that its id stays its own
            self._captured_values.append(Value(type_, name=name, scope=self.scope))
        return self._captured_values[position]

    def slot(self, key: Any, type_: TensorType, name: str | None = None) -> Slot:
        """Return the slot of a Parameter, which its key identifies."""
        slot = self.slots.get(id(key))
        if slot is None:
            slot = self.slots[id(key)] = Slot(key, Value(type_, name=name, scope=self.scope))
        return slot

    def close_over(self, value: Value) -> Value:
        """Return what stands here for a value of the surroundings; EscapedValueError for one of another trace."""
        if value.scope is self.scope:
            return value
        if self.parent is None or value.scope is None or not value.scope.alive:
            raise escaped(value)
        theirs = self.parent.close_over(value)
        known = self.outer.get(id(theirs))
        if known is None:
            known = self.outer[id(theirs)] = (theirs, Value(theirs.type, name=theirs.name, scope=self.scope))
        return known[1]

    def record(self, op: Op, operands: Sequence[Value], attributes: dict[str, Any], policy: Policy) -> Operation:
        """Record an operation as written, with the result types that the policy gives."""
        inference = infer(op, operands, attributes, policy)
        check_literals(op, operands, inference, policy)
        operation = Operation(
            op.name,
            operands,
            inference.results,
            attributes=attributes,
            location=user_location(2),
            policy=policy.name,
            scope=self.scope,
        )
        self.operations.append(operation)
        return operation

    def check_indices(self, operation: Operation, bounds: Sequence[Bound]) -> None:
        """Record, for each bound, a Value that tells whether an index lies outside it, and which."""
        for bound in bounds:
            indices = operation.operands[bound.position]
            attributes = {"limits": bound.limits, "coordinates": bound.coordinates, "negative": bound.negative}
            check = self.record(RECORDS["check_indices"], [indices], attributes, policies.get(operation.policy))
            check.location = operation.location
            self.checks.append((operation, bound, check.result))

    def finish(self, outputs: Sequence[Value]) -> Graph:
        """Return the Graph of what was recorded."""
        slots = list(self.slots.values())
        return Graph(
            self.name,
            [*self.arguments, *self._captured_values],
            [slot.initial for slot in slots],
            self.operations,
            outputs,
            [slot.current for slot in slots],
            self.location,
        )


def escaped(value: Value) -> EscapedValueError:
    """Word the error for a traced value that is used outside of its trace."""
    function = value.scope.function if value.scope is not None else "a function"
    producer = value.producer
    made = f" by {producer.name}" if producer is not None else ""
    where = f" at {producer.location}: {producer.location.text}" if producer and producer.location else ""
    return EscapedValueError(
        f"a traced value of {function} was used after its trace (it escaped from jit)",
        types={value.name or "value": value.type},
        rule=f"it was made{made}{where}; a traced value stands for a result only while {function} is traced",
        fix=f"return it from {function}, or keep it in a Parameter",
    )


@contextmanager
def tracing(builder: Builder) -> Iterator[None]:
    """Make a builder the current one for a block; its values are dead afterwards, whatever happens.

    The cyclic garbage collector pauses: a trace only allocates, and collecting makes long ones superlinear.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        with surroundings(builder=builder):
            yield
    finally:
        builder.scope.alive = False
        if collecting:
            gc.enable()
