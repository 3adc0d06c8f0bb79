"""Compiled programs: JAX callables whose bodies build and emit Graphs for the types they meet.

No exception of a user's mistake leaves a body: one costs that signature JAX's C++ path for good. A body that cannot
build its Graph returns `Failed`, and the caller raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax import tree_util

from lowering.arrays import leave, outside, type_of, under_transformation, x64, x64_scope
from lowering.emit import check_x64, emit
from lowering.placement import constrained, kept, place_of, placements, spread
from tracejit.ir import ABSENT, Graph, ScalarType, Type
from tracejit.locations import user_traceback


class Failed:
    """What a program returns whose Graph could not be built; a pytree node without leaves."""

    def __init__(self, number: int):
        self.number = number

    def take_error(self) -> BaseException | None:
        """Return the error that the body met, once: a later call of the same signature has none."""
        error, _ = _errors.pop(self.number, (None, None))
        return error


#: Errors that bodies met, each with the generator in which it was raised.
_errors: dict[int, tuple[BaseException, Any]] = {}
_numbers = itertools.count()

tree_util.register_pytree_node(Failed, lambda f: ((), f.number), lambda number, _: Failed(number))


def _building(
    build: Callable[[Sequence[Type]], tuple[Graph, Any]], types: Sequence[Type]
) -> Iterator[tuple[Any, Any, BaseException | None]]:
    """Build a Graph; gives it and the tree of its outputs, or the error.

    A generator, for the sake of the error's traceback: its frames know the frames that called them, but those of a
    suspended generator know nobody. Else the frames of the body and of JAX would live on in it, and with them tracers.
    """
    try:
        graph, structure = build(types)
        check_x64(graph)
    except BaseException as error:
        yield None, None, error
    else:
        yield graph, structure, None


def _failed(error: BaseException, building: Any) -> Failed:
    """Keep an error, and the suspended generator that raised it, for the caller of the program."""
    error.__traceback__ = user_traceback(error.__traceback__)
    number = next(_numbers)
    _errors[number] = error, building
    return Failed(number)


class Program:
    """A program without state.

    `build(types)` makes its promoted Graph and says which tree the outputs form (None: a tuple, or the only one);
    JAX's cache keeps one program per types.
    """

    __slots__ = ("call",)

    def __init__(self, build: Callable[[Sequence[Type]], tuple[Graph, Any]], name: str, inline: bool = False):
        def body(*arrays: Any) -> Any:
            building = _building(build, [type_of(array) for array in arrays])
            graph, structure, error = next(building)
            if error is not None:
                return _failed(error, building)
            outputs, _ = emit(graph, arrays, ())
            if structure is not None:
                return tree_util.tree_unflatten(structure, outputs)
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        body.__name__ = body.__qualname__ = name
        self.call = jax.jit(body, inline=inline)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """Run on arrays; 64-bit dtypes exist unless somebody else's transformation says otherwise."""
        return self.call(*arrays) if x64() else self.widened(arrays)

    def widened(self, arrays: Sequence[Any]) -> Any:
        """Run where the user has 64 bits off: at top level they exist all the same."""
        if under_transformation():
            return self.call(*arrays)
        if outside.narrow:  # the user's code has switched them off inside a scope of ours
            with x64_scope():
                return self.call(*arrays)
        try:
            outside.narrow = True
            with outside.scope:
                return self.call(*arrays)
        except BaseException:
            leave(outside.scope)
            raise
        finally:
            outside.narrow = False


class StatefulProgram:
    """A program with state: `compiled(inputs, written, read)` gives (outputs, new values of what is written).

    `build(input types, state types)` makes the promoted Graph; its state is the written ones, then the read ones.
    The first outputs come out in `places`. The buffers of `written` are donated: gone after the call, unless `donate`
    is off. `compiled` is C code, so that no interrupt comes between the call and the caller's keeping its results;
    `wide` says in which context to call it.
    """

    __slots__ = ("_body", "_build", "_kept", "_seen", "_variants", "arranged_at", "compiled", "donates", "ready_at")
    #: Whether an interrupt can strike after the buffers are gone and before the results are there.
    interruptible = False

    def __init__(self, build: Callable[..., Graph], name: str, donate: bool = True, places: Sequence[Any] = ()):
        def body(inputs: Any, written: Any, read: Any) -> Any:
            state = [*written, *read]
            outputs, new = emit(self._graph(inputs, state), inputs, state)
            outputs[: len(places)] = constrained(outputs, places)
            return outputs, new[: len(written)]

        self._build = build
        self._compile(body, name, donate)

    def _compile(self, body: Callable[..., Any], name: str, donate: bool) -> None:
        body.__name__ = body.__qualname__ = name
        self._body, self.donates = body, donate
        self.compiled = jax.jit(body, donate_argnums=(1,) if donate else ())
        self._seen: set[Any] = set()
        #: The shardings of new values, and a callable for each that there was.
        self._kept: tuple[Any, ...] | None = None
        self._variants: dict[Any, Any] = {None: self.compiled}
        #: The version of the placements for which the program is arranged.
        self.arranged_at: int | None = None
        #: That for which it is arranged, donates and has run, whatever it is called with: nothing needs care.
        self.ready_at: int | None = None

    def _graph(self, inputs: Sequence[Any], state: Sequence[Any]) -> Graph:
        return self._build([type_of(x) for x in inputs], [type_of(x) for x in state])

    def arranged(self, inputs: Any, written: Any, read: Any) -> tuple[Any, Any, Any]:
        """Give new values the places of the old ones; what was never placed goes to where the others are.

        Returns the arrays to run on. Left to itself, a new value of a spread array drifts to another sharding, and the
        next call compiles anew.
        """
        written = spread(written, [*inputs, *read])
        self._keep(kept(list(map(place_of, written))))
        self._note_arranged()
        return inputs, written, read

    def _keep(self, shardings: tuple[Any, ...] | None) -> None:
        self._kept = shardings
        found = self._variants.get(shardings)
        if found is None:
            assert shardings is not None
            donated = (1,) if self.donates else ()
            found = jax.jit(self._body, donate_argnums=donated, out_shardings=(None, list(shardings)))
            self._variants[shardings] = found
        self.compiled = found

    def _note_arranged(self) -> None:
        if not placements.version:  # else it is called with Parameters that lie here and there
            self.arranged_at = 0

    def check(self, inputs: Sequence[Any], read: Sequence[Any]) -> None:
        """Raise X64Error before a call under the user's transformation, which can only read: not in the body."""
        check_x64(self._graph(inputs, read))

    def has_run(self, inputs: Sequence[Any], written: Sequence[Any]) -> bool:
        """Say whether the program has run for arrays of these types."""
        return bool(self._seen) and (_signature(inputs, written), self._kept) in self._seen

    def mark_run(self, inputs: Sequence[Any], written: Sequence[Any]) -> None:
        """Note that the program has run for arrays of these types."""
        self._seen.add((_signature(inputs, written), self._kept))

    def lower(self, *types: Sequence[Type], places: Sequence[Sequence[Any]]) -> Any:
        """Return JAX's Lowered for types of inputs, written and read state, and the places of all (None: anywhere)."""
        self._keep(kept(places[1]))
        with x64_scope():
            return self.compiled.lower(*[list(map(spec_of, *group)) for group in zip(types, places)])


class FixedProgram(StatefulProgram):
    """A program with state for one signature, so that whether it has run is one bit."""

    __slots__ = ("_ran",)

    def __init__(self, build: Callable[..., Graph], name: str, donate: bool = True, places: Sequence[Any] = ()):
        super().__init__(build, name, donate, places)
        self._ran = False

    def _keep(self, shardings: tuple[Any, ...] | None) -> None:
        if shardings != self._kept:
            self._ran, self.ready_at = False, None
            super()._keep(shardings)

    def _note_arranged(self) -> None:
        self.arranged_at = placements.version
        self._note_ready()

    def _note_ready(self) -> None:
        if self._ran and self.donates:
            self.ready_at = self.arranged_at

    def has_run(self, inputs: Sequence[Any], written: Sequence[Any]) -> bool:
        """Say whether the program has run."""
        return self._ran

    def mark_run(self, inputs: Sequence[Any], written: Sequence[Any]) -> None:
        """Note that the program has run."""
        self._ran = True
        self._note_ready()


class CompiledProgram:
    """An executable for one signature, called as a StatefulProgram is; its caller has checked the arrays."""

    __slots__ = ("_ran", "compiled", "donates")
    interruptible = True  # JAX calls executables from Python code
    arranged_at = ready_at = None

    def __init__(self, compiled: Any, donate: bool):
        self.compiled, self.donates, self._ran = compiled, donate, False

    def arranged(self, inputs: Any, written: Any, read: Any) -> tuple[Any, Any, Any]:
        """Return the arrays to run on: an executable takes them as it was compiled for."""
        return inputs, written, read

    def check(self, inputs: Sequence[Any], read: Sequence[Any]) -> None:
        """Do nothing: an executable runs at once, whatever transformation is going on."""

    def has_run(self, inputs: Sequence[Any], written: Sequence[Any]) -> bool:
        """Say whether it has run."""
        return self._ran

    def mark_run(self, inputs: Sequence[Any], written: Sequence[Any]) -> None:
        """Note that it has run."""
        self._ran = True


def spec_of(type_: Type, place: Any = None) -> Any:
    """Return JAX's abstract value of a type, in a place; a Python scalar's is weak."""
    if isinstance(type_, ScalarType):
        return jax.ShapeDtypeStruct((), PYTHON_WIDTHS[type_.kind], weak_type=True)
    return jax.ShapeDtypeStruct(type_.shape, type_.dtype.numpy, sharding=place)


PYTHON_WIDTHS = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}


def _signature(inputs: Sequence[Any], written: Sequence[Any]) -> Any:
    arrays = [*inputs, *written]
    return tuple([(x.shape, x.dtype) if hasattr(x, "shape") else x.__class__ for x in arrays])


def abstract_results(name: str, types: Sequence[Type], attributes: Any) -> tuple[Type, ...]:
    """Return the result types of an operator by evaluating its lowering rule abstractly."""
    from lowering.registry import RULES

    def run(*arrays: Any) -> Any:
        return RULES[name](*arrays, **attributes)

    with x64_scope():
        specs = [None if type_ is ABSENT else jax.ShapeDtypeStruct(type_.shape, type_.dtype.numpy) for type_ in types]
        results = jax.eval_shape(run, *specs)
    results = results if isinstance(results, tuple | list) else (results,)
    return tuple([type_of(result) for result in results])
