"""Running one operator at once.

Each operator has one compiled program per policy, attributes and kinds of operands. Its body builds the Graph of the
one operation, promotes it and lowers it, for whatever dtypes and shapes it meets: JAX's C++ cache is the table of
those, so that a call like an earlier one runs no promotion at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ambient import DEFAULT_POLICY, Ambient
from tracejit.bounded import Bounded
from tracejit.bridge import backend
from tracejit.commit import run_stateful
from tracejit.dtypes import DType
from tracejit.errors import IndexBoundsError
from tracejit.ir import Graph, Literal, Operation, ScalarType, Type, Value
from tracejit.locations import user_location
from tracejit.ops.record import RECORDS, Bound, Op
from tracejit.parameter import Parameter
from tracejit.passes import promote
from tracejit.passes.inference import Inference, check_literals, fits, infer
from tracejit.passes.promotion import promote_all, refusal
from tracejit.placing import check_places
from tracejit.policies import Policy
from tracejit.storage import STATE_LOCK, Written
from tracejit.tensor import Tensor, wrap
from tracejit.tracer import Builder, escaped

#: Programs by operator, policy, attributes and kinds of operands: `x[i]` alone makes one for each number. One takes
#: more than a megabyte.
_programs: Bounded[Any] = Bounded(256)


def run(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy, ambient: Ambient | None) -> Any:
    """Run an operator on accepted operands; returns a Tensor, a tuple of them, or the Parameters it wrote."""
    if op.checks_bounds(None if ambient is None else ambient.check_indices):
        _check_bounds(op, operands, attributes, policy)
    if op.writes:
        return _run_writing(op, operands, attributes, policy)
    raw = []
    for operand in operands:
        if operand.__class__ is not Tensor or policy.needs_values:
            return _run_mixed(op, operands, attributes, policy)
        raw.append(operand._data)
    program = _program(op, [None] * len(raw), attributes, policy)
    return _results(program, raw, op, operands, attributes, policy)


class Shortcut:
    """The program of an operator symbol under the default policy: two arrays in, a Tensor out.

    It gives None where anything is out of the ordinary, and the call then goes the long way.
    """

    __slots__ = ("attributes", "op", "program")

    def __init__(self, op: Op, attributes: dict[str, Any]):
        self.op, self.attributes = op, attributes
        self.program: Any = None

    def __call__(self, arrays: tuple[Any, Any]) -> Tensor | None:
        """Run on two arrays, or give None."""
        if arrays[0].__class__ is not backend.ArrayType or arrays[1].__class__ is not backend.ArrayType:
            return None
        program = self.program
        if program is None:
            program = self.program = _program(self.op, [None, None], self.attributes, DEFAULT_POLICY)
        try:
            result = program(arrays)
        except ValueError:  # JAX's about where the arrays lie; the long way words it
            return None
        if result.__class__ is backend.ArrayType:
            return wrap(result)
        if result.__class__ is backend.Failed:
            result.take_error()  # the long way raises it again, from the right place
        return None


def _results(program: Any, raw: list[Any], op: Op, operands: Any, attributes: dict[str, Any], policy: Policy) -> Any:
    for data in raw:
        if data.__class__ is Value:
            raise escaped(data)
    try:
        results = program(raw)
    except ValueError as error:
        check_places(error, op.name, _named(op, operands))
        raise
    if results.__class__ is tuple:
        return tuple([wrap(array) for array in results])
    if results.__class__ is backend.Failed:
        error = results.take_error()
        values = _check_call(op, operands, attributes, policy)  # raises what the body could not: JAX must not see it
        if error is None:  # met by an earlier call of this signature
            _check_x64(op, values, attributes, policy)
        raise error or AssertionError(f"{op.name} cannot be built")
    return wrap(results)


def _named(op: Op, operands: Sequence[Any]) -> list[tuple[str, Any]]:
    return [(name, x._data) for name, x in zip(op.names_of(operands), operands) if isinstance(x, Tensor)]


def _check_call(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy) -> list[Value]:
    """Raise the error that a call deserves; returns the operands as Values."""
    values = [as_abstract(operand, policy) for operand in operands]
    inference = infer(op, values, attributes, policy)
    check_literals(op, values, inference, policy)
    if policy.reports_casts:
        _check_conversions(op, values, inference, attributes, policy)
    return values


def _check_conversions(
    op: Op, values: list[Value], inference: Inference, attributes: dict[str, Any], policy: Policy
) -> None:
    """Raise ImplicitCastError for the conversions that the policy does not allow."""
    operation = Operation(
        op.name, values, inference.results, attributes=attributes, location=user_location(), policy=policy.name
    )
    inputs = [value for value in dict.fromkeys(values) if not isinstance(value, Literal)]
    violations = promote_all(Graph(op.name, inputs, operations=[operation])).violations
    if violations:
        raise refusal(op.name, violations)


def _check_x64(op: Op, values: Sequence[Value], attributes: dict[str, Any], policy: Policy) -> None:
    """Raise X64Error if the user's own JAX transformation has no 64 bits and the operation needs them."""
    fixed = _fixed(op, values, attributes, policy)
    build = _Build(op, fixed, attributes, policy, _decided(op, values, attributes, policy))
    backend.check_x64(build([value.type for value, mark in zip(values, fixed) if not isinstance(mark, Literal)]))


def as_abstract(operand: Any, policy: Policy) -> Value:
    """Return a Value of an operand's type and name, or the Literal of a Python scalar.

    Where the policy looks at values, that of a 0-d tensor goes with it, as a constant's.
    """
    if not isinstance(operand, Tensor):
        return Literal(operand)
    if operand._data.__class__ is Value:
        raise escaped(operand._data)
    type_, name = operand._type, getattr(operand, "name", None)
    if policy.needs_values and not type_.shape and not backend.is_tracer(operand._data):
        value = Operation("constant", [], [type_], attributes={"value": operand._read("promotion")}).result
        value.name = name
        return value
    return Value(type_, name=name)


class _Build:
    """Builds the promoted Graph of one operation from the types of its operands.

    `fixed` holds, per operand, None for one that comes as an input, a Literal for a scalar whose value is part of
    the program, the type of a scalar that comes as an input, or the number of a written Parameter. `decided` holds
    the dtypes to which operands are converted, where values decided that: the program itself never sees them.
    """

    __slots__ = ("attributes", "decided", "fixed", "op", "policy")

    def __init__(
        self, op: Op, fixed: Sequence[Any], attributes: dict[str, Any], policy: Policy, decided: Sequence[Any]
    ):
        self.op, self.fixed, self.attributes, self.policy, self.decided = op, fixed, attributes, policy, decided

    def __call__(self, inputs: Sequence[Type], state: Sequence[Type] = ()) -> Graph:
        builder = Builder(self.op.name)
        slots = [builder.slot(object(), type_) for type_ in state]  # pyright: ignore[reportArgumentType]
        given = iter(inputs)
        operands = []
        for fixed in self.fixed:
            if fixed.__class__ is int:
                operands.append(slots[fixed].initial)
            elif isinstance(fixed, Literal):
                operands.append(fixed)
            else:
                type_ = next(given)
                operands.append(builder.argument(type_ if fixed is None else fixed))
        for position, dtype in enumerate(self.decided):
            if dtype is not None and not _has_dtype(operands[position], dtype):
                cast = builder.record(RECORDS["cast"], [operands[position]], {"dtype": dtype}, self.policy)
                operands[position] = cast.result
        operation = builder.record(self.op, operands, self.attributes, self.policy)
        for slot, value in zip(slots, operation.results):
            slot.current = value
        return promote(builder.finish(() if slots else operation.results))

    def alone(self, inputs: Sequence[Type]) -> tuple[Graph, None]:
        """Build for a program without state, whose outputs form no tree."""
        return self(inputs), None


def _run_mixed(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy) -> Any:
    """Run on operands of which some are Python scalars or Parameters (which are only read)."""
    values = _check_call(op, operands, attributes, policy)
    fixed = _fixed(op, values, attributes, policy)
    program = _program(op, fixed, attributes, policy, _decided(op, values, attributes, policy))
    with STATE_LOCK:
        return _results(program, _inputs(operands, fixed), op, operands, attributes, policy)


def _inputs(operands: Sequence[Any], fixed: Sequence[Any]) -> list[Any]:
    chosen = [x for x, mark in zip(operands, fixed) if mark.__class__ is not int and not isinstance(mark, Literal)]
    return [x._data if isinstance(x, Tensor) else x for x in chosen]


def _fixed(op: Op, values: Sequence[Value], attributes: dict[str, Any], policy: Policy) -> list[Any]:
    """Say for each operand how it reaches the program (see _Build)."""
    inference = infer(op, values, attributes, policy)
    bake = not op.operands or inference.results[0].__class__.__name__ == "ScalarType"
    fixed: list[Any] = []
    for value, conversion in zip(values, inference.conversions):
        if not isinstance(value, Literal):
            fixed.append(None)
        elif bake or not _is_input(value.value) or (conversion is not None and not fits(value.value, conversion.to)):
            fixed.append(value)  # its value decides: it is out of the dtype's range
        else:
            fixed.append(value.type)
    return fixed


def _is_input(value: Any) -> bool:
    """Say whether a Python scalar can be an input of a program: JAX takes no ints beyond 64 bits, and no None."""
    return value is not None and (value.__class__ is not int or -(2**63) <= value < 2**63)


def _decided(op: Op, values: Sequence[Value], attributes: dict[str, Any], policy: Policy) -> tuple[DType | None, ...]:
    """Return the dtypes to which operands are converted, under a policy that looks at values; else nothing."""
    if not policy.needs_values:
        return ()
    conversions = infer(op, values, attributes, policy).conversions
    return tuple([None if c is None or not isinstance(c.to, DType) else c.to for c in conversions])


def _has_dtype(value: Value, dtype: DType) -> bool:
    return not isinstance(value.type, ScalarType) and value.type.dtype is dtype


def _program(
    op: Op, fixed: list[Any], attributes: dict[str, Any], policy: Policy, decided: tuple[DType | None, ...] = ()
) -> Any:
    marks = tuple([repr(mark) if isinstance(mark, Literal) else mark for mark in fixed])
    key = (op.name, policy.name, repr(attributes) if attributes else None, marks, decided)
    program = _programs.get(key)
    if program is None:
        build = _Build(op, fixed, attributes, policy, decided)
        program = (
            backend.StatefulProgram(build, op.name) if op.writes else backend.Program(build.alone, op.name, inline=True)
        )
        program = _programs.keep(key, program)
    return program


def _run_writing(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy) -> Any:
    """Run an operator that writes Parameters; nothing is touched before the call is known to be right."""
    values = _check_call(op, operands, attributes, policy)
    written: list[Parameter] = [operands[position] for position in op.writes]
    fixed = _fixed(op, values, attributes, policy)
    for position, operand in enumerate(operands):
        for number, parameter in enumerate(written):
            if operand is parameter:
                fixed[position] = number
    program = _program(op, fixed, attributes, policy, _decided(op, values, attributes, policy))
    try:
        with STATE_LOCK:  # operands may be Parameters: no other thread's update comes between reading them and the run
            storages = Written([parameter._storage for parameter in written])
            run_stateful(program, _inputs(operands, fixed), storages, [])
    except ValueError as error:
        check_places(error, op.name, _named(op, operands))
        raise
    return op.returned(written)


# Index bounds


def _check_bounds(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy) -> None:
    assert op.bounds is not None
    types = [value.type for value in _check_call(op, operands, attributes, policy)]
    for bound in op.bounds(op, types, attributes):
        indices = operands[bound.position]
        if not backend.is_tracer(indices._data):
            check_values(op, bound, indices._read("indices"))


def check_known_bounds(op: Op, operands: Sequence[Any], values: Sequence[Value], attributes: dict[str, Any]) -> list:
    """Check, while tracing, the indices whose values are known; returns the bounds of the others."""
    assert op.bounds is not None
    unknown = []
    for bound in op.bounds(op, [value.type for value in values], attributes):
        known = _known_values(operands[bound.position], values[bound.position])
        if known is not None:
            check_values(op, bound, known)
        else:
            unknown.append(bound)
    return unknown


def _known_values(operand: Any, value: Value) -> np.ndarray | None:
    if value.producer is not None and value.producer.name == "constant":
        return value.producer.attributes["value"]
    data = getattr(operand, "_data", None)
    if isinstance(operand, Parameter) or data is None or data.__class__ is Value or backend.is_tracer(data):
        return None
    return backend.to_numpy(data)


def check_values(op: Op, bound: Bound, indices: np.ndarray) -> None:
    """Raise IndexBoundsError if an index lies outside its axis."""
    if not indices.size or not np.issubdtype(indices.dtype, np.integer):
        return
    columns = [indices[..., i] for i in range(len(bound.limits))] if bound.coordinates else [indices]
    for column, limit in zip(columns, bound.limits):
        least = -limit if bound.negative else 0
        bad = column[(column < least) | (column >= limit)]
        if bad.size:
            raise IndexBoundsError(
                f"{op.name}: index {int(bad.flat[0])} is out of bounds for an axis of length {limit}",
                rule="indices never wrap around" if not bound.negative else "negative indices count from the end",
                fix=f"use indices from {least} to {limit - 1}",
            )
