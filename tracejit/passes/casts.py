"""What the implicit conversions of a promoted Graph are: which operand of which operator, by which rule, at what cost.

`jit(on_lossy=...)` and `explain_casts` both read this list, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tracejit import policies
from tracejit.dtypes import BY_NAME, DType, holds, integer_range, is_integer
from tracejit.ir import Graph, Literal, Operation, ScalarType, TensorType, Type, Value
from tracejit.locations import Location
from tracejit.ops.record import RECORDS

LOSSLESS, WIDENING, LOSSY = "lossless", "widening", "lossy"


class CastRecord(NamedTuple):
    """One implicit conversion.

    `operation` is the operator that asked for it and `operand` the name of its operand; `from_` is the operand's type
    (`i32[4]`, or the kind of a Python scalar) and `value` its value where that is a scalar written in the program;
    `to` the dtype (or the kind of scalar) that it becomes, by `rule` of `policy`.
    """

    operation: str
    operand: str
    from_: Type
    to: DType | ScalarType
    rule: str
    policy: str
    location: Location | None
    judgement: str
    value: object = None

    @property
    def why(self) -> str:
        """The sentence that explains the rule; empty for a rule that the policy does not know."""
        try:
            return policies.get(self.policy).rule(self.rule).text
        except KeyError:
            return ""

    @property
    def spelled_from(self) -> str:
        """What is converted, in words: `i32[4]`, or `2.5 (float)` for a scalar of known value."""
        return str(self.from_) if self.value is None else f"{self.value!r} ({self.from_})"

    def __str__(self) -> str:
        return f"{self.operation}: {self.operand} {self.spelled_from} to {self.to} ({self.judgement}, {self.rule})"


def implicit_casts(graph: Graph) -> list[CastRecord]:
    """List the implicit conversions of a promoted Graph, those of its regions included, in program order.

    >>> from tracejit.dtypes import float32, int32
    >>> from tracejit.ir import Graph, Operation, TensorType, Value
    >>> from tracejit.passes import promote
    >>> x, y = Value(TensorType(int32, (4,)), name="x"), Value(TensorType(float32, (4,)), name="y")
    >>> add = Operation("add", [x, y], [y.type])
    >>> print(*implicit_casts(promote(Graph("f", [x, y], operations=[add], outputs=add.results))))
    add: input_x i32[4] to float32 (lossy, highest-priority)
    """
    return list(_records(graph))


def explicit_casts(graph: Graph) -> list[Operation]:
    """List the casts that the user wrote, those in regions included."""
    return [operation for operation in graph.walk() if operation.name == "cast" and "rule" not in operation.attributes]


def _records(graph: Graph) -> Iterator[CastRecord]:
    waiting: dict[int, Operation] = {}  # by the id of its result, a cast whose consumer is still to come
    for operation in graph.operations:
        for region in operation.regions:
            yield from _records(region)
        if operation.name == "cast" and "rule" in operation.attributes:
            waiting[id(operation.result)] = operation
        elif waiting:
            yield from _consumed(operation, waiting)
    for cast in waiting.values():  # no operator's operand: it became a result of the function
        yield _record(cast, "return", "result", ())


def _consumed(consumer: Operation, waiting: dict[int, Operation]) -> Iterator[CastRecord]:
    op = RECORDS.get(consumer.name)
    specs = op.spread(len(consumer.operands)) if op is not None and not consumer.regions else None
    for position, value in enumerate(consumer.operands):
        cast = waiting.pop(id(value), None)
        if cast is None:
            continue
        name = specs[position].name if specs is not None else f"operand {position}"
        beside = () if specs is None else _group(consumer, position)
        yield _record(cast, consumer.name, name, beside)


def _group(consumer: Operation, position: int) -> Sequence[Value]:
    """Return the operands that are converted together with the one at a position, itself included."""
    specs = RECORDS[consumer.name].spread(len(consumer.operands))
    return [value for spec, value in zip(specs, consumer.operands) if spec.group == specs[position].group]


def _record(cast: Operation, consumer: str, operand: str, group: Sequence[Value]) -> CastRecord:
    (source,), to = cast.operands, cast.result.type
    target = to if isinstance(to, ScalarType) else to.dtype
    judgement = judge(source, target)
    if judgement == LOSSLESS and isinstance(target, DType) and _is_wider(target, group):
        judgement = WIDENING
    value = source.value if isinstance(source, Literal) else None
    rule = str(cast.attributes["rule"])
    return CastRecord(consumer, operand, source.type, target, rule, cast.policy, cast.location, judgement, value)


def _is_wider(target: DType, group: Sequence[Value]) -> bool:
    """Say whether no tensor of the group, as it was before it was converted, has the dtype that the group has now."""
    tensors = [type_ for type_ in map(_original, group) if isinstance(type_, TensorType)]
    return bool(tensors) and all(type_.dtype is not target for type_ in tensors)


def _original(value: Value) -> Type:
    made = value.producer
    if made is not None and made.name == "cast" and "rule" in made.attributes:
        return made.operands[0].type
    return value.type


def judge(source: Value, to: DType | ScalarType) -> str:
    """Say whether a conversion is lossless or lossy (DECISIONS: every value of the source is exact in the target).

    A scalar written in the program is judged by its value, where a Python float stands for the float32 nearest to it
    (0.1 in float32 loses nothing, 0.1 in float16 does); one that is only known when the program runs by the dtype
    that Python scalars of its kind have where nothing else decides.
    """
    if isinstance(to, ScalarType):
        return LOSSLESS
    if isinstance(source, Literal) and source.value is not None:
        return LOSSLESS if keeps(source.value, to) else LOSSY
    return LOSSLESS if holds(to, source.type.dtype) else LOSSY


def keeps(value: bool | int | float | complex, to: DType) -> bool:
    """Say whether a Python scalar keeps its value in a dtype; a float may be rounded as far as float32 rounds it.

    >>> import tracejit
    >>> keeps(300, tracejit.float16), keeps(300, tracejit.uint8), keeps(0.1, tracejit.float32)
    (True, False, True)
    """
    if isinstance(value, bool):
        return True
    if is_integer(to):
        low, high = integer_range(to)
        return value.imag == 0 and value.real % 1 == 0 and low <= value.real <= high
    if to.kind == "bool":
        return value in (0, 1)
    if to.kind != "complex" and value.imag != 0:
        return False
    real = BY_NAME[f"float{to.bits // 2}"] if to.kind == "complex" else to
    return _keeps_real(value.real, real) and _keeps_real(value.imag, real)


def _keeps_real(value: int | float, to: DType) -> bool:
    if value != value or abs(value) == float("inf"):
        return True
    try:
        with np.errstate(all="ignore"):
            stored = float(np.asarray(float(value)).astype(to.numpy))
            nearest = float(np.float32(value)) if isinstance(value, float) else value
    except OverflowError:  # a Python int beyond every float
        return False
    return stored in (value, nearest)
