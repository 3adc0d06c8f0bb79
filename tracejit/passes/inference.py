"""What an operation's types are: the one function that the tracer, the promote pass and the verifier ask.

`infer` puts the policy's decision for each dtype group together with the operator's accepted dtypes and its shape
rule. Answers are remembered, so that a call like an earlier one costs one dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracejit import policies
from tracejit.bounded import Bounded
from tracejit.bridge import backend
from tracejit.dtypes import DEFAULT_OF_KIND, DType, float32, holds, int32, integer_range, is_integer, kind_rank, uint32
from tracejit.errors import DTypeError, ParameterCastError, ScalarOverflowError, ShapeError, TracejitError
from tracejit.ir import ABSENT, SCALAR_TYPES, Literal, ScalarType, TensorType, Type, Value
from tracejit.ops.record import INDEX_DTYPES, Op, Operand, in_dialect
from tracejit.policies import UNKNOWN, Decision, Policy, Rule
from tracejit.policies.rules import GENERAL_RULES

_HYPER_RULE, _SCALAR_RULE = (Rule(name, GENERAL_RULES[name]) for name in ("hyper-parameter", "scalar-scalar"))
_ALONE_RULE = Rule("scalars-alone", "Python scalars without a tensor beside them make one of a default dtype.")
KEY_TYPE = TensorType(uint32, (2,))


class Conversion(NamedTuple):
    """What becomes of one operand: the dtype (or scalar type) it is converted to, and the rule that says so."""

    to: DType | ScalarType
    rule: Rule


class Inference(NamedTuple):
    """The types of an operation's results, and operand by operand the conversion; None: taken as it is."""

    results: tuple[Type, ...]
    conversions: tuple[Conversion | None, ...]
    groups: Mapping[str, DType]


_known: Bounded[Inference] = Bounded(16_384)


def infer(
    op: Op, operands: Sequence[Value], attributes: Mapping[str, Any], policy: Policy, *, settled: bool = False
) -> Inference:
    """Return result types and conversions of an operation, or raise the error that the call deserves.

    `settled` operands have been converted to what the group computes in: their values decide nothing any more.
    """
    settled = settled or not policy.needs_values
    if op.name in ("jax_call", "jax_callback"):  # the call that it names knows, and lives no longer than its function
        call = backend.named(attributes["function"])
        return Inference(call.foresee([operand.type for operand in operands]).types, (None,) * len(operands), {})
    if op.name == "constant":  # its array is an attribute: too large for a key, and too rare to meet again
        return _Call(op, operands, attributes, policy, settled).infer()
    key: tuple[Any, ...] = (
        op.name,
        policy.name,
        tuple([operand.type for operand in operands]),
        repr(attributes) if attributes else None,
        all(operand.__class__ is Literal for operand in operands),  # which is an error; traced scalars are none
    )
    if not settled:
        key += (tuple([repr(known_value(operand)) for operand in operands]),)
    known = _known.get(key)
    if known is None:
        known = _known.keep(key, _Call(op, operands, attributes, policy, settled).infer())
    return known


def known_value(value: Value) -> Any:
    """Return the value of a Python scalar or 0-d constant that stands in the program; UNKNOWN for all others."""
    if isinstance(value, Literal):
        return value.value
    made = value.producer
    if made is not None and made.name == "constant" and not value.type.shape:
        return made.attributes["value"].item()
    return UNKNOWN


class _Call:
    """One operation whose types are wanted."""

    def __init__(self, op: Op, operands: Sequence[Value], attributes: Mapping[str, Any], policy: Policy, settled: bool):
        self.op, self.operands, self.attributes, self.policy, self.settled = op, operands, attributes, policy, settled
        self.types: tuple[Type, ...] = tuple([operand.type for operand in operands])
        self.specs = op.spread(len(operands))
        self.conversions: list[Conversion | None] = [None] * len(operands)
        self.groups: dict[str, DType] = {}

    def infer(self) -> Inference:
        for group, positions in self._positions().items():
            if self.specs[positions[0]].exact:
                self._check_agreement(positions)
            decided = self._decide(positions)
            if decided.dtype is None and self.op.scalars in _ALONE:
                decided = Decision(_ALONE[self.op.scalars](decided.kind), decided.kind, (_ALONE_RULE,) * len(positions))
            if decided.dtype is None:
                return self._scalar_operation(decided.kind)
            self.groups[group] = decided.dtype
            for position, rule in zip(positions, decided.rules):
                self.conversions[position] = Conversion(decided.dtype, rule)
        for spec, type_ in zip(self.specs, self.types):
            self._check_operand(spec, type_)
        self._convert_hyper_parameters()
        self._check_accepted()
        return Inference(self._results(), tuple(self.conversions), self.groups)

    def _names(self) -> dict[str, Any]:
        return self.op.names_of(self.types)

    def _positions(self) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = {}
        for position, spec in enumerate(self.specs):
            if spec.group is not None and spec.role != "scalar" and self.types[position] is not ABSENT:
                groups.setdefault(spec.group, []).append(position)
        return groups

    def _seen(self, position: int) -> policies.Operand:
        """Return an operand as the policy sees it."""
        operand, type_ = self.operands[position], self.types[position]
        value = UNKNOWN if self.settled else known_value(operand)
        if isinstance(type_, ScalarType):
            return policies.Operand(None, type_.kind, value, 0)
        written = self.specs[position].role == "write"
        return policies.Operand(type_.dtype, type_.dtype.kind, value, type_.ndim, written)

    def _check_agreement(self, positions: Sequence[int]) -> None:
        """Refuse tensors of several dtypes, and Python scalars to which the tensors' dtype would have to give way."""
        tensors = [self.types[i].dtype for i in positions if not isinstance(self.types[i], ScalarType)]
        kinds = [self.types[i].dtype.kind for i in positions if isinstance(self.types[i], ScalarType)]
        if len(set(tensors)) < 2 and not (tensors and any(kind_rank(k) > kind_rank(tensors[0].kind) for k in kinds)):
            return
        names = ", ".join(dict.fromkeys(self.specs[i].name for i in positions))
        widest = max(tensors, key=lambda dtype: (kind_rank(dtype.kind), dtype.bits))
        raise DTypeError(
            f"{self.op.name}: {names} must be of one dtype",
            types=self._names(),
            rule=f"{self.op.class_name} does not convert its operands (MindSpore's signature puts them in no group)",
            fix=f"convert them explicitly, as in ops.cast(x, tracejit.{widest.name})",
        )

    def _decide(self, positions: Sequence[int]) -> Decision:
        seen = tuple([self._seen(position) for position in positions])
        if all(operand.dtype is None for operand in seen):
            self._check_scalars(positions)
        elif any(operand.dtype is None and self._refuses(operand.kind) for operand in seen):
            raise DTypeError(
                f"{self.op.name} takes tensors, not Python scalars",
                types=self._names(),
                fix="wrap the scalar, as in tracejit.Tensor(2.0)",
            )
        try:
            return self.policy.decide(seen)
        except policies.WrittenConversion as error:
            raise self._parameter_cast(positions[error.position], error) from None
        except policies.ObjectResult as error:
            raise ScalarOverflowError(
                f"{self.op.name}: {error.reason}",
                types=self._names(),
                rule=f"{self.policy.name}: {error.rule}",
                fix=error.fix,
            ) from None
        except policies.PromotionError as error:
            raise DTypeError(
                f"{self.op.name}: {error.reason}",
                types=self._names(),
                rule=f"{self.policy.name}: {error.rule}",
                fix=error.fix,
            ) from None

    def _refuses(self, kind: str) -> bool:
        """Say whether the operator takes no Python scalar of a kind beside its tensors."""
        tensors_only = in_dialect(self.op.tensors_only, self.policy.dialect)
        return bool(tensors_only) and not (tensors_only == "but bool" and kind == "bool")

    def _check_scalars(self, positions: Sequence[int]) -> None:
        """Refuse a group of Python scalars only, but where the operator computes with them inside a trace."""
        traced = any(not isinstance(self.operands[i], Literal) for i in positions)
        if self.op.scalars is None or (not traced and len(positions) > 1 and self.op.scalars not in _ALONE):
            raise DTypeError(
                f"{self.op.name} needs at least one tensor; it was given Python scalars only",
                types=self._names(),
                fix="make one of them a tensor, as in tracejit.Tensor(2.0), or compute with Python's own operators",
            )

    def _parameter_cast(self, position: int, error: policies.WrittenConversion) -> ParameterCastError:
        name = self.operands[position].name or self.specs[position].name
        return ParameterCastError(
            f"{self.op.name} writes Parameter {name!r} of {error.held.name}, which the conversion to "
            f"{error.needed.name} would need",
            types=self._names(),
            rule=f"{self.policy.name}: a Parameter that an operator writes is never converted",
            fix=f"convert the other operand explicitly, as in ops.cast(value, tracejit.{error.held.name})",
        )

    def _check_operand(self, spec: Operand, type_: Type) -> None:
        if type_ is ABSENT and spec.optional:
            return
        scalar = isinstance(type_, ScalarType)
        if spec.role == "key" and type_ != KEY_TYPE:
            raise DTypeError(
                f"{self.op.name}: {spec.name} must be a Generator or a key, a tensor of {KEY_TYPE}, not {type_}",
                types=self._names(),
                fix="pass tracejit.Generator(seed), or a key from its next_key()",
            )
        if spec.role == "index" and (scalar or type_.dtype not in INDEX_DTYPES):
            raise DTypeError(
                f"{self.op.name}: {spec.name} must be an int32 or int64 tensor, not {type_}",
                types=self._names(),
                fix=f"convert it, as in ops.cast({spec.name}, tracejit.int32)",
            )
        if scalar and spec.group is None and spec.role == "read" and self.op.scalars != "cast":
            raise DTypeError(
                f"{self.op.name}: {spec.name} must be a tensor, not a Python {type_}",
                types=self._names(),
                fix="wrap it, as in tracejit.Tensor(2.0)",
            )

    def _convert_hyper_parameters(self) -> None:
        """Give scalars with a group of their own the dtype of what the operator writes."""
        written = next((spec.group for spec in self.specs if spec.role == "write"), None)
        groups: dict[str, list[int]] = {}
        for position, spec in enumerate(self.specs):
            if spec.role == "scalar" and spec.group is not None and written is not None:
                groups.setdefault(spec.group, []).append(position)
                self.conversions[position] = Conversion(self.groups[written], _HYPER_RULE)
        for group, positions in groups.items():
            tensors = any(not isinstance(self.types[i], ScalarType) for i in positions)
            together = self._decide(positions).dtype if tensors and len(positions) > 1 else None
            for position in positions:
                given, name = together or self.types[position].dtype, self.specs[position].name
                if given is not self.groups[written]:  # pyright: ignore[reportArgumentType]
                    self._check_dtype(group, given, f" for {name}", f"{name} may be")

    def _check_accepted(self) -> None:
        for group, dtype in self.groups.items():
            self._check_dtype(group, dtype, "", f"{self.op.class_name} computes in")

    def _check_dtype(self, group: str, dtype: DType, where: str, may_be: str) -> None:
        accepted = self.op.accepted(group, self.policy.dialect)
        if accepted is None or dtype in accepted:
            return
        names = sorted((d.name for d in accepted), key=lambda name: (name.rstrip("0123456789"), len(name), name))
        raise DTypeError(
            f"{self.op.name} does not take {dtype.name}{where}",
            types=self._names(),
            rule=f"{self.policy.name} (dialect {self.policy.dialect}): {may_be} {', '.join(names)}",
            fix=f"convert an operand, as in ops.cast(x, tracejit.{_nearest(dtype, accepted).name})",
        )

    def _scalar_operation(self, kind: str) -> Inference:
        """Type an operation on Python scalars inside a trace: it stays a scalar (DECISIONS: a weak scalar)."""
        scalars = self.op.scalars
        if scalars == "float" and kind != "complex":
            kind = "float"
        if scalars == "same" and kind == "bool" and not self.op.name.startswith("bitwise"):
            kind = "int"
        computed = SCALAR_TYPES[kind]
        result = SCALAR_TYPES["bool"] if scalars == "bool" else computed
        return Inference((result,), (Conversion(computed, _SCALAR_RULE),) * len(self.types), {})

    def _results(self) -> tuple[Type, ...]:
        op, attributes = self.op, self.attributes
        shapes = None if op.shape is None else op.shape(op, self.types, attributes)
        if shapes is None:
            return self._evaluated()
        groups = {"-": self.types[0].dtype, **self.groups} if self.types else self.groups
        dtypes = [op.result_dtype(i, groups, attributes, self.policy.dialect) for i in range(len(shapes))]
        return tuple(map(TensorType, dtypes, shapes))  # pyright: ignore[reportArgumentType]

    def _evaluated(self) -> tuple[Type, ...]:
        """Return the types that the lowering gives, evaluated abstractly."""
        types = tuple(map(_converted, self.types, self.conversions))
        try:
            return backend.abstract_results(self.op.name, types, self.attributes)
        except TracejitError:
            raise
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            attributes = ", ".join(f"{name}={value!r}" for name, value in self.attributes.items())
            raise ShapeError(
                f"{self.op.name} has no result for these shapes{f' and {attributes}' if attributes else ''}",
                types=self._names(),
                rule=f"evaluated without data, its lowering says: {str(error).strip().partition(chr(10))[0]}",
                fix="see the shapes that it takes: help(tracejit.ops." + self.op.name + ")",
            ) from None


#: The dtype of Python scalars alone, where an operator makes a tensor of them (`Op.scalars`).
_ALONE: Mapping[str | None, Any] = {"default": DEFAULT_OF_KIND.__getitem__, "float32": lambda kind: float32}


def _converted(type_: Type, conversion: Conversion | None) -> Type:
    if conversion is None or isinstance(conversion.to, ScalarType):
        return type_
    return TensorType(conversion.to, type_.shape)


def _nearest(dtype: DType, accepted: frozenset[DType]) -> DType:
    """Return the accepted dtype that a message should suggest."""
    candidates = [d for d in (int32, float32) if d in accepted] or sorted(accepted, key=lambda d: d.bits)
    return next((d for d in candidates if holds(d, dtype)), candidates[0])


def check_literals(op: Op, operands: Sequence[Value], inference: Inference, policy: Policy) -> None:
    """Refuse known Python integers that the integer dtype of their group cannot hold, as the policy says."""
    for position, (operand, conversion) in enumerate(zip(operands, inference.conversions)):
        if isinstance(operand, Literal) and conversion is not None:
            if op.check_literal is not None:
                op.check_literal(op, position, operand.value, conversion.to)
            if not fits(operand.value, conversion.to):
                _check_overflow(op, operand.value, conversion.to, policy)


def fits(value: Any, to: DType | ScalarType) -> bool:
    """Say whether a Python scalar can be given to a dtype: only an int to an integer dtype can fail."""
    if value.__class__ is not int or isinstance(to, ScalarType) or not is_integer(to):
        return True
    low, high = integer_range(to)
    return low <= value <= high


def _check_overflow(op: Op, value: Any, dtype: Any, policy: Policy) -> None:
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
