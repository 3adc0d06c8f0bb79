"""Plans: what a jitted function keeps of its traces, and how a call finds its compiled program.

An *entry* belongs to everything that Python knows of a call before dispatch: the tree of the arguments, the kinds of
its Python scalars, static values, policy and checks. What is left, dtypes and shapes, is looked up

- by JAX's C++ cache, where the function neither touches Parameters nor captures arrays: one program serves all
  signatures, and its body traces the user's function for a signature that it does not know (the *direct* way);
- else in a table of programs, one per signature, each with the Parameters and captured arrays of its own Graph.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ambient import surroundings
from tracejit.arguments import Abstract, Arguments, StaticArgument, with_statics
from tracejit.bridge import backend
from tracejit.commit import run_stateful
from tracejit.dispatch import as_value
from tracejit.errors import DTypeError, IndexBoundsError, RetraceLimitError, TraceError
from tracejit.freshness import State
from tracejit.ir import SCALAR_TYPES, Graph, Literal, Operation, ScalarType, TensorType, Type, Value
from tracejit.locations import location_of
from tracejit.ops.record import RECORDS, Bound
from tracejit.parameter import Parameter
from tracejit.passes import promote, simplify
from tracejit.placing import check_places, input_places, named_arrays, output_places, place_all
from tracejit.policies import Policy
from tracejit.retraces import describe
from tracejit.storage import ParameterGone, Storage, Written
from tracejit.tensor import Tensor, constant, host_array, wrap
from tracejit.tracer import Builder, collector_paused, tracing


class Options(NamedTuple):
    """What `jit` was told that matters to a trace or a program."""

    donate: bool
    on_lossy: str
    in_shardings: Any = None
    out_shardings: Any = None


class Recorded(NamedTuple):
    """One trace of a function: its Graph as written, promoted and simplified, and what it touched."""

    graph: Graph
    promoted: Graph
    simplified: Graph
    structure: Any
    #: Storages of the Parameters, in the order of the Graphs' state.
    parameters: tuple[Storage, ...]
    captured: list[Any]
    checks: list[tuple[Operation, Bound]]

    @property
    def pure(self) -> bool:
        """Whether the program needs nothing but the call's arguments."""
        return not (self.parameters or self.captured or self.checks)

    @property
    def lasting(self) -> bool:
        """Whether the trace can be kept; not one that captured a tracer of the user's JAX transformation."""
        return not any(backend.is_tracer(array) for array in self.captured)


class Plan(NamedTuple):
    """How one signature runs: its program, the storages that it writes and reads, the arrays it captured."""

    program: Any
    written: Written
    read: tuple[Storage, ...]
    captured: list[Any]
    #: The tree of the outputs; None for a single one.
    structure: Any
    checks: list[tuple[Operation, Bound]]

    def run(self, arrays: Sequence[Any]) -> Any:
        """Run on the call's arrays, commit what was written, and return the outputs as the function's tree."""
        program, written, read, captured, structure, checks = self
        inputs = [*arrays, *captured] if captured else arrays
        if checks:
            outputs = run_stateful(program, inputs, written, read, self._check)[: -len(checks)]
        else:
            outputs = run_stateful(program, inputs, written, read)
        if structure is None:
            return wrap(outputs[0])
        return backend.unflatten(structure, [wrap(array) for array in outputs])

    @property
    def parameters(self) -> list[Parameter]:
        """The Parameters that it writes, and those that it reads, as far as they exist."""
        parameters = [storage.parameter() for storage in (*self.written.storages, *self.read)]
        return [parameter for parameter in parameters if parameter is not None]

    def _check(self, outputs: Any) -> None:
        for (operation, bound), told in zip(self.checks, outputs[-len(self.checks) :], strict=True):
            if backend.is_tracer(told):
                raise TraceError(
                    f"{operation.name}: indices cannot be checked under a JAX transformation",
                    location=operation.location,
                    rule="check_indices=True looks at the indices before anything is kept",
                    fix="call it outside of jax.jit, jax.grad, jax.vmap, ..., or with check_indices=None",
                )
            bad, index = backend.to_numpy(told).tolist()
            if bad:
                raise _out_of_bounds(operation, bound, index)


def _out_of_bounds(operation: Operation, bound: Bound, index: int) -> IndexBoundsError:
    lengths = ", ".join(map(str, bound.limits))
    axes = f"axes of lengths {lengths}" if len(bound.limits) > 1 else f"an axis of length {lengths}"
    return IndexBoundsError(
        f"{operation.name}: index {index} is out of bounds for {axes}",
        location=operation.location,
        rule="indices are checked here (check_indices=True); every Parameter is as it was",
        fix="use indices inside the axis",
    )


def make_plan(recorded: Recorded, name: str, options: Options) -> Plan:
    """Make the Plan of a trace: a program whose state is the written Parameters, then those that are only read."""
    graph = recorded.simplified
    written = graph.written
    order = [*written, *[i for i in range(len(graph.state)) if i not in written]]
    ordered = Graph(
        graph.name,
        graph.inputs,
        [graph.state[i] for i in order],
        graph.operations,
        graph.outputs,
        [graph.new_state[i] for i in order],
        graph.location,
    )
    donate = options.donate and not recorded.checks and not _calls_back(graph)
    storages = [recorded.parameters[i] for i in order]
    places = output_places(options.out_shardings, recorded.structure)
    return Plan(
        backend.FixedProgram(lambda inputs, state: ordered, name, donate, places or ()),
        Written(storages[: len(written)]),
        tuple(storages[len(written) :]),
        recorded.captured,
        None if recorded.structure == backend.LEAF else recorded.structure,
        recorded.checks,
    )


def _calls_back(graph: Graph) -> bool:
    """Say whether Python code of the user's runs with the program: when it fails, nothing may be gone."""
    return any(operation.name == "jax_callback" for operation in graph.walk())


class Entry:
    """All calls that look the same to Python: one arrangement of arguments under one policy."""

    def __init__(self, owner: Any, arguments: Arguments, policy: Policy, checks: bool | None, state: State):
        self.owner, self.arguments, self.policy, self.checks = owner, arguments, policy, checks
        #: The attributes of Cells that the traces read.
        self.state = state
        self.traces: dict[tuple[Type, ...], Recorded] = {}
        self.plans: dict[Any, Plan] = {}
        #: The programs of signatures that were called by `functional`.
        self.functional: dict[tuple[Type, ...], Any] = {}
        #: The program of all signatures, if the entry goes the direct way; it does until one signature needs a Plan.
        self.program: Any = None
        self._watching: list[weakref.ref[Parameter]] = []
        self._places = input_places(owner.options.in_shardings, arguments)
        #: The last Plan that was looked up, and JAX's types of the arrays that it was for.
        self._recent: tuple[list[Any], Plan] | None = None
        self._direct = self._places is None and owner.options.out_shardings is None

    def watch_parameters(self, drop: Callable[[Entry], None]) -> None:
        """Let `drop` know when one of the Parameters among the arguments is gone: no call finds the entry any more."""
        reference = weakref.ref(self)

        def gone(_: Any) -> None:
            entry = reference()
            if entry is not None:
                drop(entry)

        parameters = [storage.parameter() for _, storage in self.arguments.parameters]
        self._watching = [weakref.ref(parameter, gone) for parameter in parameters if parameter is not None]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the function for these leaves, tracing it first where needed."""
        program = self.program
        if program is not None:
            return self.finish(program(leaves), leaves)
        if self._places is not None:
            leaves = place_all(leaves, self._places)
        plan = self._find_plan(leaves)
        try:
            return self._new_signature(self._key(leaves), leaves) if plan is None else plan.run(leaves)
        except ParameterGone:
            self._recent = None
            self.plans.pop(self._key(leaves), None)
            self.traces.pop(self.signature(leaves), None)
        return self._new_signature(self._key(leaves), leaves)

    def _find_plan(self, leaves: Sequence[Any]) -> Plan | None:
        """Return the Plan of a call. Arrays of the same types as the last ones need no look-up."""
        if self._recent is not None:
            types, plan = self._recent
            for leaf, type_ in zip(leaves, types):
                if leaf.aval is not type_:
                    break
            else:
                return plan
        plan = self.plans.get(self._key(leaves))
        if plan is not None and not any(self.arguments.kinds):
            self._recent = [leaf.aval for leaf in leaves], plan
        return plan

    def check_places(self, error: ValueError, leaves: Sequence[Any]) -> None:
        """Raise PlacementError if JAX has refused arrays for where they lie."""
        plan = self.plans.get(self._key(leaves))
        parameters = [] if plan is None else plan.parameters
        check_places(error, self.owner.name, named_arrays(self.arguments.names, leaves, parameters))

    def finish(self, result: Any, leaves: Sequence[Any]) -> Any:
        """Wrap what the direct program gave, or answer the call another way if it could not be built."""
        return wrap_tree(result) if result.__class__ is not backend.Failed else self._recover(result, leaves)

    def _key(self, leaves: Sequence[Any]) -> Any:
        # Arrays are told apart by what JAX has at hand; Types are made only for a trace.
        return tuple([(x.dtype, x.shape) if kind is None else kind for x, kind in zip(leaves, self.arguments.kinds)])

    def signature(self, leaves: Sequence[Any]) -> tuple[Type, ...]:
        """Return the types of the leaves: those of arrays, and the kinds of Python scalars."""
        kinds = self.arguments.kinds
        return tuple([_type_of(x) if kind is None else SCALAR_TYPES[kind] for x, kind in zip(leaves, kinds)])

    def recorded(self, signature: tuple[Type, ...]) -> Recorded:
        """Return the trace of a signature, made if there is none yet."""
        known = self.traces.get(signature)
        return self._trace(signature) if known is None else known

    def _trace(self, signature: tuple[Type, ...]) -> Recorded:
        """Trace a signature; the only place that does. No lock is held: two threads may do it for the same one."""
        history = self.owner.history
        try:
            started = history.start(describe(self, signature))
        except RetraceLimitError:
            if signature in self.traces:  # another thread was faster
                return self.traces[signature]
            raise
        recorded = record(self.owner, self.arguments, signature, self.policy, self.checks)
        kept = self.traces.setdefault(signature, recorded) if recorded.lasting else recorded
        if kept is recorded:
            history.finish(started._replace(key=describe(self, signature)))  # with the attributes that it turned to
        return kept

    def _new_signature(self, key: Any, leaves: Sequence[Any]) -> Any:
        recorded = self.recorded(self.signature(leaves))
        if recorded.pure and self._direct:
            self.program = self._direct_program()
            return self(leaves)
        return self._plan(key, recorded).run(leaves)

    def _plan(self, key: Any, recorded: Recorded) -> Plan:
        """Make the Plan of a trace. If it is one to keep, the entry is no longer direct."""
        plan = make_plan(recorded, self.owner.name, self.owner.options)
        if not recorded.lasting:
            return plan
        self._direct, self.program = False, None
        return self.plans.setdefault(key, plan)

    def _direct_program(self) -> Any:
        kinds = self.arguments.kinds

        def build(types: Sequence[Type]) -> tuple[Graph, Any]:
            signature = tuple([t if kind is None else SCALAR_TYPES[kind] for t, kind in zip(types, kinds)])
            recorded = self.recorded(signature)
            if not recorded.pure:
                raise _NeedsPlan(recorded)
            return recorded.simplified, recorded.structure

        return backend.Program(build, self.owner.name)

    def _recover(self, failure: Any, leaves: Sequence[Any]) -> Any:
        """Answer a call whose direct program could not be built: raise the user's error, or build it now."""
        error = failure.take_error()
        if isinstance(error, _NeedsPlan):
            return self._plan(self._key(leaves), error.recorded).run(leaves)
        if error is not None:
            raise error
        recorded = self.recorded(self.signature(leaves))  # raises as it did before, or succeeds this time
        if not recorded.pure:
            return self._plan(self._key(leaves), recorded).run(leaves)
        if backend.under_transformation():
            backend.check_x64(recorded.simplified)
        self.program = self._direct_program()  # the old one only knows that it failed
        return self(leaves)


def _type_of(leaf: Any) -> Type:
    return leaf.type if leaf.__class__ is Abstract else backend.type_of(leaf)


class _NeedsPlan(Exception):
    """A signature of a direct program turned out to need Parameters, captured arrays or checks."""

    def __init__(self, recorded: Recorded):
        super().__init__()
        self.recorded = recorded


def wrap_tree(result: Any) -> Any:
    """Wrap the arrays of a result in Tensors, whatever containers hold them."""
    kind = result.__class__
    if kind is tuple:
        return tuple([wrap_tree(item) for item in result])
    if kind is list:
        return [wrap_tree(item) for item in result]
    if kind is dict:
        return {key: wrap_tree(item) for key, item in result.items()}
    if kind is backend.ArrayType or backend.is_array(result):
        return wrap(result)
    return backend.map_leaves(wrap, result)


# Tracing


def record(
    owner: Any, arguments: Arguments, signature: Sequence[Type], policy: Policy, checks: bool | None
) -> Recorded:
    """Trace the owner's function for inputs of these types."""
    builder = Builder(owner.name, location_of(owner.function))
    with collector_paused():
        graph, structure = trace_into(builder, owner.function, arguments, signature, policy, checks)
        owner.depend_on(builder.subjects.values())
        promoted = promote(graph)
        simplified = simplify(promoted)
    owner.judge_casts(promoted)
    return Recorded(
        graph,
        promoted,
        simplified,
        structure,
        tuple([slot.key for slot in builder.slots.values()]),
        builder.captured,
        [(operation, bound) for operation, bound, _ in builder.checks],
    )


def trace_into(
    builder: Builder,
    function: Callable[..., Any],
    arguments: Arguments,
    signature: Sequence[Type],
    policy: Policy,
    checks: bool | None,
) -> tuple[Graph, Any]:
    """Run a function on abstract values; returns the Graph as written, and the tree of what the function returned.

    What was recorded before an error stays in the builder.
    """
    values = [builder.argument(type_, name) for type_, name in zip(signature, arguments.names, strict=True)]
    args, kwargs = arguments.make(values)
    with tracing(builder), backend.compile_time(), surroundings(builder=builder, policy=policy, check_indices=checks):
        outputs, structure = results_of(builder, function(*args, **kwargs), policy)
    outputs += [told for _, _, told in builder.checks]
    return builder.finish(outputs), structure


def inline(
    builder: Builder,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    statics: Sequence[StaticArgument],
    policy: Policy,
) -> Any:
    """Run a jitted function inside the trace of another as outside of it: on views of its own, and Tensors come out."""
    args, kwargs = backend.map_tensors(_own_view, (args, kwargs))
    args, kwargs = with_statics(args, kwargs, statics)
    values, structure = results_of(builder, function(*args, **kwargs), policy)
    return backend.unflatten(structure, [wrap(value) for value in values])


def _own_view(leaf: Any) -> Any:
    return wrap(leaf._data) if leaf.__class__ is Tensor else leaf


def results_of(builder: Builder, result: Any, policy: Policy) -> tuple[list[Value], Any]:
    """Return the Values of what a function returned, and their tree."""
    leaves, structure = backend.flatten_named(result)
    return [_result(builder, name, leaf, policy) for name, leaf in leaves], structure


def _result(builder: Builder, name: str, leaf: Any, policy: Policy) -> Value:
    """Return the Value of one result: a scalar becomes a tensor of its default dtype, host data a constant."""
    if isinstance(leaf, bool | int | float | complex | np.ndarray | np.generic):
        return constant(builder, host_array(leaf, None))
    if not isinstance(leaf, Tensor) and not backend.is_array(leaf):
        raise DTypeError(
            f"{builder.name} returned {leaf!r} ({type(leaf).__name__}){f' at {name}' if name else ''}",
            rule="a jitted function returns Tensors and numbers, in any container",
            fix="return it from Python code outside of the jitted function",
        )
    value = as_value(builder, leaf if isinstance(leaf, Tensor) else wrap(leaf))
    if isinstance(value.type, ScalarType):
        attributes = {"dtype": value.type.dtype, "rule": "returned-scalar"}
        cast = builder.record(RECORDS["cast"], [value], attributes, policy)
        if builder.location is not None:  # the function has returned: the innermost line is the caller's
            cast.location = builder.location.with_text()
        return cast.result
    assert not isinstance(value, Literal) and isinstance(value.type, TensorType)
    return value
