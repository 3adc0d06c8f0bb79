"""The arguments of a jitted function: which are static, how they are named, and what each leaf is to a trace.

Before dispatch every leaf is an array, a Parameter or exactly a bool, int, float or complex, so that a bare leaf in a
program's body is a Python scalar by construction.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.bridge import backend
from tracejit.dispatch import from_numpy_scalar
from tracejit.dtypes import as_dtype
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ScalarOverflowError
from tracejit.ir import TensorType, Value
from tracejit.parameter import Parameter
from tracejit.policies import Policy
from tracejit.storage import Storage
from tracejit.tensor import Tensor, new_data, wrap

SCALAR_KINDS = {bool: "bool", int: "int", float: "float", complex: "complex"}


class Static(NamedTuple):
    """A leaf whose value is part of the trace."""

    name: str
    value: Any


class StaticArgument(NamedTuple):
    """An argument that is a Python value of the trace: its position or keyword, its name, its value."""

    where: int | str
    name: str
    value: Any


class Arguments(NamedTuple):
    """The arrangement of a call's arguments: their tree with Tensors and Parameters as leaves.

    `slots` says what stands at each leaf: the number of an input, a Storage, or a Static value. `names` are the
    inputs' names, `kinds` their kinds (None for arrays), `parameters` the Parameters with their names.
    """

    structure: Any
    slots: tuple[Any, ...]
    names: tuple[str, ...]
    kinds: tuple[str | None, ...]
    parameters: tuple[tuple[str, Storage], ...]
    statics: tuple[StaticArgument, ...]

    def make(self, values: Sequence[Value]) -> tuple[list[Any], dict[str, Any]]:
        """Make the arguments of the Python function, with handles of their own to the inputs' Values."""

        def leaf(slot: Any) -> Any:
            if isinstance(slot, Static):
                return slot.value
            return wrap(values[slot]) if slot.__class__ is int else slot.parameter()

        args, kwargs = backend.unflatten(self.structure, [leaf(slot) for slot in self.slots])
        return with_statics(args, kwargs, self.statics)


def with_statics(
    args: Sequence[Any], kwargs: dict[str, Any], statics: Sequence[StaticArgument]
) -> tuple[list[Any], dict[str, Any]]:
    """Put static arguments back among the others."""
    args, kwargs = list(args), dict(kwargs)
    for where, _, value in statics:
        if isinstance(where, int):
            args.insert(where, value)
        else:
            kwargs[where] = value
    return args, kwargs


# Leaves


class Abstract:
    """An argument of which only the type is known."""

    __slots__ = ("sharding", "type")

    def __init__(self, leaf: Any):
        self.sharding = getattr(leaf, "sharding", None)
        self.type = leaf if isinstance(leaf, TensorType) else TensorType(as_dtype(leaf.dtype), leaf.shape)

    @classmethod
    def of(cls, leaf: Any) -> Any:
        """Return what stands for a leaf in a trace that runs nothing; one with a value is itself."""
        return cls(leaf) if _is_abstract(leaf) else leaf


def as_tensor(leaf: Any) -> Any:
    """Return a Tensor of what counts as one: it stands for its place among the arguments, and is not computed with."""
    is_array = isinstance(leaf, np.ndarray) or backend.is_array(leaf)
    return wrap(leaf) if is_array or (not isinstance(leaf, Tensor) and _is_abstract(leaf)) else leaf


def _is_abstract(leaf: Any) -> bool:
    if isinstance(leaf, TensorType):
        return True
    concrete = isinstance(leaf, np.ndarray | np.generic) or backend.is_array(leaf)
    return not concrete and hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def normalise(leaves: Sequence[Any], policy: Policy, name: Callable[[int], str]) -> tuple[tuple[Any, ...], list[Any]]:
    """Return a mark per leaf (None for arrays, the kind of a scalar, a tuple for a static value), and the inputs."""
    marks, inputs = [], []
    for position, leaf in enumerate(leaves):
        mark, given = _leaf(leaf, policy, position, name)
        marks.append(mark)
        if not isinstance(mark, tuple):
            inputs.append(given)
    return tuple(marks), inputs


def _leaf(leaf: Any, policy: Policy, position: int, name: Callable[[int], str]) -> tuple[Any, Any]:
    kind = leaf.__class__
    if kind is backend.ArrayType:
        return None, backend.with_auto_axes(leaf)
    if kind is Abstract:
        return None, leaf
    if kind in SCALAR_KINDS:
        return _scalar(leaf, policy, position, name)
    if isinstance(leaf, np.generic):
        if policy.numpy_scalars == "value":
            return ("value", str(leaf.dtype), repr(leaf)), leaf
        given = from_numpy_scalar(leaf, policy)
        return (None, given._data) if isinstance(given, Tensor) else _scalar(given, policy, position, name)
    if isinstance(leaf, np.ndarray):
        return None, new_data(leaf, None)
    if backend.is_array(leaf):
        return None, leaf
    if isinstance(leaf, bool | int | float | complex):  # a subclass: IntEnum, for one
        return _scalar(next(t for t in SCALAR_KINDS if isinstance(leaf, t))(leaf), policy, position, name)
    raise _refused(leaf, name(position))


def _scalar(value: Any, policy: Policy, position: int, name: Callable[[int], str]) -> tuple[Any, Any]:
    """Mark a Python scalar: an input of its kind, or static under a policy that looks at values."""
    if policy.needs_values:
        return ("value", type(value).__name__, repr(value)), value
    if value.__class__ is int and not -(2**63) <= value < 2**63:
        raise ScalarOverflowError(
            f"argument {name(position)} is the Python int {value}, which has more than 64 bits",
            rule="a scalar argument is an input of the program, and no dtype holds this one",
            fix="make it static, jit(static_argnames=...), or pass a float",
        )
    return SCALAR_KINDS[value.__class__], value


def _refused(leaf: Any, name: str) -> DTypeError:
    if _is_abstract(leaf):
        return DTypeError(
            f"argument {name} is the abstract {leaf}, which has no values to run on",
            fix="trace with it, as in f.trace(...).lower().compile(), or pass a Tensor",
        )
    text = repr(leaf)
    text = text if len(text) < 60 else text[:57] + "..."
    argument = name.partition(".")[0]
    return DTypeError(
        f"argument {name} is {text} ({type(leaf).__name__}), which cannot be traced",
        rule="arguments are Tensors, Parameters, arrays and numbers, in any container",
        fix=f"make it static: static_argn{f'ames={argument!r}' if argument.isidentifier() else 'ums=...'}",
    )


def named_leaves(
    names: Sequence[str], args: Any, kwargs: Any, statics: Sequence[StaticArgument]
) -> tuple[list[tuple[str, Any]], Any]:
    """Return the leaves with names (`batch.0.weight`), Tensors and Parameters among them, and the tree."""
    taken = {where for where, _, _ in statics}
    positions = [i for i in range(len(names) + len(args)) if i not in taken]

    def readable(path: str) -> str:
        group, first, *rest = path.split(".")
        if group == "0":
            position = positions[int(first)]
            first = names[position] if position < len(names) else f"args[{position - len(names)}]"
        return ".".join([first, *rest])

    leaves, structure = backend.flatten_named((args, kwargs))
    return [(readable(path), leaf) for path, leaf in leaves], structure


def arrange(named: Sequence[tuple[str, Any]], structure: Any, marks: Sequence[Any], statics: Any) -> Arguments:
    """Say what stands at each leaf of a call, given the marks of all leaves but the Parameters."""
    slots: list[Any] = []
    inputs: list[tuple[str, Any]] = []
    parameters: list[tuple[str, Storage]] = []
    remaining = iter(marks)
    for name, leaf in named:
        if isinstance(leaf, Parameter):
            slots.append(leaf._storage)
            parameters.append((name, leaf._storage))
            continue
        mark = next(remaining)
        if isinstance(mark, tuple):
            slots.append(Static(name, leaf))
            continue
        slots.append(len(inputs))
        inputs.append((name, mark))
    names, kinds = tuple([name for name, _ in inputs]), tuple([kind for _, kind in inputs])
    return Arguments(structure, tuple(slots), names, kinds, tuple(parameters), tuple(statics))


# Static arguments


def static_key(statics: Sequence[StaticArgument]) -> tuple[Any, ...]:
    """Key static values by value and type; 1, 1.0 and True differ, and 0.0 from -0.0."""
    return tuple([(where, _typed(value)) for where, _, value in statics])


def _typed(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, tuple):
        return kind, tuple([_typed(item) for item in value])
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    return kind, repr(value) if isinstance(value, float | complex) else value


class StaticArguments:
    """Which arguments are static, and the names of all."""

    def __init__(self, function: Callable[..., Any], argnums: Any, argnames: Any):
        self.names, variadic, keywords = _parameters_of(function)
        given = _as_tuple(argnames, str, "static_argnames")
        numbers = _as_tuple(argnums, int, "static_argnums")
        for number in numbers:
            if not (variadic or -len(self.names) <= number < len(self.names)):
                raise AttributeValueError(
                    f"jit: static_argnums {number} is beyond the {len(self.names)} arguments of the function",
                    fix=f"its arguments: {', '.join(self.names) or 'none'}",
                )
        for name in given:
            if keywords is not None and name not in keywords:
                raise AttributeValueError(
                    f"jit: static_argnames {name!r} is no argument of the function",
                    fix=f"its arguments: {', '.join(keywords) or 'none'}",
                )
        positions = {number + len(self.names) if number < 0 else number for number in numbers}
        self.keywords = {*given, *[self.names[i] for i in positions if i < len(self.names)]}
        self.positions = sorted({*positions, *[self.names.index(name) for name in given if name in self.names]})

    def bound(self) -> StaticArguments:
        """Return the same for the method without `self`."""
        other = object.__new__(StaticArguments)
        other.names = self.names[1:]
        other.positions = [position - 1 for position in self.positions if position > 0]
        other.keywords = self.keywords
        return other

    def split(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], list[StaticArgument]]:
        """Split a call into dynamic arguments and static ones, which must be hashable."""
        if not self.keywords and not self.positions:
            return tuple(args), kwargs, []
        statics = [StaticArgument(i, self._name(i), args[i]) for i in self.positions if i < len(args)]
        chosen = sorted(self.keywords & kwargs.keys())
        statics += [StaticArgument(name, name, kwargs[name]) for name in chosen]
        for argument in statics:
            _check_hashable(argument)
        taken = {argument.where for argument in statics}
        dynamic = tuple([argument for i, argument in enumerate(args) if i not in taken])
        return dynamic, {name: value for name, value in kwargs.items() if name not in taken}, statics

    def _name(self, position: int) -> str:
        return self.names[position] if position < len(self.names) else f"args[{position - len(self.names)}]"


def _check_hashable(argument: StaticArgument) -> None:
    value = argument.value
    try:
        hash(value)
        hashable = not _holds_tensor(value)
    except TypeError:
        hashable = False
    if not hashable:
        raise AttributeTypeError(
            f"static argument {argument.name} cannot be hashed: it is {value!r} ({type(value).__name__})",
            rule="a static value is part of the key under which a trace is kept",
            fix="pass a tuple instead of a list, or a frozen dataclass; a Tensor is never static",
        )


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return any(map(_holds_tensor, value))
    return isinstance(value, Tensor) or backend.is_array(value)


def _as_tuple(given: Any, kind: type, name: str) -> tuple[Any, ...]:
    items = () if given is None else tuple(given) if isinstance(given, list | tuple | set) else (given,)
    for item in items:
        if not isinstance(item, kind) or isinstance(item, bool):
            raise AttributeTypeError(f"jit: {name} takes {kind.__name__}s, got {item!r}")
    return items


def _parameters_of(function: Callable[..., Any]) -> tuple[list[str], bool, list[str] | None]:
    """Return the names of the positional arguments, whether there may be more, and all names (None: any)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built-in functions tell nothing
        return [], True, None
    kinds = {parameter.kind for parameter in parameters}
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [parameter.name for parameter in parameters if parameter.kind in by_position]
    open_ended = inspect.Parameter.VAR_KEYWORD in kinds
    return (
        positional,
        inspect.Parameter.VAR_POSITIONAL in kinds,
        None if open_ended else [parameter.name for parameter in parameters],
    )
