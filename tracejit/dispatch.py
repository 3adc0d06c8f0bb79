"""Makes the functions, the classes and the Tensor methods of `tracejit.ops` from the Op records.

A call goes one of two ways: inside a trace the operator is recorded, outside it is run at once through the same
promotion and the same lowering (one compiled program per operator, policy, attributes and kinds of operands).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import eager, indexing, ops, policies
from tracejit.ambient import AMBIENT, DEFAULT_POLICY, Ambient
from tracejit.bridge import backend
from tracejit.dtypes import as_dtype
from tracejit.errors import (
    AttributeTypeError,
    DTypeError,
    ParameterAliasError,
    ParameterError,
    StateError,
    TracejitError,
    hide_frames,
)
from tracejit.ir import Literal, Operation, Type, Value
from tracejit.ops.record import REQUIRED, Attribute, Op, Operand
from tracejit.parameter import Generator, Parameter
from tracejit.passes.inference import check_literals, infer
from tracejit.policies import Policy
from tracejit.storage import STATE_LOCK
from tracejit.tensor import Tensor, constant, new_data, wrap
from tracejit.tracer import Builder

PYTHON_SCALARS = (bool, int, float, complex)
_PYTHON_OF_KIND = {"bool": bool, "uint": int, "int": int, "float": float, "complex": complex}


def apply(op: Op, operands: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Run or record an operator; returns a Tensor, a tuple of them, or the Parameters that it wrote."""
    ambient = AMBIENT.get()
    policy = DEFAULT_POLICY if ambient is None or ambient.policy is None else ambient.policy
    if op.dialect_matters and policy.dialect != DEFAULT_POLICY.dialect:
        attributes = {**attributes, "dialect": policy.dialect}
    operands = [accept(op, i, operand, policy) for i, operand in enumerate(operands)]
    if op.writes:
        check_written(op, operands, op.writes)
    if op.around:
        return _apply_around(op, operands, attributes, policy, ambient)
    return _run_or_record(op, operands, attributes, policy, ambient)


def _run_or_record(
    op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy, ambient: Ambient | None
) -> Any:
    if ambient is not None and ambient.builder is not None:
        return _record(op, operands, attributes, policy, ambient)
    return eager.run(op, operands, attributes, policy, ambient)


def _apply_around(
    op: Op, operands: list[Any], attributes: dict[str, Any], policy: Policy, ambient: Ambient | None
) -> Any:
    """Apply an operator that draws a key from a Generator first, or gives Parameters values afterwards."""
    updated = op.updates(attributes) if op.updates is not None else ()
    check_written(op, operands, updated)
    draws = op.takes_key and (op.draws is None or op.draws(attributes))
    if draws and any(isinstance(operand, Generator) for operand in operands):
        values = [Value(x._type) if isinstance(x, Tensor) else Literal(x) for x in operands]
        check_literals(op, values, infer(op, values, attributes, policy), policy)  # a wrong call draws nothing
        operands = [x.next_key() if isinstance(x, Generator) else x for x in operands]  # pyright: ignore[reportAttributeAccessIssue]
    results = _run_or_record(op, operands, attributes, policy, ambient)
    if updated:
        *results, new = (*results[: -len(updated)], results[-len(updated) :])
        for position, value in zip(updated, new):
            apply(ops.RECORDS["assign"], (operands[position], value), {})
        results = tuple(results) if len(results) > 1 else results[0]
    return (results,) if op.plural and not isinstance(results, tuple) else results


def next_key(self: Generator) -> Tensor:
    """Return a key for random numbers that no earlier one resembles; the Generator goes on to its next state."""
    with STATE_LOCK:
        return apply(ops.RECORDS["draw_key"], (self,), {})


def accept(op: Op, position: int, operand: Any, policy: Policy) -> Any:
    """Return an operand as a Tensor, a Parameter or exactly a bool, int, float or complex; refuse all else."""
    if op.host_operand is not None:
        operand = op.host_operand(operand)
    kind = operand.__class__
    if kind is Tensor or kind is Parameter or kind in PYTHON_SCALARS:
        return operand
    if operand is None and position < len(op.operands) and op.operands[position].optional:
        return None
    if isinstance(operand, np.generic):
        return from_numpy_scalar(operand, policy)
    if isinstance(operand, np.ndarray) or (not isinstance(operand, Tensor) and backend.is_array(operand)):
        return wrap(new_data(operand, None))
    if isinstance(operand, bool | int | float | complex):  # a subclass: IntEnum, for one
        return next(t for t in PYTHON_SCALARS if isinstance(operand, t))(operand)  # pyright: ignore[reportArgumentType]
    if isinstance(operand, Tensor):
        return operand
    name = _operand_name(op, position)
    raise DTypeError(
        f"{op.name}: {name} must be a tensor or a number, not {_describe(operand)}",
        fix="make it a tensor first, as in tracejit.Tensor(data)",
    )


def from_numpy_scalar(scalar: np.generic, policy: Policy) -> Any:
    """Return what a NumPy scalar counts as under a policy: a Python scalar of its kind, or a 0-d tensor.

    The policy that looks at values finds this one's, which the tensor keeps as a constant.
    """
    dtype = as_dtype(scalar.dtype)
    if policy.numpy_scalars == "python":
        return _PYTHON_OF_KIND[dtype.kind](scalar)
    return wrap(new_data(scalar, None))


def _operand_name(op: Op, position: int) -> str:
    operands = op.operands
    return operands[min(position, len(operands) - 1)].name if operands else f"operand {position}"


def _describe(operand: Any) -> str:
    text = repr(operand)
    return f"{text if len(text) < 40 else text[:37] + '...'} ({type(operand).__name__})"


def check_written(op: Op, operands: Sequence[Any], positions: Sequence[int]) -> None:
    """Refuse a plain Tensor where the operator writes, and one Parameter written twice."""
    seen: set[int] = set()
    for position in positions:
        target = operands[position]
        if not isinstance(target, Parameter):
            scatters = op.name.startswith("scatter")
            form = (
                f"tensor_scatter_{op.name.rpartition('_')[2]}" if scatters else "an operator that returns a new tensor"
            )
            raise ParameterError(
                f"{op.name} writes {op.operands[position].name}, which must be a Parameter, not {_describe(target)}",
                rule="a Tensor is a value and never changes",
                fix=f"make it a tracejit.Parameter, or use {form}",
            )
        if id(target) in seen:
            raise ParameterAliasError(
                f"{op.name} would write Parameter {target.name!r} twice",
                fix="pass a Parameter of its own for each operand that is written",
            )
        seen.add(id(target))


def _record(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: Policy, ambient: Ambient) -> Any:
    builder: Builder = ambient.builder
    if policy.needs_values:
        operands = [_with_value(builder, operand) for operand in operands]
    values = [as_value(builder, operand) for operand in operands]
    operation = builder.record(op, values, attributes, policy)
    if op.checks_bounds(ambient.check_indices):
        unknown = eager.check_known_bounds(op, operands, values, attributes)
        if ambient.check_indices:
            builder.check_indices(operation, unknown)
    if op.writes:
        return commit(builder, op, operands, operation)
    results = operation.results
    return wrap(results[0]) if len(results) == 1 else tuple([wrap(value) for value in results])


def _with_value(builder: Builder, operand: Any) -> Any:
    """Make a constant of a 0-d Tensor from outside of the trace, for a policy that looks at values."""
    if operand.__class__ is not Tensor or operand._data.__class__ is Value:
        return operand
    if operand.shape or backend.is_tracer(operand._data):
        return operand
    return wrap(constant(builder, operand.asnumpy()))


def commit(builder: Builder, op: Op, operands: Sequence[Any], operation: Operation) -> Any:
    """Make the results of a writing operator the Parameters' current values; returns the Parameters."""
    written = [operands[position] for position in op.writes]
    if builder.no_writes is not None:
        raise StateError(
            f"{op.name} writes Parameter {written[0].name!r} {builder.no_writes}",
            rule="a write there has no place in the order of the program",
            fix="return the value, and write it outside",
        )
    for parameter, value in zip(written, operation.results):
        if builder.differentiated:  # writes are not differentiated: later reads see a constant
            value = builder.record(ops.RECORDS["stop_gradient"], [value], {}, policies.get(operation.policy)).result
        parameter._slot(builder).current = value
    return op.returned(written)


def as_value(builder: Builder, operand: Any) -> Value:
    """Return the Value that stands for an operand in the builder's trace."""
    if operand.__class__ is Tensor:
        data = operand._data
        if data.__class__ is Value:
            return data if data.scope is builder.scope else builder.close_over(data)
        return builder.capture(data, backend.type_of(data))
    if isinstance(operand, Parameter):
        return operand._slot(builder).current
    return Literal(operand)


# Functions, classes and methods


def _bind(label: str, names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Bind call arguments to names, with the operator's name in the messages."""
    if len(args) > len(names):
        raise AttributeTypeError(f"{label} takes {len(names)} arguments ({', '.join(names)}), got {len(args)}")
    bound = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names:
            raise AttributeTypeError(f"{label} has no argument {name!r}", fix=f"its arguments: {', '.join(names)}")
        if name in bound:
            raise AttributeTypeError(f"{label} got {name!r} twice")
        bound[name] = value
    return bound


def _gathered(op: Op, names: Sequence[str], args: Sequence[Any]) -> Sequence[Any]:
    """Make a list of the last operands, where an operator takes any number of them one by one."""
    if not op.operands or not op.operands[-1].one_by_one:
        return args
    first = names.index(op.operands[-1].name)
    given = args[first:]
    return args if not given or isinstance(given[0], list | tuple) else (*args[:first], list(given))


def split_call(
    op: Op, names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any], known: dict[str, Any] | None = None
) -> tuple[list[Any], dict]:
    """Split a call into operands, in order, and checked attributes: the call's, those known already, and defaults."""
    bound = _bind(op.name, names, _gathered(op, names, args), kwargs)
    operands: list[Any] = []
    for spec in op.operands:
        if spec.name not in bound and spec.optional:
            operands.append(None)
            continue
        if spec.name not in bound:
            raise AttributeTypeError(f"{op.name} misses its operand {spec.name!r}")
        given = bound.pop(spec.name)
        operands += _sequence(op, spec, given) if spec.variadic else [given]
    return operands, check_attributes(op, bound, known)


def _sequence(op: Op, spec: Operand, given: Any) -> list[Any]:
    if isinstance(given, list | tuple) and given:
        return list(given)
    raise DTypeError(f"{op.name}: {spec.name} must be a list or tuple of tensors, not {_describe(given)}")


def check_attributes(op: Op, given: dict[str, Any], known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Check the attributes given and add those known already and the defaults of the others, in the record's order."""
    for name in given:
        if not any(attribute.name == name for attribute in op.attributes):
            op.check_attribute(name, given[name])
    checked, known = {}, known or {}
    for attribute in op.attributes:
        if attribute.name in given:
            checked[attribute.name] = op.check_attribute(attribute.name, given[attribute.name])
        else:
            checked[attribute.name] = known[attribute.name] if attribute.name in known else _default(op, attribute)
    return checked


def _default(op: Op, attribute: Attribute) -> Any:
    ambient = AMBIENT.get()
    policy = DEFAULT_POLICY if ambient is None or ambient.policy is None else ambient.policy
    default = op.default(attribute, policy.dialect)
    if default is REQUIRED:
        raise AttributeTypeError(f"{op.class_name} misses its attribute {attribute.name!r}")
    return default


def call_names(op: Op) -> list[str]:
    """Return the names of a function's arguments: those of the call, then the class's attributes."""
    return [*op.call_order, *[a.name for a in op.attributes if a.name not in op.call_order]]


def make_function(op: Op) -> Callable[..., Any]:
    """Make the operator's function."""
    names = call_names(op)
    plain = not op.attributes and not any(spec.variadic for spec in op.operands)
    count = len(op.operands)

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            if plain and len(args) == count and not kwargs:
                return apply(op, args, {})
            operands, attributes = split_call(op, names, args, kwargs)
            return apply(op, operands, attributes)
        except TracejitError as error:
            hide_frames(error)
            raise

    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "tracejit.ops"
    function.__doc__ = describe(op)
    function.__signature__ = _signature(op, names)
    return function


def _signature(op: Op, names: Sequence[str]) -> inspect.Signature:
    defaults = {a.name: op.default(a) for a in op.attributes if op.default(a) is not REQUIRED}
    defaults.update({spec.name: None for spec in op.operands if spec.optional})
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters, optional = [], False
    for name in names:
        optional = optional or name in defaults
        if optional and name not in defaults:  # a required argument behind an optional one is keyword-only
            kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=defaults.get(name, inspect.Parameter.empty)))
    return inspect.Signature(parameters)


def describe(op: Op) -> str:
    """Word the docstring of an operator from its record."""
    lines = [op.doc, ""]
    groups: dict[str, list[str]] = {}
    for spec in op.operands:
        if spec.group is not None:
            groups.setdefault(spec.group, []).append(spec.name)
    together = [" and ".join(names) for names in groups.values() if len(names) > 1]
    if together:
        lines.append(f"Converted together: {'; '.join(together)}.")
    if op.writes:
        lines.append(f"Writes: {', '.join(op.operands[i].name for i in op.writes)} (Parameters).")
    for attribute in op.attributes:
        default = op.default(attribute)
        lines.append(f"{attribute.name}: {'required' if default is REQUIRED else f'default {default!r}'}.")
    if op.differs:
        lines.append(f"Differs from MindSpore: {op.differs}")
    return "\n".join(lines)


class Primitive:
    """An operator as MindSpore writes it: made with its attributes, called with its operands."""

    op: Op
    __slots__ = ("_attributes", "_call_order")

    def __init__(self, *args: Any, **kwargs: Any):
        try:
            names = constructor_names(self.op)
            bound = _bind(self.op.class_name, list(names), args, kwargs)
            given = {names[public]: value for public, value in bound.items()}
            if len(given) < len(bound):
                raise AttributeTypeError(f"{self.op.class_name} got one attribute under two names: {', '.join(bound)}")
            self._attributes = {name: self.op.check_attribute(name, value) for name, value in given.items()}
            for attribute in (*self.op.attributes, *self.op.class_only):
                if attribute.name not in self.op.call_order and attribute.name not in given:
                    _default(self.op, attribute)  # a missing one is an error here rather than at the call
            for attribute in self.op.class_only:
                self._attributes.pop(attribute.name, None)
            self._call_order = [name for name in self.op.call_order if name not in self._attributes]
        except TracejitError as error:
            hide_frames(error)
            raise

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run or record the operator on its operands."""
        try:
            operands, attributes = split_call(self.op, self._call_order, args, kwargs, self._attributes)
            return apply(self.op, operands, attributes)
        except TracejitError as error:
            hide_frames(error)
            raise

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._attributes.items())
        return f"{type(self).__name__}({given})"


def constructor_names(op: Op) -> dict[str, str]:
    """Return what a class is made with: public names, in order, and the attributes that they name."""
    own = [a.name for a in op.attributes if a.name not in op.call_order]
    pairs = [entry.partition("=") for entry in op.constructor]
    return {**{public: name or public for public, _, name in pairs}, **{name: name for name in own}}


def make_class(op: Op, name: str) -> type[Primitive]:
    """Make the operator's class under one of its names."""
    members = {"op": op, "__doc__": describe(op), "__module__": "tracejit.ops", "__slots__": ()}
    return type(name, (Primitive,), members)


REFLECTED = {
    "__add__": "__radd__", "__sub__": "__rsub__", "__mul__": "__rmul__", "__truediv__": "__rtruediv__",
    "__floordiv__": "__rfloordiv__", "__mod__": "__rmod__", "__pow__": "__rpow__", "__matmul__": "__rmatmul__",
    "__and__": "__rand__", "__or__": "__ror__", "__xor__": "__rxor__",
}  # fmt: skip
IN_PLACE = {name: name.replace("__", "__i", 1) for name in REFLECTED}


def _knows(operand: Any) -> bool:
    """Say whether an operator is tracejit's to answer; a foreign object gets a chance with its own method."""
    kind = operand.__class__
    if kind is Tensor or kind in PYTHON_SCALARS or kind is Parameter or operand is None:
        return True
    known = str | bytes | list | tuple | dict | set | np.ndarray | np.generic | bool | int | float | complex | Tensor
    return isinstance(operand, known) or backend.is_array(operand)


def make_operator(op: Op, reflected: bool = False) -> Callable[[Tensor, Any], Any]:
    """Make the method of a binary operator symbol. Two Tensors outside of a trace take the short way."""
    shortcut = eager.Shortcut(op, _eager_defaults(op))

    def method(self: Tensor, other: Any) -> Any:
        if other.__class__ is Tensor and self.__class__ is Tensor and AMBIENT.get() is None:
            result = shortcut((self._data, other._data))
            if result is not None:
                return result
        if not _knows(other):
            return NotImplemented
        try:
            return apply(op, (other, self) if reflected else (self, other), _defaults(op))
        except TracejitError as error:
            hide_frames(error)
            raise

    return method


def _eager_defaults(op: Op) -> dict[str, Any]:
    """Return the attributes with which an operator symbol runs under the default policy."""
    return {attribute.name: op.default(attribute) for attribute in op.attributes}


def _defaults(op: Op) -> dict[str, Any]:
    return check_attributes(op, {}) if op.attributes else {}


def make_in_place(op: Op) -> Callable[[Parameter, Any], Any]:
    """Make `p += x` for Parameters: writes the operator's result, which is never converted."""

    def method(self: Parameter, other: Any) -> Any:
        if not _knows(other):
            return NotImplemented
        try:
            with STATE_LOCK:  # no other thread's update comes between the read and the write
                return apply(ops.RECORDS["assign"], (self, apply(op, (self, other), _defaults(op))), {})
        except TracejitError as error:
            hide_frames(error)
            raise

    return method


def make_method(op: Op) -> Callable[..., Any]:
    """Make a named method: the operator's function with the Tensor as first operand."""
    function = make_function(op)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        for public, name in op.method_keywords.items():
            if public in kwargs:
                kwargs[name] = kwargs.pop(public)
        try:
            return function(self, *args, **kwargs)
        except TracejitError as error:
            hide_frames(error)
            raise

    method.__doc__ = function.__doc__
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    method.__signature__ = signature.replace(parameters=[first.replace(name="self"), *rest])
    return method


def attach(op: Op, name: str) -> None:
    """Put one method on the Tensor class, with its reflected form and, for Parameters, its in-place form."""
    if not name.startswith("__"):
        method = make_method(op)
    elif len(op.operands) == 1:
        method = make_unary(op)
    else:
        method = make_operator(op)
    method.__name__ = name
    setattr(Tensor, name, method)
    if name in REFLECTED:
        setattr(Tensor, REFLECTED[name], make_operator(op, reflected=True))
        setattr(Parameter, IN_PLACE[name], make_in_place(op))


def make_unary(op: Op) -> Callable[[Tensor], Any]:
    """Make the method of a unary operator symbol."""

    def method(self: Tensor) -> Any:
        try:
            return apply(op, (self,), {})
        except TracejitError as error:
            hide_frames(error)
            raise

    return method


def install() -> None:
    """Fill `tracejit.ops` and the Tensor class from the records."""
    names = list(ops.__all__)
    for op in ops.RECORDS.values():
        for method in op.methods:
            attach(op, method)
        for name in () if op.hidden else op.functions:
            setattr(ops, name, make_function(op))
            names.append(name)
    for class_name, op in ops.CLASSES.items():
        if not op.hidden:
            setattr(ops, class_name, make_class(op, class_name))
            names.append(class_name)
    ops.__all__[:] = names
    Generator.next_key = next_key  # type: ignore[attr-defined]
    Tensor.__pos__ = lambda self: self.copy()
    indexing.install(apply)


def type_of(operand: Any) -> Type:
    """Return the abstract type of an accepted operand."""
    return operand._type if isinstance(operand, Tensor) else Literal(operand).type


install()
