"""Looking at a function under a policy: traced without running, past what the policy would refuse, up to an error.

What `explain_casts`, `compare` and `report` have in common. Nothing here runs the user's program or writes a
Parameter, and no trace of the function is kept or counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ambient import AMBIENT
from tracejit.arguments import Abstract
from tracejit.bridge import backend
from tracejit.errors import TracejitError
from tracejit.ir import Graph, Operation
from tracejit.jitted import BoundJitted, Jitted, Settings, jit
from tracejit.locations import Location, location_in, location_of
from tracejit.passes.promotion import Promotion, promote_all
from tracejit.plans import trace_into
from tracejit.policies import Policy
from tracejit.storage import Storage
from tracejit.tracer import Builder


class Failure(NamedTuple):
    """Why a function cannot be had under a policy: the error, and the line of the user's that it came from."""

    error: Exception
    location: Location | None

    @property
    def kind(self) -> str:
        """The class of the error."""
        return type(self.error).__name__

    @property
    def message(self) -> str:
        """What happened, in one line."""
        text = self.error.what if isinstance(self.error, TracejitError) else str(self.error)
        return text.partition("\n")[0]


class Examination(NamedTuple):
    """A function traced under a policy; `failure` says why no further than `written`."""

    name: str
    policy: Policy
    #: What was recorded, in order: all of the Graph as written, or what came before the failure.
    written: Sequence[Operation]
    graph: Graph | None
    promotion: Promotion | None
    failure: Failure | None
    #: What the function was called with: arrays, Python scalars, and Abstracts.
    leaves: Sequence[Any]
    captured: Sequence[Any]
    parameters: Sequence[Storage]

    @property
    def promoted(self) -> Graph:
        """The Graph with its conversions written out."""
        assert self.promotion is not None, "the function failed"
        return self.promotion.graph

    @property
    def is_concrete(self) -> bool:
        """Whether every value that the function works on is known."""
        data = [*self.leaves, *self.captured]
        return not any(isinstance(x, Abstract) or backend.is_tracer(x) for x in data)

    def state(self) -> list[Any]:
        """Return copies of the Parameters' arrays, in the order of the Graph's state."""
        return [storage.parameter().snapshot() for storage in self.parameters]  # type: ignore[union-attr]

    def values(self) -> dict[int, np.ndarray]:
        """Compute the function once, operator by operator; returns the value of each result as written, by its id."""
        assert self.graph is not None and self.promotion is not None
        promoted, replaced = self.promotion.graph, self.promotion.replaced
        results = [value for operation in self.graph.operations for value in operation.results]
        outputs = [replaced.get(id(value), value) for value in results]
        whole = Graph(promoted.name, promoted.inputs, promoted.state, promoted.operations, outputs)
        arrays = backend.evaluate(whole, [*self.leaves, *self.captured], self.state())
        return {id(value): array for value, array in zip(results, arrays)}


def examine(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    policy: Policy | None = None,
    *,
    keep_failure: bool = False,
) -> Examination:
    """Trace a function for arguments, which may be abstract, and promote its Graph.

    A jitted function is traced with its static arguments and checks, under its own policy unless one is given.
    An error is raised, or with `keep_failure` becomes part of the answer.
    """
    owner = _owner(function, policy)
    builder = Builder(owner.name, location_of(owner.function))
    leaves: Sequence[Any] = ()
    graph, promotion, failure = None, None, None
    chosen, checks = owner._surroundings(AMBIENT.get())
    try:
        entry, leaves = owner._find(args, kwargs, AMBIENT.get(), abstract=True)
        graph, _ = trace_into(builder, owner.function, entry.arguments, entry.signature(leaves), chosen, checks)
        promotion = promote_all(graph)
    except Exception as error:
        if not keep_failure:
            raise
        failure = Failure(error, _location_of(error))
    storages = [slot.key for slot in builder.slots.values()]
    written = graph.operations if graph is not None else builder.operations
    return Examination(owner.name, chosen, written, graph, promotion, failure, leaves, builder.captured, storages)


def module_text(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return the StableHLO to which a function is lowered; empty where it fails."""
    try:
        return _owner(function, None).trace(*args, **kwargs).lower().as_stablehlo()
    except Exception:  # the examination has the reason
        return ""


def _location_of(error: Exception) -> Location | None:
    return error.location if isinstance(error, TracejitError) else location_in(error.__traceback__)


def _owner(function: Callable[..., Any], policy: Policy | None) -> Jitted:
    """Return a jitted function of nobody else's, so that its caches, counts and warnings are nobody's business."""
    if isinstance(function, BoundJitted):
        function = function._jitted
    if not isinstance(function, Jitted):
        return jit(function, promotion=policy)
    settings = Settings(False, function._settings.check_indices, None, "ignore")
    return Jitted(function.function, policy or function._policy, function._static, settings)
