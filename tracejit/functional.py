"""A jitted function as a pure one: the values of its Parameters come in and go out, as JAX's transformations need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.ambient import AMBIENT
from tracejit.bridge import backend
from tracejit.errors import DTypeError, ParameterAliasError, ParameterError, ShapeError, StateError, TraceError
from tracejit.ir import Graph, TensorType
from tracejit.parameter import Parameter
from tracejit.plans import Entry
from tracejit.tensor import new_data, wrap


def call_functional(entry: Entry, leaves: Sequence[Any], params: Mapping[Any, Any]) -> tuple[Any, dict[Any, Any]]:
    """Run an entry's function on given values of its Parameters; returns its result, and their values afterwards."""
    name = entry.owner.name
    signature = entry.signature(leaves)
    recorded = entry.recorded(signature)
    if recorded.checks:
        raise TraceError(
            f"{name}.functional cannot check indices",
            rule="check_indices=True looks at the indices before anything is kept, and a pure function keeps nothing",
            fix="make it with check_indices=None or False",
        )
    parameters = [_alive(storage.parameter(), name) for storage in recorded.parameters]
    _check_names(name, parameters, params, recorded.simplified)
    state = [_given(name, p, params[p.name]) if p.name in params else p.snapshot() for p in parameters]
    if backend.under_transformation():
        backend.check_x64(recorded.simplified)
    program = entry.functional.get(signature)
    if program is None:
        program = _program(recorded.simplified, name)
        if recorded.lasting:
            entry.functional[signature] = program
    outputs, new = program([*leaves, *recorded.captured, *state])
    after = {p.name: value for p, value in zip(parameters, new, strict=True) if p.name in params}
    return backend.unflatten(recorded.structure, [wrap(array) for array in outputs]), after


def _program(graph: Graph, name: str) -> Any:
    """Make the program of a Graph whose state is among its inputs and outputs."""
    inputs, outputs = [*graph.inputs, *graph.state], [*graph.outputs, *graph.new_state]
    closed = Graph(graph.name, inputs, [], graph.operations, outputs, [], graph.location)
    structure = backend.flatten(([0] * len(graph.outputs), [0] * len(graph.new_state)))[1]
    return backend.Program(lambda types: (closed, structure), name)


def check_not_tracing(name: str) -> None:
    """Raise TraceError inside a trace of tracejit's own."""
    ambient = AMBIENT.get()
    if ambient is not None and ambient.builder is not None:
        raise TraceError(
            f"{name}.functional was called inside {ambient.builder.name}, which is being traced",
            rule="it is for JAX code; inside a trace, Parameters are read and written as they are",
            fix=f"call {name} itself, which becomes part of the trace",
        )


def _alive(parameter: Parameter | None, name: str) -> Parameter:
    if parameter is None:
        raise StateError(f"a Parameter that {name} uses no longer exists", fix="keep the Parameters")
    return parameter


def _check_names(name: str, parameters: Sequence[Parameter], params: Mapping[Any, Any], graph: Graph) -> None:
    """See that every value belongs to one Parameter, and that all that is written is among them."""
    names = [parameter.name for parameter in parameters]
    unknown = [given for given in params if given not in names]
    if unknown:
        raise ParameterError(
            f"{name}.functional was given {', '.join(map(repr, unknown))}, which {name} does not use",
            rule=f"{name} uses {', '.join(sorted(repr(n) for n in names if n)) or 'no named Parameters'}",
            fix="give the values of Parameters that the function uses, by their names",
        )
    twice = [given for given in params if names.count(given) > 1]
    if twice:
        raise ParameterAliasError(
            f"{name} uses several Parameters named {', '.join(map(repr, twice))}",
            rule="values are given by name",
            fix="give the Parameters names of their own",
        )
    lost = [names[i] for i in graph.written if names[i] not in params]
    if lost:
        raise StateError(
            f"{name}.functional has no value for {', '.join(n or '(unnamed)' for n in lost)}, which {name} writes",
            rule="a pure function leaves every Parameter as it is: what it writes goes in and comes out by name",
            fix="give their values too, as in {p.name: p.value() for p in parameters}",
        )


def _given(name: str, parameter: Parameter, value: Any) -> Any:
    """Return the array given for a Parameter; it is never converted."""
    data = new_data(value, None)
    found, wanted = backend.type_of(data), parameter._type
    if found == wanted:
        return data
    types: dict[str, TensorType] = {"parameter": wanted, "value": found}
    kind = DTypeError if found.dtype is not wanted.dtype else ShapeError
    raise kind(
        f"{name}.functional: Parameter {parameter.name!r} is {wanted} and was given {found}",
        types=types,
        rule="the dtype and shape of a Parameter never change",
    )
