"""What a promotion policy is, and the engine that applies one.

A policy answers one question: given the operands of one dtype group, in which dtype does the group compute, and
which rule decided it for each operand. Policies are data (one file each beside this one); `decide` is the engine.
Eager calls, traced calls and `result_type` all ask here, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

from tracejit.dtypes import ALL, DEFAULT_OF_KIND, DType, kind_rank
from tracejit.errors import AttributeValueError, DTypeError, ParameterCastError
from tracejit.policies.rules import GENERAL_RULES, name_of_scalar_rule
from tracejit.policies.tables import (
    KINDS,
    Grid,
    Joins,
    Node,
    complete_joins,
    complete_scalars,
    read_dtype,
    read_grid,
    read_joins,
    weak_grid,
)


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"

    def __reduce__(self) -> str:
        return "UNKNOWN"


#: The value of a scalar that is only known when the program runs.
UNKNOWN = _Unknown()


class Operand(NamedTuple):
    """One operand of a dtype group, as a policy sees it.

    `dtype` is a tensor's; None for a Python scalar, of which `kind` (bool, int, float, complex) counts and, under
    policies that look at values, `value`. `ndim` is a tensor's rank. `written` marks a Parameter that the operator
    writes: it is never converted.
    """

    dtype: DType | None
    kind: str
    value: object = UNKNOWN
    ndim: int = 1
    written: bool = False


class Rule(NamedTuple):
    """A rule of a policy: a short name (printed in Graphs), and the sentence that explains it."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class Decision(NamedTuple):
    """What a policy decided for a group.

    `dtype` is the dtype in which the group computes; None where every operand is a Python scalar, and then `kind`
    is the kind of the scalar that results. `rules` holds, operand by operand, the rule under which it is converted
    to that dtype (the rule is given also where the operand has the dtype already).
    """

    dtype: DType | None
    kind: str
    rules: tuple[Rule, ...]


class PromotionError(DTypeError):
    """A group that a policy gives no dtype: `reason`, `rule` and `fix`. Who asked adds operator, operands and line."""

    def __init__(self, reason: str, *, rule: Rule, fix: str):
        super().__init__(reason, rule=str(rule), fix=fix)
        self.reason = reason


class WrittenConversion(PromotionError, ParameterCastError):
    """A written Parameter would be converted: its `position` in the group, the dtype it `held`, the one `needed`."""

    def __init__(self, position: int, held: DType, needed: DType, rule: Rule):
        super().__init__(
            f"a Parameter of {held} is written, but its group computes in {needed}",
            rule=rule,
            fix=f"convert the other operands to {held} yourself, or make the Parameter of {needed}",
        )
        self.position, self.held, self.needed = position, held, needed


class ValueNeeded(PromotionError):
    """The dtype depends on a scalar's value, which is only known when the program runs."""


class ObjectResult(PromotionError):
    """Only NumPy's dtype `object` would hold the value: a Python int beyond 64 bits."""


_CHOICES = {
    "dialect": ("r1.1", "2.x"),
    "out_of_range": ("error", "wrap"),
    "numpy_scalars": ("python", "tensor", "value"),
}
# What of an operand can matter where values do not. Equal keys mean equal operands: kinds tell 1 from True and 1.0.
_key_of = itemgetter(0, 1, 3, 4)


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """The rules by which the operands of a dtype group find a common dtype: data, the same for every operator.

    - `tensors`: in what two dtypes meet, as text (`tracejit.policies.tables` has the form) or `{(a, b): dtype}`.
    - `scalars`: what a dtype becomes beside a Python scalar; not needed where `tensors` has weak nodes.
    - `lower_zero_d`: a second such grid, where 0-d tensors are a category below the others (PyTorch).
    - `fold_order`: dtypes, lowest first; tensors are joined from the highest down. Without it, from left to right.
    - `defaults`: the dtype of Python scalars alone, by kind. `rules`: texts of rules, by name; a name of two dtypes
      (`uint8-int8`) is the rule of that pair's join.
    - `dialect`: the operators' (`r1.1`, `2.x`). `out_of_range`: what a Python int does that its dtype cannot hold
      (`error`, `wrap`). `numpy_scalars` count as a Python scalar (`python`), a 0-d tensor (`tensor`), or a scalar of
      value and dtype (`value`). `needs_values`: scalars' values decide. `reports_casts`: conversions are violations.
    - `algorithm` replaces the tables where a system's rule is none. `source` says whose rules these are, and
      `documented` of which dtypes and kinds of scalars the system's own pages speak (without it, of all).

    >>> from tracejit.policies import Operand, Policy
    >>> import tracejit
    >>> policy = Policy("mine", source="house rules", tensors="i32 < f32",
    ...     scalars={("int", "int32"): "int32", ("int", "float32"): "float32", ("float", "float32"): "float32"})
    >>> policy.decide((Operand(tracejit.int32, "int"), Operand(tracejit.float32, "float"))).dtype
    tracejit.float32
    """

    name: str
    source: str
    tensors: str | Mapping[Any, Any]
    scalars: str | Mapping[Any, Any] | None = None
    lower_zero_d: str | None = None
    fold_order: tuple[DType, ...] = ()
    defaults: Mapping[str, DType] = field(default_factory=lambda: DEFAULT_OF_KIND)
    rules: Mapping[str, str] = field(default_factory=dict)
    dialect: str = "r1.1"
    out_of_range: str = "error"
    numpy_scalars: str = "python"
    needs_values: bool = False
    reports_casts: bool = False
    algorithm: Callable[[Policy, tuple[Operand, ...]], Decision] | None = None
    documented: str | None = None
    _joins: Joins = field(init=False)
    _grid: Grid = field(init=False)
    _zero_d: Grid | None = field(init=False)
    _rules: dict[str, Rule] = field(init=False)
    _rank: dict[DType, int] = field(init=False)
    _memo: dict[Any, Decision] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for attribute, choices in _CHOICES.items():
            if getattr(self, attribute) not in choices:
                raise AttributeValueError(
                    f"policy {self.name}: {attribute}={getattr(self, attribute)!r}", fix=f"use one of {choices}"
                )
        if self.fold_order and set(self.fold_order) != set(ALL):
            raise AttributeValueError(f"policy {self.name}: fold_order lacks dtypes", fix="name all of them once")
        joins = read_joins(self.tensors) if isinstance(self.tensors, str) else complete_joins(self.tensors)
        texts = {**GENERAL_RULES, **self.rules}
        store = object.__setattr__  # the way of frozen dataclasses
        store(self, "_joins", joins)
        store(self, "_grid", self._read_scalars(joins))
        store(self, "_zero_d", read_grid(self.lower_zero_d) if self.lower_zero_d else None)
        store(self, "_rank", {dtype: rank for rank, dtype in enumerate(self.fold_order)})
        store(self, "_rules", {name: Rule(name, text) for name, text in texts.items()})

    def _read_scalars(self, joins: Joins) -> Grid:
        if self.scalars is None:
            return weak_grid(joins, self.defaults)
        if isinstance(self.scalars, str):
            return read_grid(self.scalars)
        return complete_scalars(self.scalars)

    def __repr__(self) -> str:
        return f"<Policy {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from tracejit import policies  # the registry, which is made of policies

        return policies.get, (self.name,)

    def documents(self, *nodes: Node) -> bool:
        """Say whether the system's own pages speak of all these dtypes and kinds of Python scalars."""
        if self.documented is None:
            return True
        known = {word if word in KINDS else read_dtype(word) for word in self.documented.split()}
        return known.issuperset(nodes)

    def rule(self, name: str) -> Rule:
        """Return one of the policy's rules by name (KeyError for another)."""
        return self._rules[name]

    def decide(self, operands: tuple[Operand, ...]) -> Decision:
        """Return the dtype in which the operands of one group compute, and each operand's rule.

        Raises PromotionError where the policy does not combine them, WrittenConversion (also a ParameterCastError)
        where a written Parameter would be converted.
        """
        if self.needs_values:
            for operand in operands:
                if operand.value is not UNKNOWN:
                    return self._decide(operands)
        key = tuple(map(_key_of, operands))
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._decide(operands)
        return found

    def is_silent(self, operand: Operand, decided: DType) -> bool:
        """Say whether converting the operand to the decided dtype is no violation.

        Only a policy that reports casts (`strict`) has violations: every conversion but that of a Python scalar to a
        dtype of its kind or a higher one. Where a scalar raised the dtype, the tensors beside it are the violations.
        """
        if not self.reports_casts or operand.dtype is decided:
            return True
        return operand.dtype is None and kind_rank(operand.kind) <= kind_rank(decided.kind)

    def _decide(self, operands: tuple[Operand, ...]) -> Decision:
        decision = (self.algorithm or by_tables)(self, operands)
        for position, (dtype, _, _, _, written) in enumerate(operands):
            if written and dtype is not None and dtype is not decision.dtype:
                assert decision.dtype is not None  # a group with a tensor has one
                raise WrittenConversion(position, dtype, decision.dtype, self._rules["written-parameter"])
        return decision

    def only_scalars(self, operands: tuple[Operand, ...]) -> Decision:
        """Decide a group of Python scalars: no dtype, the highest kind. PromotionError for no operands."""
        rule = self._rules["only-scalars"]
        if not operands:
            raise PromotionError("no operand, so no dtype", rule=rule, fix="give at least one")
        kind = max([operand.kind for operand in operands], key=KINDS.index)
        return Decision(None, kind, (rule,) * len(operands))

    def join(self, dtypes: Iterable[DType]) -> tuple[DType, Rule]:
        """Return the dtype in which tensors of these dtypes meet, and its rule; PromotionError if in none."""
        distinct = list(dict.fromkeys(dtypes))
        if self.fold_order:
            distinct.sort(key=self._rank.__getitem__, reverse=True)
        node: Node = distinct[0]
        for dtype in distinct[1:]:
            joined = self._joins[node, dtype]
            if joined is None:
                raise self.refusal(f"{self._strong(node)} and {dtype} tensors")
            node = joined
        dtype = self._strong(node)
        return dtype, self._rules[self._join_rule(distinct, dtype)]

    def join_pair(self, a: DType, b: DType) -> DType | None:
        """Return the dtype in which two dtypes meet; None where they do not."""
        node = self._joins[a, b]
        return None if node is None else self._strong(node)

    def _strong(self, node: Node) -> DType:
        return self.defaults[node.rstrip("*")] if isinstance(node, str) else node

    def _join_rule(self, dtypes: list[DType], joined: DType) -> str:
        if len(dtypes) == 1:
            return "same-dtype"
        if joined in dtypes:
            return "highest-priority"
        for a, b in combinations(sorted(dtypes, key=ALL.index), 2):
            if f"{a}-{b}" in self._rules and self._joins[a, b] is joined:
                return f"{a}-{b}"
        return "common-dtype"

    def with_scalars(self, dtype: DType, kinds: Iterable[str]) -> tuple[DType, Rule]:
        """Return what a tensor's dtype becomes beside Python scalars of some kinds, and the rule."""
        result, name = dtype, "scalar-adopts"
        for kind in sorted(kinds, key=KINDS.index):  # the highest kind decides, but each has to be allowed
            found = self._grid.get((kind, dtype))
            if found is None:
                raise self.refusal(f"{_a_tensor(dtype)} and a Python {kind}")
            result, name = found, "scalar-adopts" if found is dtype else name_of_scalar_rule(dtype.kind, kind)
        return result, self._rules.get(name, self._rules["scalar-raises"])

    def with_zero_d(self, dtype: DType, lower: DType) -> tuple[DType, Rule]:
        """Return what the dtype of tensors with axes becomes beside 0-d ones, where those are a category below."""
        assert self._zero_d is not None
        result = self._zero_d[lower, dtype]
        if result is None:
            raise self.refusal(f"{_a_tensor(dtype)} and a 0-d {lower} tensor")
        return result, self._rules["zero-d-adopts" if result is dtype else "zero-d-category"]

    def refusal(self, pair: str) -> PromotionError:
        """Word the error of two things that the policy does not combine."""
        return PromotionError(
            f"{pair} do not combine under the policy {self.name}",
            rule=self._rules["not-combined"],
            fix="convert one of them yourself, as in ops.cast(x, tracejit.float32), or use another policy",
        )


def _a_tensor(dtype: DType) -> str:
    return f"a{'n' if dtype.name.startswith('int') else ''} {dtype} tensor"


def by_tables(policy: Policy, operands: tuple[Operand, ...]) -> Decision:
    """Join the tensors, then let the 0-d ones (where they are a category of their own) and the scalars raise that."""
    kinds = {operand.kind for operand in operands if operand.dtype is None}
    below = policy.lower_zero_d is not None
    tensors = [dtype for dtype, _, _, ndim, _ in operands if dtype is not None and (ndim or not below)]
    zero_d = [dtype for dtype, _, _, ndim, _ in operands if dtype is not None and below and not ndim]
    if not tensors:
        tensors, zero_d = zero_d, []
    if not tensors:
        return policy.only_scalars(operands)
    joined, rule = policy.join(tensors)
    if zero_d:
        lower, _ = policy.join(zero_d)
        raised, decisive = policy.with_scalars(lower, kinds)
        result, zero_d_rule = policy.with_zero_d(joined, raised)
        decisive = zero_d_rule if raised is lower else decisive
    else:
        result, decisive = policy.with_scalars(joined, kinds)
    if result is not joined:
        return Decision(result, result.kind, (decisive,) * len(operands))
    adopts = policy.rule("scalar-adopts")
    lower_rule = policy.rule("zero-d-adopts") if zero_d else rule
    return Decision(
        result,
        result.kind,
        tuple([adopts if o.dtype is None else rule if o.ndim or not below else lower_rule for o in operands]),
    )
