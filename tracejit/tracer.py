"""The tracer: records the operators that a function calls, on abstract values, into a Graph.

A Builder knows Values, captured arrays and the slots of Parameters; Tensors are known only to the modules above.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tracejit import policies
from tracejit.ambient import DEFAULT_POLICY, surroundings
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


class Check(NamedTuple):
    """The identity of an index check whose answer leaves a region."""

    operation: Operation
    bound: Bound


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
        keeps_checks: bool = False,
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
        #: Whether what index checks tell stays here; from other regions it leaves as if it were a Parameter's value.
        self.keeps_checks = keeps_checks or parent is None
        self._told: list[tuple[Operation, Bound, Value]] = []
        self._check_slots: dict[int, Slot] = {}
        #: The objects on whose attributes the trace depends; one table for a function and all its regions.
        self.subjects: dict[int, Any] = {} if parent is None else parent.subjects

    def depend_on(self, subject: Any) -> None:
        """Note that the trace holds only as long as the attributes of an object are as they are."""
        self.subjects[id(subject)] = subject

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
        kept = isinstance(key, Check) and self.keeps_checks
        slots = self._check_slots if kept else self.slots
        slot = slots.get(id(key))
        if slot is None:
            initial = self._no_bad_index(type_) if kept else Value(type_, name=name, scope=self.scope)
            slot = slots[id(key)] = Slot(key, initial)
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
            self.add_check(operation, bound, check.result)

    def add_check(self, operation: Operation, bound: Bound, told: Value) -> None:
        """Keep what a check tells; the first index outside of its axis counts."""
        if self.keeps_checks:
            self._told.append((operation, bound, told))
            return
        slot = self.slot(Check(operation, bound), told.type)  # pyright: ignore[reportArgumentType]
        slot.current = self.record(RECORDS["first_bad_index"], [slot.current, told], {}, DEFAULT_POLICY).result

    @property
    def checks(self) -> list[tuple[Operation, Bound, Value]]:
        """Index checks that run with the program: the operation, its bound, and the Value that tells."""
        slots = self._check_slots.values()
        return [*self._told, *[(slot.key.operation, slot.key.bound, slot.current) for slot in slots]]

    def _no_bad_index(self, type_: Type) -> Value:
        return self.record(RECORDS["no_bad_index"], [], {"dtype": type_.dtype}, DEFAULT_POLICY).result

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
    """Make a builder the current one for a block; its values are dead afterwards, whatever happens."""
    try:
        with collector_paused(), surroundings(builder=builder):
            yield
    finally:
        builder.scope.alive = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector off for a block that only allocates: it would make long ones superlinear."""
    _collector.pause()
    try:
        yield
    finally:
        _collector.resume()


class _Collector:
    """Keeps the garbage collector off while any thread traces, and turns it on again if it was on before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._traces = 0
        self._was_on = False

    def pause(self) -> None:
        with self._lock:
            if self._traces == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._traces += 1

    def resume(self) -> None:
        with self._lock:
            self._traces -= 1
            if self._traces == 0 and self._was_on:
                gc.enable()


_collector = _Collector()
