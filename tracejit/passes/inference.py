"""What an operation's types are: the one function that the tracer, the promote pass and the verifier ask.

`infer` puts the policy's decision for each dtype group together with the operator's accepted dtypes and its shape
rule. Answers are remembered, so that a call like an earlier one costs one dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracejit import policies
from tracejit.bridge import backend
from tracejit.dtypes import DType, integer_range, is_integer
from tracejit.errors import DTypeError, ParameterCastError, ScalarOverflowError
from tracejit.ir import SCALAR_TYPES, Literal, ScalarType, TensorType, Type, Value
from tracejit.ops.record import INDEX_DTYPES, Op, Operand
from tracejit.policies import UNKNOWN, Policy, Rule

_HYPER_RULE = Rule("hyper-parameter", "A scalar input with a group of its own takes the written Parameter's dtype.")


class Conversion(NamedTuple):
    """What becomes of one operand: the dtype (or scalar kind) it is converted to, and the rule that says so."""

    to: DType | ScalarType
    rule: Rule


class Inference(NamedTuple):
    """The types of an operation's results, and operand by operand the conversion; None: taken as it is."""

    results: tuple[Type, ...]
    conversions: tuple[Conversion | None, ...]
    groups: Mapping[str, DType]


_known: dict[Any, Inference] = {}


def infer(op: Op, operands: Sequence[Value], attributes: Mapping[str, Any], policy: Policy) -> Inference:
    """Return result types and conversions of an operation, or raise the error that the call deserves."""
    types = tuple([operand.type for operand in operands])
    key = (op.name, policy.name, types, repr(attributes) if attributes else None)
    if policy.needs_values:
        key += (tuple([repr(x.value) if isinstance(x, Literal) else None for x in operands]),)
    known = _known.get(key) if op.name != "constant" else None
    if known is None:
        known = _infer(op, operands, types, attributes, policy)
        if op.name != "constant":
            _known[key] = known
    return known


def _infer(op: Op, operands: Sequence[Value], types: tuple[Type, ...], attributes: Mapping[str, Any], policy: Policy):
    specs = op.spread(len(types))
    conversions: list[Conversion | None] = [None] * len(types)
    groups: dict[str, DType] = {}
    for group, positions in _groups(specs).items():
        decided = _decide(op, group, positions, operands, types, specs, policy)
        if decided.dtype is None:
            return _scalar_operation(op, types, decided.kind)
        groups[group] = decided.dtype
        for position, rule in zip(positions, decided.rules):
            conversions[position] = Conversion(decided.dtype, rule)
    _check_operands(op, specs, types)
    _convert_hyper_parameters(specs, types, conversions, groups)
    for group, dtype in groups.items():
        accepted = op.accepted(group, policy.dialect)
        if accepted is not None and dtype not in accepted:
            raise _not_accepted(op, types, group, dtype, accepted, policy)
    return Inference(_result_types(op, types, conversions, groups, attributes, policy), tuple(conversions), groups)


def _groups(specs: Sequence[Operand]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for position, spec in enumerate(specs):
        if spec.group is not None and spec.role != "scalar":
            groups.setdefault(spec.group, []).append(position)
    return groups


def _decide(op, group, positions, operands, types, specs, policy: Policy):  # noqa: ANN001, ANN202
    seen = tuple([_as_seen(operands[i], types[i], specs[i], policy) for i in positions])
    if all(operand.dtype is None for operand in seen):
        return _decide_scalars(op, positions, operands, types, seen, policy)
    if op.tensors_only and any(operand.dtype is None for operand in seen):
        raise DTypeError(
            f"{op.name} takes tensors, not Python scalars",
            types=op.names_of(types),
            fix="wrap the scalar, as in tracejit.Tensor(2.0)",
        )
    try:
        return policy.decide(seen)
    except policies.WrittenConversion as error:
        raise _parameter_cast(op, positions, operands, types, error, policy) from None
    except policies.PromotionError as error:
        raise DTypeError(
            f"{op.name}: {error.reason}", types=op.names_of(types), rule=_rule_text(policy, error.rule), fix=error.fix
        ) from None


def _as_seen(operand: Value, type_: Type, spec: Operand, policy: Policy) -> policies.Operand:
    if isinstance(type_, ScalarType):
        value = operand.value if policy.needs_values and isinstance(operand, Literal) else UNKNOWN
        return policies.Operand(None, type_.kind, value, 0)
    return policies.Operand(type_.dtype, type_.dtype.kind, UNKNOWN, type_.ndim, spec.role == "write")


def _decide_scalars(op, positions, operands, types, seen, policy: Policy):  # noqa: ANN001, ANN202
    traced = any(not isinstance(operands[i], Literal) for i in positions)
    if op.scalars is None or (not traced and len(positions) > 1):
        raise DTypeError(
            f"{op.name} needs at least one tensor; it was given Python scalars only",
            types=op.names_of(types),
            fix="make one of them a tensor, as in tracejit.Tensor(2.0), or compute with Python's own operators",
        )
    return policy.decide(seen)


def _parameter_cast(op, positions, operands, types, error, policy: Policy) -> ParameterCastError:  # noqa: ANN001
    position = positions[error.position]
    name = operands[position].name or op.spread(len(types))[position].name
    held, needed = error.held, error.needed
    return ParameterCastError(
        f"{op.name} writes Parameter {name!r} of {held.name}, which the conversion to {needed.name} would need",
        types=op.names_of(types),
        rule=f"{policy.name}: a Parameter that an operator writes is never converted",
        fix=f"convert the other operand explicitly, as in ops.cast(value, tracejit.{held.name})",
    )


def _rule_text(policy: Policy, rule: Rule | str | None) -> str:
    return f"{policy.name}: {rule.text if isinstance(rule, Rule) else rule or 'no rule joins these types'}"


def _not_accepted(op, types, group, dtype, accepted, policy: Policy) -> DTypeError:  # noqa: ANN001
    names = ", ".join(sorted((d.name for d in accepted), key=lambda name: (name.rstrip("0123456789"), len(name), name)))
    return DTypeError(
        f"{op.name} does not take {dtype.name}",
        types=op.names_of(types),
        rule=f"{policy.name} (dialect {policy.dialect}): {op.class_name} computes in {names}",
        fix=f"convert an operand, as in ops.cast(x, tracejit.{_nearest(dtype, accepted).name})",
    )


def _nearest(dtype: DType, accepted: frozenset[DType]) -> DType:
    from tracejit.dtypes import float32, holds, int32

    wider = [d for d in (int32, float32) if d in accepted]
    candidates = wider or sorted(accepted, key=lambda d: d.bits)
    return next((d for d in candidates if holds(d, dtype)), candidates[0])


def _check_operands(op: Op, specs: Sequence[Operand], types: Sequence[Type]) -> None:
    for spec, type_ in zip(specs, types):
        if spec.role == "index" and (isinstance(type_, ScalarType) or type_.dtype not in INDEX_DTYPES):
            raise DTypeError(
                f"{op.name}: {spec.name} must be an int32 or int64 tensor, not {type_}",
                types=op.names_of(types),
                fix=f"convert it, as in ops.cast({spec.name}, tracejit.int32)",
            )
        if spec.group is None and spec.role == "read" and isinstance(type_, ScalarType) and op.scalars != "cast":
            raise DTypeError(
                f"{op.name}: {spec.name} must be a tensor, not a Python {type_}",
                types=op.names_of(types),
                fix="wrap it, as in tracejit.Tensor(2.0)",
            )


def _convert_hyper_parameters(specs, types, conversions, groups) -> None:  # noqa: ANN001
    written = next((spec.group for spec in specs if spec.role == "write"), None)
    for position, spec in enumerate(specs):
        if spec.role == "scalar" and written is not None:
            groups.setdefault(spec.group, groups[written])
            conversions[position] = Conversion(groups[written], _HYPER_RULE)


def _scalar_operation(op: Op, types: tuple[Type, ...], kind: str) -> Inference:
    """Type an operation on Python scalars inside a trace: it stays a scalar (DECISIONS: a weak scalar)."""
    computed = SCALAR_TYPES["float" if op.scalars == "float" and kind != "complex" else kind]
    if op.scalars == "same" and kind == "bool":
        computed = SCALAR_TYPES["bool" if op.name.startswith("bitwise") else "int"]
    result = SCALAR_TYPES["bool"] if op.scalars == "bool" else computed
    rule = Rule("scalar-scalar", "Python scalars compute as Python does and stay scalars.")
    return Inference((result,), tuple([Conversion(computed, rule)] * len(types)), {})


def _result_types(op, types, conversions, groups, attributes, policy: Policy) -> tuple[Type, ...]:  # noqa: ANN001
    if op.shape is None:
        converted = [TensorType(c.to, t.shape) if c is not None else t for t, c in zip(types, conversions)]
        return backend.abstract_results(op.name, tuple(converted), attributes)
    shapes = op.shape(op, types, attributes)
    names = {"-": types[0].dtype, **groups} if types else groups
    return tuple(
        [TensorType(op.result_dtype(i, names, attributes, policy.dialect), shape) for i, shape in enumerate(shapes)]
    )


def check_literals(op: Op, operands: Sequence[Value], inference: Inference, policy: Policy) -> None:
    """Refuse known Python integers that the integer dtype of their group cannot hold, as the policy says."""
    for operand, conversion in zip(operands, inference.conversions):
        if isinstance(operand, Literal) and conversion is not None and isinstance(conversion.to, DType):
            if not fits(operand.value, conversion.to):
                _refuse(op, operand.value, conversion.to, policy)


def fits(value: Any, dtype: DType) -> bool:
    """Say whether a Python scalar can be given to a dtype: only an int to an integer dtype can fail."""
    if value.__class__ is not int or not is_integer(dtype):
        return True
    low, high = integer_range(dtype)
    return low <= value <= high


def _refuse(op: Op, value: int, dtype: DType, policy: Policy) -> None:
    compares = op.comparison is not None and policy.out_of_range == "error"
    wraps = policy.out_of_range == "wrap"
    if (compares or wraps) and -(2**63) <= value < 2**63:
        return
    low, high = integer_range(dtype)
    raise ScalarOverflowError(
        f"{op.name}: the Python int {value} does not fit {dtype.name} ({low} to {high})",
        rule=f"{policy.name}: a Python scalar takes the dtype of its group",
        fix="convert the tensor to a wider dtype first, as in ops.cast(x, tracejit.int64)",
    )
