"""`jit`: the decorator, and the callable that it returns."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import policies
from tracejit.ambient import AMBIENT, DEFAULT_POLICY, Ambient, surroundings
from tracejit.arguments import (
    SCALAR_KINDS,
    Abstract,
    StaticArguments,
    arrange,
    as_tensor,
    named_leaves,
    normalise,
    static_key,
)
from tracejit.bridge import backend
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    LossyCastWarning,
    TracejitError,
    compose,
    hide_frames,
)
from tracejit.exporting import Exported, export_traced
from tracejit.freshness import State, Watch, depend_on
from tracejit.functional import call_functional, check_not_tracing
from tracejit.ir import Graph
from tracejit.locations import location_of
from tracejit.parameter import Parameter
from tracejit.passes.casts import LOSSY, implicit_casts
from tracejit.plans import Entry, Options, inline
from tracejit.policies import Policy
from tracejit.retraces import CacheInfo, History, warn_at
from tracejit.stages import Traced
from tracejit.tensor import Tensor, public, wrap

#: Classes of arguments that go to a program as they are, or as what a Tensor holds.
_SIMPLE = frozenset((Tensor, *SCALAR_KINDS))


class Hot(NamedTuple):
    """The short way of a call like the last one: so many positional arguments of these classes, and their entry."""

    arity: int
    #: None where all of them are Tensors.
    classes: tuple[type, ...] | None
    entry: Entry

    def arrays(self, args: Sequence[Any]) -> list[Any] | None:
        """Return what goes to the program, Python scalars among it; None if an argument is of another class."""
        assert self.classes is not None
        if tuple(map(type, args)) != self.classes:
            return None
        return [argument._data if argument.__class__ is Tensor else argument for argument in args]


class Jitted:
    """A function that is traced once per signature and then runs as one compiled program. Made by `jit`."""

    def __init__(
        self, function: Callable[..., Any], policy: Policy | None, static: StaticArguments, settings: Settings
    ):
        self.function = function
        self._policy, self._static, self._settings = policy, static, settings
        self.name = getattr(function, "__name__", type(function).__name__)
        self.options = Options(settings.donate, settings.on_lossy, settings.in_shardings, settings.out_shardings)
        self.history = History(self.name, settings.max_traces)
        self._entries: dict[Any, Entry] = {}
        self._hot: Hot | None = None
        self._watch = Watch()
        self._watch.on_change = _cooler(self)
        self._instances: dict[int, tuple[weakref.ref[Any], Jitted]] = {}
        functools.update_wrapper(self, function, updated=())

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function: find its compiled program, or trace it first."""
        try:
            try:
                hot = self._hot
                if hot is None or kwargs or AMBIENT.get() is not None:
                    return self._general(args, kwargs)
                arity, classes, entry = hot
                if classes is None:
                    arrays = []
                    for argument in args:
                        if argument.__class__ is not Tensor:
                            return self._general(args, kwargs)
                        arrays.append(argument._data)
                    if len(arrays) != arity:
                        return self._general(args, kwargs)
                elif (arrays := hot.arrays(args)) is None:
                    return self._general(args, kwargs)
                program = entry.program
                if program is None:
                    return entry(arrays)
                result = program.call(*arrays) if backend.x64() else program.widened(arrays)
                if result.__class__ is backend.ArrayType:
                    return wrap(result)
                return entry.finish(result, arrays)
            except (TypeError, OverflowError, AttributeError):
                self._check_arguments(args, kwargs)
                raise
            except ValueError as error:
                self._check_arguments(args, kwargs, error)
                raise
        except Exception as error:
            hide_frames(error)
            raise

    def _check_arguments(self, args: Sequence[Any], kwargs: dict[str, Any], error: ValueError | None = None) -> None:
        """Raise what is wrong with arguments that JAX has refused in its own words."""
        ambient = AMBIENT.get()
        if (ambient is None or ambient.builder is None) and not isinstance(error, TracejitError):
            entry, leaves = self._find(args, kwargs, ambient)
            if error is not None:
                entry.check_places(error, leaves)

    def _general(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        ambient = AMBIENT.get()
        if ambient is not None and ambient.builder is not None:
            return self._inline(args, kwargs, ambient)
        entry, leaves = self._find(args, kwargs, ambient)
        result = entry(leaves)
        if ambient is None and not kwargs:
            self._keep_hot(args, entry)
        return result

    def _keep_hot(self, args: Sequence[Any], entry: Entry) -> None:
        classes = tuple([argument.__class__ for argument in args])
        arguments = entry.arguments
        if not arguments.statics and len(arguments.kinds) == len(args) and _SIMPLE.issuperset(classes):
            tensors_only = all(kind is Tensor for kind in classes)
            self._hot = Hot(len(args), None if tensors_only else classes, entry)
            if entry.state is not self._watch.state():  # an attribute was set meanwhile
                self._hot = None

    def _inline(self, args: Sequence[Any], kwargs: dict[str, Any], ambient: Ambient) -> Any:
        """Run inside another trace: the operations become part of it; an explicit policy holds for them."""
        policy, checks = self._surroundings(ambient)
        dynamic_args, dynamic_kwargs, statics = self._static.split(args, kwargs)
        with surroundings(policy=policy, check_indices=checks):
            return inline(ambient.builder, self.function, dynamic_args, dynamic_kwargs, statics, policy)

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
        names = self._static.names
        leaves, structure = backend.flatten((dynamic_args, dynamic_kwargs))
        if abstract:
            leaves = [Abstract.of(leaf) for leaf in leaves]

        def name(position: int) -> str:
            named = named_leaves(names, dynamic_args, dynamic_kwargs, statics)[0]
            return [name for name, leaf in named if not isinstance(leaf, Parameter)][position]

        marks, inputs = normalise(leaves, policy, name)
        state = self._watch.state()
        key = (structure, marks, static_key(statics), policy.name, checks, state)
        entry = self._entries.get(key)
        if entry is None:
            # Arrays count as Tensors, and so do the abstract arguments of `trace`: they share an entry, by two keys.
            args, kwargs = backend.map_tensors(as_tensor, (dynamic_args, dynamic_kwargs))
            shared = (backend.flatten((args, kwargs))[1], *key[1:])
            named, tree = named_leaves(names, args, kwargs, statics)
            new = Entry(self, arrange(named, tree, marks, statics), policy, checks, state)
            entry = self._entries[key] = self._entries.setdefault(shared, new)
            entry.watch_parameters(_dropper(self))
            self._forget(self._watch.forgotten())
        return entry, inputs

    def depend_on(self, subjects: Iterable[Any]) -> None:
        """Note on whose attributes a trace depends. The entries there are belong to the attributes of now."""
        before = self._watch.state()
        if not self._watch.add(subjects):
            return
        state, kept = self._watch.state(), {}
        for key, entry in list(self._entries.items()):
            if entry.state is before:
                entry.state = state
                kept[*key[:-1], state] = entry
        self._entries = kept

    def _forget(self, states: Sequence[State]) -> None:
        if states:
            self._entries = {key: entry for key, entry in list(self._entries.items()) if entry.state not in states}

    def judge_casts(self, promoted: Graph) -> None:
        """Warn of, or refuse, lossy conversions, as `on_lossy` says."""
        if self.options.on_lossy == "ignore":
            return
        lossy = [cast for cast in implicit_casts(promoted) if cast.judgement == LOSSY]
        if not lossy:
            return
        lines = [compose(f"- {cast}", location=cast.location) for cast in lossy]
        what = f"{len(lossy)} implicit conversion{'s' if len(lossy) > 1 else ''} in {self.name} can lose value\n"
        if self.options.on_lossy == "error":
            raise DTypeError(
                what + "\n".join(lines),
                location=location_of(self.function),
                rule="on_lossy='error': an implicit conversion must keep every value exact",
                fix="write each conversion, as in ops.cast(x, tracejit.float32), or change the operands' dtypes",
            )
        warn_at(lossy[0].location, what + "\n".join(lines), LossyCastWarning)

    def functional(self, params: Mapping[str, Any], *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Run as a pure function of the Parameters' values: the door for JAX's own transformations.

        No Parameter changes; so it works under `jax.jit`, `jax.grad`, `jax.vmap` and in `lax.scan`, where a write
        is a StateError otherwise.

        Args:
            params: values by the Parameters' names, each of its Parameter's dtype and shape. All that the function
                writes must be among them; a Parameter that it only reads and that is not keeps its value of now.
            *args: arguments by position.
            **kwargs: arguments by name.

        Returns:
            What the function returns, and a dict like `params` with the values as they would be after the call.

        Raises:
            StateError: (a RuntimeError) a Parameter is written whose value is not in `params`.
            ParameterError: (a TypeError) a name that no Parameter of the function has.
            DTypeError, ShapeError: a value of another dtype or shape than its Parameter's.

        >>> import jax, tracejit
        >>> w = tracejit.Parameter([1.0, 2.0], name="w")
        >>> @tracejit.jit
        ... def step(x):
        ...     return tracejit.ops.assign_add(w, x * 2).sum()
        >>> loss, after = jax.jit(step.functional)({"w": w.value()}, jax.numpy.ones(2))
        >>> loss, after["w"].tolist(), w
        (Tensor(7., dtype=float32), [3.0, 4.0], Parameter([1., 2.], dtype=float32, name='w'))
        """
        try:
            check_not_tracing(self.name)
            entry, leaves = self._find(args, kwargs, AMBIENT.get())
            return call_functional(entry, leaves, params)
        except Exception as error:
            hide_frames(error)
            raise

    # Looking inside

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for these arguments without running: the first of JAX's stages, `trace().lower().compile()`.

        Arguments may be abstract: a `TensorType`, or anything with `shape` and `dtype` such as
        `jax.ShapeDtypeStruct`.
        """
        try:
            entry, leaves = self._find(args, kwargs, AMBIENT.get(), abstract=True)
            signature = entry.signature(leaves)
            return Traced(entry, signature, entry.recorded(signature), list(map(backend.place_of, leaves)))
        except Exception as error:
            hide_frames(error)
            raise

    def export(self, *args: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> Exported:
        """Make a program of it that needs no source, for arguments of these types: it can be called and saved.

        Arguments may be abstract, as for `trace`; static ones become part of the program.

        Args:
            *args: arguments by position.
            platforms: of "cpu", "cuda", "rocm" and "tpu" those that it is for; by default the one at hand.
            **kwargs: arguments by name.

        Raises:
            PlatformError: (a NotImplementedError) an operator that cannot be lowered for one of the platforms.
            ExportError: (a TypeError) calls back into Python, or containers that a file cannot describe.
        """
        try:
            return export_traced(self.trace(*args, **kwargs), platforms)
        except Exception as error:
            hide_frames(error)
            raise

    def cache_info(self) -> CacheInfo:
        """Return how often the function was traced, for how many arrangements of arguments, and signatures."""
        entries = set(self._entries.values())
        return CacheInfo(len(self.history), len(entries), sum(len(entry.traces) for entry in entries))

    def explain_retraces(self) -> str:
        """Return, in words, what differed each time that the function was traced anew."""
        return self.history.explain()

    def clear_cache(self) -> None:
        """Forget all traces and programs, those of bound methods too. What was counted stays counted."""
        self._hot = None
        self._entries.clear()
        for _, bound in list(self._instances.values()):
            bound.clear_cache()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, which the traces hold weakly; each has traces of its own."""
        if instance is None:
            return self
        found = self._instances.get(id(instance))
        if found is None or found[0]() is not instance:
            found = self._bind(instance)
        return BoundJitted(instance, found[1])

    def _bind(self, instance: Any) -> tuple[weakref.ref[Any], Jitted]:
        number = id(instance)
        try:
            reference = weakref.ref(instance, lambda _: self._instances.pop(number, None))
        except TypeError:
            raise AttributeTypeError(
                f"{self.name} cannot be bound to a {type(instance).__name__}, which cannot be referred to weakly",
                rule="the traces of a method do not keep its object alive",
                fix="add '__weakref__' to the class's __slots__",
            ) from None
        bound = type(self)(_WeakMethod(self.function, reference), self._policy, self._static.bound(), self._settings)
        if self._instances.get(number, (lambda: None,))[0]() is not instance:
            self._instances.pop(number, None)  # of an object that had the same address
        return self._instances.setdefault(number, (reference, bound))

    def __repr__(self) -> str:
        return f"<jit of {self.name}>"


class Interpreted(Jitted):
    """A function that runs operator by operator, so that a debugger stops in it: made by `jit(eager=True)`."""

    def _general(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        ambient = AMBIENT.get()
        if ambient is not None and ambient.builder is not None:
            return self._inline(args, kwargs, ambient)
        policy, checks = self._surroundings(ambient)
        args, kwargs = backend.map_tensors(_own, (args, kwargs))
        with surroundings(policy=policy, check_indices=checks):
            return backend.map_tensors(_result, self.function(*args, **kwargs))


def _own(leaf: Any) -> Any:
    """Return an argument as a jitted function has it: a handle of its own, and arrays as Tensors."""
    if leaf.__class__ is Tensor:
        return wrap(leaf._data)
    return Tensor(leaf) if isinstance(leaf, np.ndarray) or backend.is_array(leaf) else leaf


def _result(leaf: Any) -> Tensor:
    return leaf if leaf.__class__ is Tensor else Tensor(leaf)


class BoundJitted:
    """A jitted function bound to an instance, as a method is; everything else is its Jitted's."""

    __slots__ = ("__self__", "_jitted")

    def __init__(self, instance: Any, jitted: Jitted):
        self.__self__, self._jitted = instance, jitted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the method."""
        try:
            return self._jitted(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)

    def __repr__(self) -> str:
        return f"<bound {self._jitted!r} of {self.__self__!r}>"


class _WeakMethod:
    """A method bound to an instance that it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: weakref.ref[Any]):
        self._function, self._instance = function, instance
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__code__, self.__doc__ = getattr(function, "__code__", None), function.__doc__
        first, *rest = inspect.signature(function).parameters.values()
        self.__signature__ = inspect.Signature(rest if first.kind != first.VAR_POSITIONAL else [first, *rest])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"the object whose {self.__name__} this is no longer exists")
        depend_on(instance)
        return self._function(instance, *args, **kwargs)


def _dropper(jitted: Jitted) -> Callable[[Entry], None]:
    """Make the function that takes an entry from a Jitted, which it does not keep alive."""
    reference = weakref.ref(jitted)

    def drop(entry: Entry) -> None:
        found = reference()
        if found is not None:
            found._entries = {key: kept for key, kept in list(found._entries.items()) if kept is not entry}
            if found._hot is not None and found._hot.entry is entry:
                found._hot = None

    return drop


def _cooler(jitted: Jitted) -> Callable[[], None]:
    """Make the function that takes the short way from a Jitted, which it does not keep alive."""
    reference = weakref.ref(jitted)

    def cool() -> None:
        found = reference()
        if found is not None:
            found._hot = None

    return cool


class Settings:
    """The remaining options of `jit`, checked."""

    def __init__(
        self,
        donate: bool,
        check_indices: bool | None,
        max_traces: int | None,
        on_lossy: str,
        in_shardings: Any = None,
        out_shardings: Any = None,
    ):
        for name, value in (("donate", donate), ("check_indices", check_indices)):
            if not (isinstance(value, bool) or (name == "check_indices" and value is None)):
                raise AttributeTypeError(f"jit: {name} must be a bool, got {value!r}")
        if max_traces is not None and (not isinstance(max_traces, int) or isinstance(max_traces, bool)):
            raise AttributeTypeError(f"jit: max_traces must be an int, got {max_traces!r}")
        if on_lossy not in ("ignore", "warn", "error"):
            raise AttributeValueError(f"jit: on_lossy must be 'ignore', 'warn' or 'error', got {on_lossy!r}")
        self.donate, self.check_indices, self.max_traces, self.on_lossy = donate, check_indices, max_traces, on_lossy
        self.in_shardings, self.out_shardings = in_shardings, out_shardings


#: MindSpore's options with their defaults, which mean nothing here.
_MINDSPORE_OPTIONS = {"capture_mode": "ast", "jit_level": "O0", "dynamic": 0, "fullgraph": False, "backend": ""}


@public
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
    eager: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
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
        eager: run the function as plain Python, operator by operator, so that a debugger can stop in it and values
            can be printed; the results are the same up to rounding.
        in_shardings: where positional arguments are brought: a sharding for all, or a tuple of them, each for one
            argument and all it holds; None for what stays where it is. Parameters have places of their own.
        out_shardings: where the results come out, in the same form.
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
            eager=eager,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
        )
    if not isinstance(eager, bool):
        raise AttributeTypeError(f"jit: eager must be a bool, got {eager!r}")
    _check_function(function)
    policy = None if promotion is None else policies.get(promotion)
    static = StaticArguments(function, static_argnums, static_argnames)
    kind = Interpreted if eager else Jitted
    settings = Settings(donate, check_indices, max_traces, on_lossy, in_shardings, out_shardings)
    return kind(function, policy, static, settings)


def _check_function(function: Any) -> None:
    if not callable(function):
        raise AttributeTypeError(f"jit takes a function, got {function!r}", fix="write @jit below @classmethod")
    target = inspect.unwrap(function)
    forms = [target, type(target).__call__]  # a function, or an object that can be called
    name = getattr(function, "__name__", type(function).__name__)
    if any(inspect.isgeneratorfunction(form) or inspect.isasyncgenfunction(form) for form in forms):
        raise AttributeTypeError(
            f"jit: {name} is a generator function, which cannot be traced",
            rule="tracing runs the whole function once",
            fix="return a list or tuple of its values",
        )
    if any(map(inspect.iscoroutinefunction, forms)):
        raise AttributeTypeError(
            f"jit: {name} is an async function, which cannot be traced",
            rule="tracing runs the whole function once",
            fix="jit the part of it that computes",
        )
