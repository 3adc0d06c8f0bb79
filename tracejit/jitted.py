"""`jit`: the decorator, and the callable that it returns."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import policies
from tracejit.ambient import AMBIENT, DEFAULT_POLICY, Ambient, surroundings
from tracejit.bridge import backend
from tracejit.dispatch import from_numpy_scalar
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, hide_internal_frames
from tracejit.ir import Graph, TensorType, Value
from tracejit.parameter import Parameter
from tracejit.plans import Arguments, Entry, Options, Static
from tracejit.policies import Policy
from tracejit.retraces import CacheInfo, History, describe
from tracejit.stages import Traced
from tracejit.tensor import Tensor, new_data, wrap
from tracejit.tracer import escaped

_SCALARS = {bool: "bool", int: "int", float: "float", complex: "complex"}


class Hot(NamedTuple):
    """The short way of a call like the last one: so many positional arguments of these classes, and their entry."""

    arity: int
    classes: tuple[type, ...]
    entry: Entry


class Jitted:
    """A function that is traced once per signature and then runs as one compiled program. Made by `jit`."""

    def __init__(
        self, function: Callable[..., Any], policy: Policy | None, static: StaticArguments, settings: Settings
    ):
        self._function = function
        self._policy, self._static, self._settings = policy, static, settings
        self.name = getattr(function, "__name__", type(function).__name__)
        self.options = Options(settings.donate, settings.on_lossy)
        self._entries: dict[Any, Entry] = {}
        self._hot: Hot | None = None
        self._history = History(self.name, settings.max_traces)
        self._instances: dict[int, tuple[Any, Jitted]] = {}
        functools.update_wrapper(self, function, updated=())

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function: find its compiled program, or trace it first."""
        try:
            hot = self._hot
            if hot is None or kwargs or len(args) != hot.arity or AMBIENT.get() is not None:
                return self._general(args, kwargs)
            arrays = []
            for argument, expected in zip(args, hot.classes):
                if argument.__class__ is not expected:
                    return self._general(args, kwargs)
                arrays.append(argument._data if expected is Tensor else argument)
            entry = hot.entry
            program = entry.program
            if program is None:
                return entry(arrays)
            result = program.call(*arrays) if backend.x64() else program(arrays)
            if result.__class__ is backend.ArrayType:
                return wrap(result)
            return entry.finish(result, arrays)
        except TypeError as error:
            self._check_escaped((args, kwargs))
            hide_internal_frames(error)
            raise
        except Exception as error:
            hide_internal_frames(error)
            raise

    def _check_escaped(self, arguments: Any) -> None:
        for _, leaf in backend.flatten_named(arguments)[0]:
            data = leaf._data if isinstance(leaf, Tensor) else None
            if data.__class__ is Value and (data.scope is None or not data.scope.alive):
                error = escaped(data)
                hide_internal_frames(error)
                raise error from None

    def _general(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        ambient = AMBIENT.get()
        if ambient is not None and ambient.builder is not None:
            return self._inline(args, kwargs, ambient)
        entry, leaves = self._find(args, kwargs, ambient)
        result = entry(leaves)
        if ambient is None and not kwargs and entry.flat:
            self._hot = Hot(len(args), tuple([argument.__class__ for argument in args]), entry)
        return result

    def _inline(self, args: Sequence[Any], kwargs: dict[str, Any], ambient: Ambient) -> Any:
        """Run inside another trace: the operations become part of it; an explicit policy holds for them."""
        policy = self._policy or ambient.policy
        checks = ambient.check_indices if self._settings.check_indices is None else self._settings.check_indices
        with surroundings(policy=policy, check_indices=checks):
            return self._function(*args, **kwargs)

    def _surroundings(self, ambient: Ambient | None) -> tuple[Policy, bool | None]:
        policy = self._policy or (ambient.policy if ambient is not None else None) or DEFAULT_POLICY
        checks = self._settings.check_indices
        if checks is None and ambient is not None:
            checks = ambient.check_indices
        return policy, checks

    def _find(
        self, args: Sequence[Any], kwargs: dict[str, Any], ambient: Ambient | None, abstract: bool = False
    ) -> tuple[Entry, list[Any]]:
        """Return the entry of a call, and the leaves that go to its program."""
        policy, checks = self._surroundings(ambient)
        dynamic_args, dynamic_kwargs, statics = self._static.split(args, kwargs)
        leaves, structure = backend.flatten((dynamic_args, dynamic_kwargs))
        if abstract:
            leaves = [_Abstract(leaf) if _is_abstract(leaf) else leaf for leaf in leaves]
        marks, inputs = _normalise(leaves, policy, lambda i: self._leaf_name(args, kwargs, i))
        key = (structure, marks, _static_key(statics), policy.name, checks)
        entry = self._entries.get(key)
        if entry is None:
            arguments = self._arrange(dynamic_args, dynamic_kwargs, statics, policy)
            entry = self._entries.setdefault(key, Entry(self, arguments, policy, checks))
        return entry, inputs

    def _leaf_name(self, args: Any, kwargs: Any, position: int) -> str:
        names = [name for name, leaf in backend.flatten_named((args, kwargs))[0] if not isinstance(leaf, Parameter)]
        return self._readable(names[position]) if position < len(names) else f"leaf {position}"

    def _readable(self, path: str) -> str:
        """Turn a path in (args, kwargs) into an argument's name: `0.1.weight` is `batch.weight`."""
        group, first, *rest = path.split(".")
        if group == "0" and int(first) < len(self._static.names):
            first = self._static.names[int(first)]
        return ".".join([first, *rest])

    def _arrange(self, args: Any, kwargs: Any, statics: Any, policy: Policy) -> Arguments:
        named, structure = backend.flatten_named((args, kwargs))
        slots: list[Any] = []
        names: list[str] = []
        kinds: list[str | None] = []
        for path, leaf in named:
            if isinstance(leaf, Parameter):
                slots.append(leaf._key)
                continue
            mark, _ = _leaf(leaf, policy, path)
            if isinstance(mark, tuple):
                slots.append(Static(leaf))
                continue
            slots.append(len(names))
            names.append(self._dynamic_name(path, statics))
            kinds.append(mark)
        return Arguments(structure, tuple(slots), tuple(names), tuple(kinds), tuple(statics))

    def _dynamic_name(self, path: str, statics: Any) -> str:
        group, first, *rest = path.split(".")
        if group == "0":
            positions = [i for i in range(len(self._static.names)) if i not in [where for where, _ in statics]]
            number = int(first)
            first = self._static.names[positions[number]] if number < len(positions) else f"args[{first}]"
        return ".".join([first, *rest])

    # What an entry asks of its owner

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function that is traced."""
        return self._function

    def before_trace(self, entry: Entry, signature: Any) -> None:
        """Note that a trace begins (and refuse it beyond max_traces)."""
        self._history.start(describe(entry, signature))

    def after_trace(self, entry: Entry, signature: Any) -> None:
        """Note that a trace succeeded."""
        self._history.finish()

    def judge_casts(self, promoted: Graph) -> None:
        """Warn of, or refuse, lossy conversions, as `on_lossy` says."""

    # Looking inside

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for these arguments without running: the first of JAX's stages, `trace().lower().compile()`.

        Arguments may be abstract: a `TensorType`, or anything with `shape` and `dtype` such as
        `jax.ShapeDtypeStruct`.
        """
        try:
            entry, leaves = self._find(args, kwargs, AMBIENT.get(), abstract=True)
            signature = tuple([leaf.type if leaf.__class__ is _Abstract else None for leaf in leaves])
            known = entry.signature(leaves) if None in signature else signature
            return Traced(entry, known, entry.recorded(known))
        except Exception as error:
            hide_internal_frames(error)
            raise

    def cache_info(self) -> CacheInfo:
        """Return how often the function was traced, for how many arrangements of arguments, and signatures."""
        entries = list(self._entries.values())
        return CacheInfo(len(self._history), len(entries), sum(len(entry.traces) for entry in entries))

    def explain_retraces(self) -> str:
        """Return, in words, what differed each time that the function was traced anew."""
        return self._history.explain()

    def clear_cache(self) -> None:
        """Forget all traces and programs."""
        self._hot = None
        self._entries.clear()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, which is held weakly; each has traces of its own."""
        if instance is None:
            return self
        found = self._instances.get(id(instance))
        if found is None or found[0]() is not instance:
            number = id(instance)
            reference = weakref.ref(instance, lambda _: self._instances.pop(number, None))
            bound = Jitted(_WeakMethod(self._function, reference), self._policy, self._static.bound(), self._settings)
            found = self._instances[number] = (reference, bound)
        return found[1]

    def __repr__(self) -> str:
        return f"<jit of {self.name}>"


class _WeakMethod:
    """A method bound to an instance that it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: Any):
        self._function, self._instance = function, instance
        self.__name__ = getattr(function, "__name__", "method")
        self.__code__ = getattr(function, "__code__", None)
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"the object whose {self.__name__} this is no longer exists")
        return self._function(instance, *args, **kwargs)


class _Abstract:
    """An argument of which only the type is known."""

    __slots__ = ("type",)

    def __init__(self, leaf: Any):
        self.type = leaf if isinstance(leaf, TensorType) else TensorType(_dtype_of(leaf), leaf.shape)


def _dtype_of(leaf: Any) -> Any:
    from tracejit.dtypes import as_dtype

    return as_dtype(leaf.dtype)


def _is_abstract(leaf: Any) -> bool:
    if isinstance(leaf, TensorType):
        return True
    concrete = isinstance(leaf, np.ndarray | np.generic) or backend.is_array(leaf)
    return not concrete and hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _normalise(leaves: list[Any], policy: Policy, name: Callable[[int], str]) -> tuple[tuple[Any, ...], list[Any]]:
    """Return a mark per leaf (None for arrays, the kind of a scalar, a tuple for a static value), and the inputs."""
    marks, inputs = [], []
    for position, leaf in enumerate(leaves):
        mark, given = _leaf(leaf, policy, position, name)
        marks.append(mark)
        if not isinstance(mark, tuple):
            inputs.append(given)
    return tuple(marks), inputs


def _leaf(leaf: Any, policy: Policy, where: Any, name: Callable[[Any], str] = str) -> tuple[Any, Any]:
    kind = leaf.__class__
    if kind is backend.ArrayType or kind is Tensor or kind is _Abstract or kind is Value:
        return None, leaf
    if kind in _SCALARS:
        return _scalar(leaf, policy)
    if isinstance(leaf, np.generic):
        given = from_numpy_scalar(leaf, policy)
        if policy.numpy_scalars == "value":
            return ("value", str(leaf.dtype), repr(leaf)), leaf
        return (None, given._data) if isinstance(given, Tensor) else _scalar(given, policy)
    if isinstance(leaf, np.ndarray):
        return None, new_data(leaf, None)
    if backend.is_array(leaf) or isinstance(leaf, Tensor) or _is_abstract(leaf):
        return None, leaf
    if isinstance(leaf, bool | int | float | complex):
        return _scalar(next(t for t in _SCALARS if isinstance(leaf, t))(leaf), policy)
    raise DTypeError(
        f"argument {name(where)} is {leaf!r} ({type(leaf).__name__}), which cannot be traced",
        rule="arguments are Tensors, Parameters, arrays and numbers, in any container",
        fix="make it static: jit(static_argnames=...)",
    )


def _scalar(value: Any, policy: Policy) -> tuple[Any, Any]:
    """Mark a Python scalar: an input of its kind, or static under a policy that looks at values."""
    if policy.needs_values:
        return ("value", type(value).__name__, repr(value)), value
    return _SCALARS[value.__class__], value


def _static_key(statics: Sequence[tuple[Any, Any]]) -> tuple[Any, ...]:
    """Key static values by value and type; 1, 1.0 and True differ, and 0.0 from -0.0."""
    return tuple([(where, _typed(value)) for where, value in statics])


def _typed(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple, tuple([_typed(item) for item in value])
    return type(value), repr(value) if isinstance(value, float | complex) else value


class StaticArguments:
    """Which arguments are static, and the names of all."""

    def __init__(self, function: Callable[..., Any], argnums: Any, argnames: Any):
        self.names = _parameter_names(function)
        self.positions = sorted({self._position(n) for n in _as_tuple(argnums, int, "static_argnums")})
        given = _as_tuple(argnames, str, "static_argnames")
        self.keywords = {*given, *[self.names[i] for i in self.positions if i < len(self.names)]}
        self.positions = sorted({*self.positions, *[self.names.index(n) for n in given if n in self.names]})

    def _position(self, number: int) -> int:
        return number + len(self.names) if number < 0 else number

    def bound(self) -> StaticArguments:
        """Return the same for the method without `self`."""
        other = object.__new__(StaticArguments)
        other.names = self.names[1:]
        other.positions = [position - 1 for position in self.positions if position > 0]
        other.keywords = self.keywords
        return other

    def split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Any, list[tuple[Any, Any]]]:
        """Split a call into dynamic arguments and static ones, which must be hashable."""
        if not self.keywords and not self.positions:
            return tuple(args), kwargs, []
        statics = [(i, args[i]) for i in self.positions if i < len(args)]
        statics += [(name, value) for name, value in sorted(kwargs.items()) if name in self.keywords]
        for where, value in statics:
            self._check_hashable(where, value)
        taken = [where for where, _ in statics]
        dynamic = tuple([argument for i, argument in enumerate(args) if i not in taken])
        return dynamic, {name: value for name, value in kwargs.items() if name not in taken}, statics

    def _check_hashable(self, where: Any, value: Any) -> None:
        try:
            hash(value)
        except TypeError:
            unhashable = True
        else:
            unhashable = isinstance(value, Tensor)
        if unhashable:
            name = self.names[where] if isinstance(where, int) and where < len(self.names) else where
            raise AttributeTypeError(
                f"static argument {name} cannot be hashed: it is {value!r} ({type(value).__name__})",
                rule="a static value is part of the key under which a trace is kept",
                fix="pass a tuple instead of a list, or a frozen dataclass; a Tensor is never static",
            )


def _as_tuple(given: Any, kind: type, name: str) -> tuple[Any, ...]:
    items = () if given is None else tuple(given) if isinstance(given, list | tuple | set) else (given,)
    for item in items:
        if not isinstance(item, kind) or isinstance(item, bool):
            raise AttributeTypeError(f"{name} takes {kind.__name__}s, got {item!r}")
    return items


def _parameter_names(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional]


class Settings:
    """The remaining options of `jit`, checked."""

    def __init__(self, donate: bool, check_indices: bool | None, max_traces: int | None, on_lossy: str):
        for name, value in (("donate", donate), ("check_indices", check_indices)):
            if not (isinstance(value, bool) or (name == "check_indices" and value is None)):
                raise AttributeTypeError(f"jit: {name} must be a bool, got {value!r}")
        if max_traces is not None and (not isinstance(max_traces, int) or isinstance(max_traces, bool)):
            raise AttributeTypeError(f"jit: max_traces must be an int, got {max_traces!r}")
        if on_lossy not in ("ignore", "warn", "error"):
            raise AttributeValueError(f"jit: on_lossy must be 'ignore', 'warn' or 'error', got {on_lossy!r}")
        self.donate, self.check_indices, self.max_traces, self.on_lossy = donate, check_indices, max_traces, on_lossy


#: MindSpore's options with their defaults, which mean nothing here.
_MINDSPORE_OPTIONS = {"capture_mode": "ast", "jit_level": "O0", "dynamic": 0, "fullgraph": False, "backend": ""}


def jit(
    function: Callable[..., Any] | None = None,
    *,
    promotion: str | Policy | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate: bool = True,
    check_indices: bool | None = None,
    max_traces: int | None = None,
    on_lossy: str = "ignore",
    **mindspore_options: Any,
) -> Any:
    """Compile a function: trace it once per signature, promote, lower to XLA, run.

    Usable as `@jit`, `@jit(...)` and, as in MindSpore, `jit(function, ...)`. Arguments and results are Tensors,
    Parameters, arrays and numbers in any containers (pytrees); results are Tensors.

    Args:
        function: the function. Generator and async functions are refused.
        promotion: the policy of its implicit conversions; by default the one in force at the call (`mindspore`).
        static_argnums: positions of arguments that are Python values of the trace, keyed by value and type.
        static_argnames: the same by name.
        donate: give the old buffers of written Parameters to the program. Off, a failing device loses nothing.
        check_indices: True makes every bad index an IndexBoundsError, False none; by default indices that are
            known while tracing are checked.
        max_traces: raise RetraceLimitError instead of tracing more often than this.
        on_lossy: what to do about implicit conversions that can lose value: "ignore", "warn" or "error".
        **mindspore_options: MindSpore's own, which mean nothing here and may only have their defaults.

    >>> import tracejit
    >>> w = tracejit.Parameter([1.0, 2.0], name="w")
    >>> @tracejit.jit
    ... def step(gradient, rate):
    ...     return tracejit.ops.assign_sub(w, gradient * rate)
    >>> step(tracejit.Tensor([1, 1], "float32"), 0.5)
    Tensor([0.5, 1.5], dtype=float32)
    """
    for name, value in mindspore_options.items():
        if name not in _MINDSPORE_OPTIONS or value != _MINDSPORE_OPTIONS[name]:
            known = "MindSpore's, and means nothing here" if name in _MINDSPORE_OPTIONS else "unknown"
            raise AttributeTypeError(f"jit: option {name}={value!r} is {known}", fix="leave it out")
    if function is None:
        return functools.partial(
            jit,
            promotion=promotion,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate=donate,
            check_indices=check_indices,
            max_traces=max_traces,
            on_lossy=on_lossy,
        )
    _check_function(function)
    policy = None if promotion is None else policies.get(promotion)
    static = StaticArguments(function, static_argnums, static_argnames)
    return Jitted(function, policy, static, Settings(donate, check_indices, max_traces, on_lossy))


def _check_function(function: Any) -> None:
    if not callable(function):
        raise AttributeTypeError(f"jit takes a function, got {function!r}")
    target = inspect.unwrap(function)
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise AttributeTypeError(
            f"jit: {function.__name__} is a generator function, which cannot be traced",
            fix="return a list or tuple of its values",
        )
    if inspect.iscoroutinefunction(target):
        raise AttributeTypeError(f"jit: {function.__name__} is an async function, which cannot be traced")
