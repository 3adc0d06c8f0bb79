"""The stages of a jitted function, with JAX's names: `f.trace(*args).lower().compile()`, each of them printable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.ambient import AMBIENT, Ambient
from tracejit.bridge import backend
from tracejit.errors import DTypeError, TraceError, hide_frames
from tracejit.ir import Graph, Type
from tracejit.plans import Entry, Plan, Recorded, make_plan
from tracejit.retraces import describe
from tracejit.storage import Storage


class Traced:
    """A function traced for one signature.

    `graph` is the Graph as written, `promoted` the one with every implicit conversion written out, `simplified` the
    one that is lowered. Printing shows `promoted`.
    """

    def __init__(self, entry: Entry, signature: tuple[Type, ...], recorded: Recorded, places: Sequence[Any]):
        self._entry, self._signature, self._recorded = entry, signature, recorded
        #: Where each input lies, None for anywhere.
        self._places = places

    @property
    def graph(self) -> Graph:
        """The Graph as written."""
        return self._recorded.graph

    @property
    def promoted(self) -> Graph:
        """The Graph after the promote pass."""
        return self._recorded.promoted

    @property
    def simplified(self) -> Graph:
        """The Graph after the simplify pass: what is lowered."""
        return self._recorded.simplified

    def lower(self) -> Lowered:
        """Lower to StableHLO."""
        owner = self._entry.owner
        plan = make_plan(self._recorded, owner.name, owner.options)
        graph = self._recorded.simplified
        captured = graph.inputs[len(self._signature) :]
        inputs = [*self._signature, *[value.type for value in captured]]
        written = [graph.state[i].type for i in graph.written]
        read = [value.type for i, value in enumerate(graph.state) if i not in graph.written]
        places = [
            [*self._places, *map(backend.place_of, plan.captured)],
            _places(plan.written.storages),
            _places(plan.read),
        ]
        return Lowered(self, plan, plan.program.lower(inputs, written, read, places=places))

    def __str__(self) -> str:
        return str(self.promoted)

    def _repr_html_(self) -> str:
        return self.promoted._repr_html_()


class Lowered:
    """A function lowered for one signature: StableHLO, not yet compiled."""

    def __init__(self, traced: Traced, plan: Plan, lowered: Any):
        self._traced, self._plan, self._lowered = traced, plan, lowered

    def as_stablehlo(self) -> str:
        """Return the StableHLO module's text."""
        return self._lowered.as_text()

    def compile(self) -> Compiled:
        """Compile for the default device."""
        return Compiled(self._traced, self._plan, self._lowered.compile())

    def cost_analysis(self) -> Any:
        """Return XLA's estimate of the costs before compilation."""
        return self._lowered.cost_analysis()

    def __str__(self) -> str:
        return self.as_stablehlo()


class Compiled:
    """A function compiled for one signature; calling it with other types is an error."""

    def __init__(self, traced: Traced, plan: Plan, compiled: Any):
        self._traced, self._compiled = traced, compiled
        self._plan = plan._replace(program=backend.CompiledProgram(compiled, plan.program.donates))

    def as_text(self) -> str:
        """Return the optimised HLO."""
        return self._compiled.as_text()

    def cost_analysis(self) -> Any:
        """Return XLA's costs of the compiled program: `flops`, `bytes accessed` and others."""
        costs = self._compiled.cost_analysis()
        return costs[0] if isinstance(costs, list) else costs

    def memory_analysis(self) -> Any:
        """Return XLA's account of the program's memory."""
        return self._compiled.memory_analysis()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the types compiled for; raises DTypeError naming the argument for others."""
        try:
            traced = self._traced
            mine, ambient = traced._entry, AMBIENT.get()
            if ambient is not None and ambient.builder is not None:
                raise _not_here(mine.owner.name, f"inside {ambient.builder.name}, which is being traced")
            entry, leaves = mine.owner._find(args, kwargs, Ambient(None, mine.policy, mine.checks))
            signature = entry.signature(leaves)
            if entry is not mine or signature != traced._signature:
                raise _mismatch(traced, entry, signature)
            if any(map(backend.is_tracer, leaves)):
                raise _not_here(mine.owner.name, "under a JAX transformation")
            try:
                return self._plan.run(leaves)
            except ValueError as error:
                mine.check_places(error, leaves)
                raise
        except Exception as error:
            hide_frames(error)
            raise

    def __str__(self) -> str:
        return self.as_text()


def _places(storages: Sequence[Storage]) -> list[Any]:
    return [None if storage.parameter() is None else backend.place_of(storage.array) for storage in storages]


def _not_here(name: str, where: str) -> TraceError:
    return TraceError(
        f"compiled {name} was called {where}",
        rule="a compiled program runs on values; it can be no part of another trace",
        fix="call the jitted function, which becomes part of the trace",
    )


def _mismatch(traced: Traced, entry: Entry, signature: tuple[Type, ...]) -> DTypeError:
    mine = traced._entry
    key, given = describe(mine, traced._signature), describe(entry, signature)
    what = "; ".join(f"{name} was compiled for {want} and given {got}" for name, want, got in given.changes(key))
    return DTypeError(
        f"compiled {mine.owner.name}: {what}",
        rule="a compiled function takes exactly the types it was compiled for",
        fix="call the jitted function, which compiles anew for new types",
    )
