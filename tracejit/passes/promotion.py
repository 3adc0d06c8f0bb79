"""The promote pass: every implicit conversion becomes a `cast` operation with its rule and the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import policies
from tracejit.dtypes import DType, integer_range
from tracejit.errors import ImplicitCastError, compose
from tracejit.ir import Graph, Literal, Operation, ScalarType, TensorType, Type, Value
from tracejit.locations import Location
from tracejit.ops.record import RECORDS, Op
from tracejit.passes.inference import Conversion, fits, infer
from tracejit.passes.verification import checked


@checked(takes_promoted=False)
def promote(graph: Graph) -> Graph:
    """Return the Graph with all conversions written out; afterwards each dtype group is of one dtype.

    Raises ImplicitCastError for the conversions that the `strict` policy does not allow, all in one report.
    """
    result = promote_all(graph)
    if result.violations:
        raise refusal(graph.name, result.violations)
    return result.graph


class Violation(NamedTuple):
    """A conversion that a policy which reports casts does not allow: what is converted, and where."""

    what: str
    location: Location | None


class Promotion(NamedTuple):
    """What promoting gave: the Graph, what its policy does not allow, and by id the Values that others replaced."""

    graph: Graph
    violations: list[Violation]
    replaced: dict[int, Value]


def promote_all(graph: Graph) -> Promotion:
    """Promote past what the policy does not allow."""
    promoter = _Promoter([])
    return Promotion(promoter.run(graph), promoter.violations, promoter.known)


def refusal(name: str, violations: Sequence[Violation]) -> ImplicitCastError:
    """Word the error for a function's violations, all in one report."""
    return ImplicitCastError(
        f"{len(violations)} implicit conversion{'s' if len(violations) > 1 else ''} in {name}\n"
        + "\n".join([compose(f"- {what}", location=location) for what, location in violations]),
        rule="strict: only a Python scalar of the tensor's kind or a lower one is converted implicitly",
        fix="write each conversion, as in ops.cast(x, tracejit.float32)",
    )


class _Promoter:
    """One run over one Graph. Values are shared with the Graph as written: only casts are new."""

    def __init__(self, violations: list[Violation]):
        self.violations = violations
        self.operations: list[Operation] = []
        #: Results of comparisons whose answer is known, by the id of the Value that they stand for.
        self.known: dict[int, Value] = {}

    def run(self, graph: Graph) -> Graph:
        for operation in graph.operations:
            self._operation(operation)
        outputs = [self._new(value) for value in graph.outputs]
        new_state = [self._new(value) for value in graph.new_state]
        return Graph(graph.name, graph.inputs, graph.state, self.operations, outputs, new_state, graph.location)

    def _new(self, value: Value) -> Value:
        return self.known.get(id(value), value) if self.known else value

    def _operation(self, operation: Operation) -> None:
        operands = [self._new(value) for value in operation.operands]
        if operation.regions:
            regions = [_Promoter(self.violations).run(region) for region in operation.regions]
            self.operations.append(operation.replaced(operands, regions))
            return
        op = RECORDS.get(operation.name)
        if op is not None and operands:
            answer = self._convert(operation, op, operands)
            if answer is not None:
                self.operations.append(answer)
                self.known[id(operation.result)] = answer.result
                return
        same = all(a is b for a, b in zip(operands, operation.operands))
        self.operations.append(operation if same else operation.replaced(operands))

    def _convert(self, operation: Operation, op: Op, operands: list[Value]) -> Operation | None:
        """Convert the operands in place; return an operation only if the answer is known without computing."""
        policy = policies.get(operation.policy)
        # What has been promoted already (a promoted Graph, a carry of a loop) needs no value any more.
        settled = policy.needs_values and any(map(is_implicit_cast, operands))
        inference = infer(op, operands, operation.attributes, policy, settled=settled)
        for position, conversion in enumerate(inference.conversions):
            if conversion is None or not _differs(operands[position].type, conversion.to):
                continue
            operand = operands[position]
            overflows = isinstance(operand, Literal) and not fits(operand.value, conversion.to)
            if op.comparison and overflows and policy.out_of_range == "error":
                return _known_comparison(operation, op, position, operand.value, conversion.to)  # pyright: ignore[reportAttributeAccessIssue]
            name = op.spread(len(operands))[position].name
            self._judge(operation, operand, name, conversion, policy)
            operands[position] = self._cast(operand, conversion, operation)
        return None

    def _cast(self, operand: Value, conversion: Conversion, operation: Operation) -> Value:
        attributes: dict[str, Any] = {"dtype": conversion.to, "rule": conversion.rule.name}
        result_type: Type
        if isinstance(conversion.to, ScalarType):
            attributes["dtype"], result_type = conversion.to.kind, conversion.to
        else:
            result_type = TensorType(conversion.to, operand.type.shape)
        cast = Operation(
            "cast",
            [operand],
            [result_type],
            attributes=attributes,
            location=operation.location,
            policy=operation.policy,
        )
        self.operations.append(cast)
        return cast.result

    def _judge(self, operation: Operation, operand: Value, name: str, conversion: Conversion, policy: Any) -> None:
        if not policy.reports_casts or isinstance(conversion.to, ScalarType):
            return
        type_ = operand.type
        dtype = None if isinstance(type_, ScalarType) else type_.dtype
        kind = type_.kind if isinstance(type_, ScalarType) else type_.dtype.kind
        if not policy.is_silent(policies.Operand(dtype, kind), conversion.to):
            what = f"{operation.name}: {name} {type_} to {conversion.to.code} ({conversion.rule.text})"
            self.violations.append(Violation(what, operation.location))


def is_implicit_cast(value: Value) -> bool:
    """Say whether a Value is made by a cast that nobody wrote: it carries the rule that asked for it."""
    made = value.producer
    return made is not None and made.name == "cast" and "rule" in made.attributes


def _differs(type_: Type, to: DType | ScalarType) -> bool:
    return type_ != to if isinstance(to, ScalarType) else isinstance(type_, ScalarType) or type_.dtype is not to


def _known_comparison(operation: Operation, op: Op, position: int, value: Any, dtype: Any) -> Operation:
    """Answer a comparison with an int outside the tensor's dtype by its true value (DECISIONS)."""
    above = value > integer_range(dtype)[1]
    literal_is_greater = above if position == 1 else not above
    truth = {"==": False, "!=": True, "<": literal_is_greater, "<=": literal_is_greater}
    answer = truth[op.comparison] if op.comparison in truth else not literal_is_greater
    type_ = operation.result.type
    return Operation(
        "constant",
        [],
        [type_],
        attributes={"value": np.full(type_.shape, answer), "rule": "out-of-range-comparison"},
        location=operation.location,
        policy=operation.policy,
    )
