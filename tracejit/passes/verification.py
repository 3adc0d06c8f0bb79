"""The verifier: the rules of the IR. It runs after every pass in tests (`TRACEJIT_VERIFY=1`), and when asked."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tracejit import policies
from tracejit.dtypes import DType
from tracejit.errors import TracejitError, VerificationError
from tracejit.ir import Callee, Graph, Literal, Operation, ScalarType, Value
from tracejit.ops.record import RECORDS, Op
from tracejit.passes.inference import infer
from tracejit.printer import mark_operation

#: Whether Graphs are verified before and after every pass.
ENABLED = os.environ.get("TRACEJIT_VERIFY", "0") not in ("", "0")

Pass = Callable[[Graph], Graph]


def checked(*, takes_promoted: bool) -> Callable[[Pass], Pass]:
    """Make a pass verify what it takes and what it gives, where that is enabled."""

    def decorate(run: Pass) -> Pass:
        @functools.wraps(run)
        def verified(graph: Graph) -> Graph:
            verify(graph, promoted=takes_promoted)
            return verify(run(graph), promoted=True)

        return verified if ENABLED else run

    return decorate


def verify(graph: Graph, *, promoted: bool = False) -> Graph:
    """Check a Graph and return it; `promoted` asks for explicit conversions too.

    Every value is defined once and before its use, regions are closed, the recorded types are those that `infer`
    gives, only state is written and keeps its type; after promotion no operand is left to convert. Raises
    VerificationError, whose message shows the Graph with a mark under the operation.

    >>> from tracejit.ir import Graph
    >>> verify(Graph("empty")).name
    'empty'
    """
    _Verifier(graph, promoted).run()
    return graph


class _Verifier:
    def __init__(self, graph: Graph, promoted: bool):
        self.graph, self.promoted = graph, promoted
        self.defined: set[int] = set()
        self.state: set[int] = set()

    def run(self) -> None:
        for value in (*self.graph.inputs, *self.graph.state):
            self._define(value, None)
        self.state.update(map(id, self.graph.state))
        for operation in self.graph.operations:
            self._operation(operation)
        for value in (*self.graph.outputs, *self.graph.new_state):
            self._use(value, None)
        self._check_state()

    def _fail(self, operation: Operation | None, note: str) -> NoReturn:
        raise VerificationError(f"{note}\n{mark_operation(self.graph, operation, note)}")

    def _define(self, value: Value, operation: Operation | None) -> None:
        if id(value) in self.defined:
            self._fail(operation, "a value is defined twice")
        self.defined.add(id(value))

    def _use(self, value: Value, operation: Operation | None) -> None:
        if not isinstance(value, Literal) and id(value) not in self.defined:
            self._fail(operation, f"a value of type {value.type} is used before it is defined, or is another Graph's")

    def _check_state(self) -> None:
        if len(self.graph.state) != len(self.graph.new_state):
            self._fail(None, "state and new state differ in number")
        for old, new in zip(self.graph.state, self.graph.new_state):
            if old.type != new.type:
                self._fail(None, f"Parameter {old.name} of {old.type} ends as {new.type}")

    def _operation(self, operation: Operation) -> None:
        for value in operation.operands:
            self._use(value, operation)
        for name, attribute in operation.attributes.items():
            if not _allowed(attribute):
                self._fail(operation, f"attribute {name} holds a {type(attribute).__name__}, which no text can show")
        for region in operation.regions:
            verify(region, promoted=self.promoted)
        op = RECORDS.get(operation.name)
        if operation.regions:
            self._check_regions(operation)
        elif op is not None:
            self._check_types(operation, op)
            self._check_writes(operation, op)
        if operation.name == "no_bad_index":  # what index checks in regions tell is threaded through like state
            self.state.add(id(operation.result))
        for value in operation.results:
            self._define(value, operation)

    def _check_regions(self, operation: Operation) -> None:
        """Check that all regions use the same of their surroundings, and that written state is a Parameter's."""
        count = len(operation.regions[0].state)
        held = operation.operands[len(operation.operands) - count :]
        for region in operation.regions:
            if [value.type for value in region.state] != [value.type for value in held]:
                self._fail(operation, f"region {region.name} has other state than the operation gives it")
        written = sorted({i for region in operation.regions for i in region.written})
        for position, result in zip(written, operation.results[len(operation.results) - len(written) :]):
            if id(held[position]) not in self.state or result.type != held[position].type:
                self._fail(operation, f"what region {operation.regions[0].name} writes is no Parameter's value")
            self.state.add(id(result))

    def _check_types(self, operation: Operation, op: Op) -> None:
        attributes = {name: value for name, value in operation.attributes.items() if name != "rule"}
        if operation.name == "cast" and isinstance(attributes["dtype"], str):
            return  # a Python scalar made one of another kind, by promotion
        try:
            policy = policies.get(operation.policy)
            inference = infer(op, operation.operands, attributes, policy, settled=self.promoted)
        except TracejitError as error:
            self._fail(operation, f"the operands do not fit the operator: {error.what}")
        if inference.results != operation.result_types:
            self._fail(operation, f"results are {operation.result_types}, they should be {inference.results}")
        if self.promoted:
            self._check_promoted(operation, inference.conversions)

    def _check_promoted(self, operation: Operation, conversions: Sequence[Any]) -> None:
        for value, conversion in zip(operation.operands, conversions):
            if conversion is None:
                continue
            held = value.type if isinstance(value.type, ScalarType) else value.type.dtype
            if held != conversion.to:
                self._fail(operation, f"an operand of {value.type} is still to be converted to {conversion.to}")

    def _check_writes(self, operation: Operation, op: Op) -> None:
        for position, result in zip(op.writes, operation.results):
            if id(operation.operands[position]) not in self.state:
                self._fail(operation, f"operand {position} is written and is no Parameter's value")
            self.state.add(id(result))


def _allowed(attribute: Any) -> bool:
    if isinstance(attribute, tuple):
        return all(map(_allowed, attribute))
    if isinstance(attribute, np.ndarray):
        return type(attribute) is np.ndarray and attribute.dtype.isnative
    return (
        attribute is None or isinstance(attribute, DType) or type(attribute) in (bool, int, float, complex, str, Callee)
    )
