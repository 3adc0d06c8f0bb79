"""Regions: functions traced into Graphs of their own, inside the trace of another.

An operation with regions takes, after operands of its own, what its regions use: outer values first (captured
arrays among them), then Parameters; all regions of one operation take the same, in one order. It gives, after results
of its own, the new values of the Parameters that any of them writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.ambient import AMBIENT, current_policy
from tracejit.bridge import backend
from tracejit.dispatch import as_value
from tracejit.dtypes import as_dtype
from tracejit.errors import DTypeError
from tracejit.ir import Graph, Literal, Operation, ScalarType, Type, Value
from tracejit.locations import location_of, user_location
from tracejit.ops.record import RECORDS
from tracejit.tensor import Tensor, constant, host_array, wrap
from tracejit.tracer import Builder, tracing


def current_builder() -> Builder | None:
    """Return the builder of the trace that is going on; None outside of one."""
    ambient = AMBIENT.get()
    return ambient.builder if ambient is not None else None


class Region:
    """A function traced for explicit arguments of some types, with what it turned out to use and to return."""

    def __init__(self, builder: Builder, outputs: list[Value], structure: Any, names: list[str]):
        self.builder, self.outputs, self.structure, self.names = builder, outputs, structure, names

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the outputs."""
        return tuple([value.type for value in self.outputs])


def trace_region(
    function: Callable[..., Any],
    types: Sequence[Type],
    arguments: Callable[[list[Tensor]], Sequence[Any]],
    *,
    no_writes: str | None = None,
    differentiated: bool = False,
    keeps_checks: bool = False,
    names: Sequence[str | None] = (),
) -> Region:
    """Trace a function into a region of the current trace.

    `arguments` makes the function's arguments of handles to the explicit inputs, which have the given types. With
    `keeps_checks` the caller deals with what index checks in the region tell.
    """
    parent = current_builder()
    assert parent is not None
    name = getattr(function, "__name__", type(function).__name__)
    builder = Builder(
        name,
        location_of(function),
        parent,
        no_writes=no_writes,
        differentiated=differentiated,
        keeps_checks=keeps_checks,
    )
    given = [*names, *[None] * (len(types) - len(names))]
    handles = [wrap(builder.argument(type_, label or None)) for type_, label in zip(types, given)]
    with tracing(builder):
        result = function(*arguments(handles))
        leaves, structure = backend.flatten_named(result)
        outputs = [output_value(builder, leaf, name, path) for path, leaf in leaves]
    return Region(builder, outputs, structure, [path for path, _ in leaves])


def output_value(builder: Builder, leaf: Any, function: str, path: str) -> Value:
    """Return the Value of something that a traced function returns; Python scalars stay Literals."""
    if isinstance(leaf, Tensor):
        return as_value(builder, leaf)
    if leaf.__class__ in (bool, int, float, complex):
        return Literal(leaf)
    if backend.is_array(leaf):
        return as_value(builder, wrap(leaf))
    try:
        return constant(builder, host_array(leaf, None))
    except DTypeError:
        raise DTypeError(
            f"{function} returned {leaf!r} ({type(leaf).__name__}){f' at {path}' if path else ''}",
            rule="a traced function returns Tensors and numbers, in any container",
        ) from None


def as_tensor_value(builder: Builder, value: Value) -> Value:
    """Return a tensor for a Value that may be a Python scalar, which takes its default dtype."""
    if not isinstance(value.type, ScalarType):
        return value
    return cast_value(builder, value, value.type.dtype, "returned-scalar")


def cast_value(builder: Builder, value: Value, dtype: Any, rule: str | None = None) -> Value:
    """Record a cast; with a rule, it counts as an implicit conversion."""
    operation = builder.record(RECORDS["cast"], [value], {"dtype": as_dtype(dtype)}, current_policy())
    if rule is not None:
        operation.attributes = {**operation.attributes, "rule": rule}
    return operation.result


def record_regions(
    name: str,
    operands: Sequence[Value],
    regions: Sequence[Region],
    result_types: Sequence[Type],
    attributes: dict[str, Any] | None = None,
) -> tuple[Value, ...]:
    """Record an operation with regions in the current trace; returns its own results.

    What the regions use becomes operands, and what they write the Parameters' current values.
    """
    parent = current_builder()
    assert parent is not None
    outer = _union([region.builder.outer for region in regions])
    slots = _union([region.builder.slots for region in regions])
    graphs = [_graph(region, outer, slots) for region in regions]
    held = [parent.slot(slot.key, slot.initial.type, slot.initial.name) for slot in slots.values()]
    written = [i for i in range(len(held)) if any(i in graph.written for graph in graphs)]
    operation = Operation(
        name,
        [*operands, *[theirs for theirs, _ in outer.values()], *[slot.current for slot in held]],
        [*result_types, *[held[i].initial.type for i in written]],
        attributes=attributes or {},
        regions=graphs,
        location=user_location(),
        policy=current_policy().name,
        scope=parent.scope,
    )
    parent.operations.append(operation)
    for position, value in zip(written, operation.results[len(result_types) :]):
        held[position].current = value
    return operation.results[: len(result_types)]


def _union(tables: Sequence[dict[int, Any]]) -> dict[int, Any]:
    together: dict[int, Any] = {}
    for table in tables:
        for key, entry in table.items():
            together.setdefault(key, entry)
    return together


def _graph(region: Region, outer: dict[int, Any], slots: dict[int, Any]) -> Graph:
    """Return a region's Graph with inputs for all that any region of the operation uses."""
    builder = region.builder
    inputs = [*builder.arguments]
    for key, (theirs, _) in outer.items():
        own = builder.outer.get(key)
        inputs.append(own[1] if own is not None else Value(theirs.type, name=theirs.name))
    state, new_state = [], []
    for key, slot in slots.items():
        own = builder.slots.get(key)
        initial = own.initial if own is not None else Value(slot.initial.type, name=slot.initial.name)
        state.append(initial)
        new_state.append(own.current if own is not None else initial)
    return Graph(builder.name, inputs, state, builder.operations, region.outputs, new_state, builder.location)


class Leaves:
    """A tree of arguments in the current trace: its Values, and the way back to the tree."""

    def __init__(self, tree: Any):
        builder = current_builder()
        assert builder is not None
        named, self.structure = backend.flatten_named(tree)
        self.names = [path for path, _ in named]
        self.values = [output_value(builder, leaf, "the call", path) for path, leaf in named]

    @property
    def types(self) -> list[Type]:
        """The types of the leaves."""
        return [value.type for value in self.values]

    def tree(self, leaves: Sequence[Any]) -> Any:
        """Return the tree with other leaves."""
        return backend.unflatten(self.structure, leaves)


def tracing_again(region: Region) -> Any:
    """Return a context in which a region that was traced takes further operations."""
    region.builder.scope.alive = True
    return tracing(region.builder)


def spell_tree(structure: Any) -> str:
    """Return a tree in words, with a star for each Tensor or number."""
    return str(structure).removeprefix("PyTreeDef(").removesuffix(")")


def results_tree(structure: Any, values: Sequence[Value]) -> Any:
    """Return the tree of an operation's results."""
    return backend.unflatten(structure, [wrap(value) for value in values])
