"""The Op record: everything tracejit knows about an operator, declared once.

The function (`ops.floor_mod`), the class (`ops.FloorMod()`), Tensor methods, documentation tables and the
table-driven tests are all made from the record. Its lowering is one function of the same name in `lowering`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracejit.dtypes import BY_NAME, DType, int32, int64
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError

#: Types by operand name, with which a shape rule works.
ShapeRule = Callable[["Op", Sequence[Any], Mapping[str, Any]], Any]
INDEX_DTYPES = frozenset((int32, int64))


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Dialects:
    """A value that differs between MindSpore's operator dialects r1.1 and 2.x."""

    r11: Any
    v2: Any

    def of(self, dialect: str) -> Any:
        """Pick the dialect's value."""
        return self.v2 if dialect == "2.x" else self.r11


def in_dialect(value: Any, dialect: str) -> Any:
    """Return the value that holds in a dialect; one that is no Dialects holds in both."""
    return value.of(dialect) if isinstance(value, Dialects) else value


@dataclass(frozen=True)
class Operand:
    """An operand: its dtype group (None: never converted), and what the operator does with it.

    `role` is read, write (a Parameter that is updated), index (int32 or int64, never converted), scalar (a
    hyper-parameter with a group of its own, converted to the dtype of the written Parameter) or key (of random
    numbers: uint32[2], or a Generator, from which one is drawn).
    """

    name: str
    group: str | None
    role: str = "read"
    variadic: bool = False
    #: The operands that it stands for may be given one by one.
    one_by_one: bool = False
    #: None may stand for it, and does where it is not given.
    optional: bool = False
    #: Its group is one whose members must be of one dtype as they are given.
    exact: bool = False


@dataclass(frozen=True)
class Attribute:
    """A Python value that is part of the operation; `check` normalises it or raises TypeError or ValueError."""

    name: str
    check: Callable[[Any], Any]
    default: Any = REQUIRED


@dataclass(frozen=True)
class Bound:
    """An index operand whose values must lie inside axes: one limit, or one per coordinate of its last axis."""

    position: int
    limits: tuple[int, ...]
    #: The last axis of the indices holds coordinates, one per limit.
    coordinates: bool = False
    #: Negative indices count from the end, as in `x[...]`.
    negative: bool = False


@dataclass(frozen=True)
class Sample:
    """Inputs to try an operator with: abstract operands such as `f32[2,3] i32[2] 2.5`, and attributes."""

    operands: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    raises: type[Exception] | None = None


@dataclass(frozen=True, eq=False)
class Op:
    """One operator. See `op` for how to declare one."""

    name: str
    class_name: str
    operands: tuple[Operand, ...]
    attributes: tuple[Attribute, ...]
    #: Call arguments in order: operands, and attributes that MindSpore takes at the call (`axis` of Gather).
    call_order: tuple[str, ...]
    #: Per result: a group's name, a dtype's name, `:attribute`, or a function of (group dtypes, attributes, dialect).
    results: tuple[Any, ...]
    accepts: Mapping[str, Any]
    shape: ShapeRule | None
    doc: str
    differs: str
    aliases: tuple[str, ...]
    methods: tuple[str, ...]
    method_keywords: Mapping[str, str]
    reference: Callable[..., Any] | None
    samples: tuple[Sample, ...]
    #: The operator has an answer for Python scalars alone (inside a trace): "same" kind, "float" or "bool".
    scalars: str | None
    #: Operands must be tensors: a Python scalar is refused; "but bool": Python's bools are taken. Or Dialects of these.
    tensors_only: Any
    #: Refuses values of Python scalars that the operator has no answer for: a function of (op, position, value, dtype).
    check_literal: Callable[..., None] | None
    #: Comparison symbol, for scalars outside the tensor's dtype, which compare by their true value.
    comparison: str | None
    #: The lowering differs by dialect: in 2.x it gets `dialect="2.x"`.
    dialect_matters: bool
    #: Which index operands must lie inside which axes: a function of (op, types, attributes) to Bounds.
    bounds: Callable[..., Sequence[Bound]] | None
    #: What a bad index names is left out, eagerly too: it is an error only where checks are asked for.
    drops: bool
    #: How many of the written Parameters the call returns; None for all.
    returns: int | None
    #: Runs for its effect: neither removed nor merged.
    effect: bool
    #: Does not appear in `tracejit.ops`; reached through a method or a creation function.
    hidden: bool
    #: Makes arrays of Python scalars and lists, where they are operands by defaults of the operator's own.
    host_operand: Callable[[Any], Any] | None
    #: Gives a tuple, however many results there are.
    plural: bool
    #: Positions of the operands (Parameters) that take the last results as their values, given the attributes.
    updates: Callable[[Mapping[str, Any]], tuple[int, ...]] | None
    #: Whether a call draws keys, given the attributes.
    draws: Callable[[Mapping[str, Any]], bool] | None
    #: The names of the function.
    functions: tuple[str, ...]
    #: What MindSpore's class takes first, in order: `pad=padding` is an attribute under another name. The attributes
    #: that are not given at the call follow.
    constructor: tuple[str, ...]
    #: Checks of constructor arguments that MindSpore's class takes and that change nothing.
    class_only: tuple[Attribute, ...]

    #: Draws keys from Generators.
    takes_key: bool
    #: A call does something before or after it runs: draws a key, updates Parameters, makes a tuple.
    around: bool

    @property
    def writes(self) -> tuple[int, ...]:
        """Positions of the operands that are written."""
        return tuple(i for i, operand in enumerate(self.operands) if operand.role == "write")

    def returned(self, written: Sequence[Any]) -> Any:
        """Return what a call gives of the Parameters that it wrote: the one, or a tuple."""
        kept = written[: self.returns]
        return kept[0] if len(kept) == 1 else tuple(kept)

    def spread(self, count: int) -> tuple[Operand, ...]:
        """Return the operands for a call with `count` of them: a variadic one stands for as many as there are."""
        if not any(operand.variadic for operand in self.operands):
            return self.operands
        extra = count - len(self.operands)
        spread: list[Operand] = []
        for operand in self.operands:
            spread += [operand] * (1 + extra if operand.variadic else 1)
        return tuple(spread)

    def accepted(self, group: str, dialect: str) -> frozenset[DType] | None:
        """Return the dtypes in which a group may compute; None for any."""
        return in_dialect(self.accepts.get(group), dialect)

    def checks_bounds(self, asked: bool | None) -> bool:
        """Say whether bad indices are errors: as asked for, and by default unless the operator drops them."""
        return self.bounds is not None and (not self.drops if asked is None else asked)

    def default(self, attribute: Attribute, dialect: str = "r1.1") -> Any:
        """Return an attribute's default in a dialect."""
        return in_dialect(attribute.default, dialect)

    def check_attribute(self, name: str, value: Any) -> Any:
        """Normalise one attribute's value, or say what is wrong with it in the operator's name."""
        attribute = next((a for a in (*self.attributes, *self.class_only) if a.name == name), None)
        if attribute is None:
            known = ", ".join(a.name for a in self.attributes) or "none"
            raise AttributeTypeError(f"{self.class_name} has no attribute {name!r}", fix=f"its attributes: {known}")
        try:
            return attribute.check(value)
        except DTypeError:
            raise
        except TypeError as error:
            raise AttributeTypeError(f"{self.class_name}: {name} {error}, got {_show(value)}") from None
        except ValueError as error:
            raise AttributeValueError(f"{self.class_name}: {name} {error}, got {_show(value)}") from None

    def result_dtype(self, position: int, groups: Mapping[str, DType], attributes: Mapping[str, Any], dialect: str):
        """Return the dtype of one result, given the dtypes in which the groups compute."""
        spec = in_dialect(self.results[min(position, len(self.results) - 1)], dialect)
        if callable(spec):
            return spec(groups, attributes, dialect)
        if spec.startswith(":"):
            return attributes[spec[1:]]
        return groups[spec] if spec in groups else BY_NAME[spec]

    def names_of(self, types: Sequence[Any]) -> dict[str, Any]:
        """Pair operand names with types, for messages."""
        names = [operand.name for operand in self.spread(len(types))]
        return {
            f"{name}[{i}]" if names.count(name) > 1 else name: type_
            for i, (name, type_) in enumerate(zip(names, types))
        }


def _show(value: Any) -> str:
    from tracejit.ir import Value

    data = getattr(value, "_data", None)
    if data is not None:
        return f"a traced {data.type}" if isinstance(data, Value) else f"a {type(value).__name__}"
    text = repr(value)
    return f"{text if len(text) < 60 else text[:57] + '...'} ({type(value).__name__})"


#: Every operator by the name that Graphs print.
RECORDS: dict[str, Op] = {}
#: Every operator by class name, aliases included.
CLASSES: dict[str, Op] = {}


def snake_case(class_name: str) -> str:
    """Turn a MindSpore class name into its function name: `FloorMod` is `floor_mod`, `ReLU` is `relu`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name.replace("ReLU", "Relu").replace("LU", "lu"))
    return words.lower()


def parse_operands(signature: str) -> tuple[tuple[Operand, ...], tuple[str, ...]]:
    """Read `variable:W:T, indices:index, axis`: operands have a group; a bare name is an attribute of the call."""
    operands, order = [], []
    for part in filter(None, (part.strip() for part in signature.split(","))):
        name, *marks = part.split(":")
        stars, name = name.count("*"), name.lstrip("*")
        order.append(name)
        if not marks:
            continue
        mark = marks[-1].strip("=?")
        group = None if mark in ("index", "key", "-") else mark
        role = mark if mark in ("index", "key") else {"W": "write", "S": "scalar"}.get(marks[0], "read")
        exact, optional = marks[-1].startswith("="), marks[-1].endswith("?")
        operands.append(Operand(name, group, role, stars > 0, stars > 1, optional, exact))
    return tuple(operands), tuple(order)


def op(
    class_name: str,
    signature: str,
    *,
    doc: str,
    result: Any = "T",
    accepts: Any = None,
    shape: ShapeRule | None = None,
    attributes: Iterable[Attribute] = (),
    name: str | None = None,
    differs: str = "",
    aliases: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    method_keywords: Mapping[str, str] | None = None,
    reference: Callable[..., Any] | None = None,
    samples: Iterable[Any] = (),
    scalars: str | None = None,
    tensors_only: Any = False,
    check_literal: Callable[..., None] | None = None,
    comparison: str | None = None,
    dialect_matters: bool = False,
    bounds: Callable[..., Any] | None = None,
    drops: bool = False,
    returns: int | None = None,
    effect: bool = False,
    hidden: bool = False,
    host_operand: Callable[[Any], Any] | None = None,
    plural: bool = False,
    updates: Callable[[Mapping[str, Any]], tuple[int, ...]] | None = None,
    draws: Callable[[Mapping[str, Any]], bool] | None = None,
    functions: tuple[str, ...] | None = None,
    constructor: tuple[str, ...] = (),
    class_only: Iterable[Attribute] = (),
) -> Op:
    """Declare an operator.

    `signature` lists what a call takes, in MindSpore's order: `input_x:T, input_y:T` are two operands that share
    the dtype group T (they are converted to one dtype); `variable:W:T` is a Parameter that is written; `lr:S:T1` a
    hyper-parameter with a group of its own; `indices:index` int32 or int64 and never converted; `x:-` any dtype,
    never converted; `*tensors:T` one or more tensors in a list, `**tensors:T` in a list or one by one; `weight:=T` a
    group that must be of one dtype as given; `bias:T?` may be None or left out; `key:key` a key of random numbers,
    or a Generator; a name without colon is an attribute given at the call. Attributes that are not in the signature
    are given when the class is made, or by keyword to the function.
    `accepts` is a set of dtypes for group T, or a mapping from group to set; `Dialects` where r1.1 and 2.x differ.
    For a hyper-parameter it holds the dtypes that it may be given in (a Python float counts as float32, an int as
    int64).
    `shape` is a function of (op, operand types, attributes) returning one shape per result; without one, or where
    it returns None (having refused what is wrong), the lowering rule is evaluated abstractly. A name declared twice
    is an error.
    """
    operands, order = parse_operands(signature)
    record = Op(
        name=name or snake_case(class_name),
        class_name=class_name,
        operands=operands,
        attributes=tuple(attributes),
        call_order=order,
        results=result if isinstance(result, tuple) else (result,),
        accepts=accepts if isinstance(accepts, Mapping) else ({} if accepts is None else {"T": accepts}),
        shape=shape,
        doc=doc,
        differs=differs,
        aliases=aliases,
        methods=methods,
        method_keywords=method_keywords or {},
        reference=reference,
        samples=tuple(s if isinstance(s, Sample) else Sample(s) for s in samples),
        scalars=scalars,
        tensors_only=tensors_only,
        check_literal=check_literal,
        comparison=comparison,
        dialect_matters=dialect_matters,
        bounds=bounds,
        drops=drops,
        returns=returns,
        effect=effect,
        hidden=hidden,
        host_operand=host_operand,
        plural=plural,
        updates=updates,
        draws=draws,
        functions=(name or snake_case(class_name),) if functions is None else functions,
        constructor=constructor,
        class_only=tuple(class_only),
        takes_key=(takes_key := any(operand.role == "key" for operand in operands)),
        around=plural or updates is not None or takes_key,
    )
    _register(record)
    return record


def _register(record: Op) -> None:
    if record.name in RECORDS:
        raise ValueError(f"operator {record.name} is declared twice")
    RECORDS[record.name] = record
    for class_name in (record.class_name, *record.aliases):
        if class_name in CLASSES:
            raise ValueError(f"operator class {class_name} is declared twice")
        CLASSES[class_name] = record
