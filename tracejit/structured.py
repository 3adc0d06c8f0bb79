"""Running control flow and transforms: recorded inside a trace; outside of one, traced and run at once."""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.ambient import AMBIENT
from tracejit.errors import hide_frames
from tracejit.ir import Callee, Graph
from tracejit.jitted import jit
from tracejit.plans import make_plan
from tracejit.printer import print_graph
from tracejit.regions import current_builder

#: How many programs of operations run outside of a trace are kept.
_KEPT = 256
_programs: OrderedDict[str, Any] = OrderedDict()


def structured(fixed: Sequence[int]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that records operations run outside of a trace too.

    `fixed` are the positions of arguments that are functions and settings; the others are trees of Tensors.
    """

    def decorate(record: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(record)

        @functools.wraps(record)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                if current_builder() is not None:
                    return record(*args, **kwargs)
                bound = signature.bind(*args, **kwargs)
                return run_once(_with_fixed(record, bound, fixed), _dynamic(bound, fixed))
            except Exception as error:
                hide_frames(error)
                raise

        return run

    return decorate


def _dynamic(bound: inspect.BoundArguments, fixed: Sequence[int]) -> list[Any]:
    return [value for i, value in enumerate(bound.args) if not _is_fixed(i, value, fixed)]


def _is_fixed(position: int, value: Any, fixed: Sequence[int]) -> bool:
    """Say whether an argument is a part of the program; so is an int so large that its value decides a dtype."""
    return position in fixed or (value.__class__ is int and not -(2**31) <= value < 2**31)


def _with_fixed(record: Callable[..., Any], bound: inspect.BoundArguments, fixed: Sequence[int]) -> Callable[..., Any]:
    """Return a function of the dynamic arguments only."""

    def run(*dynamic: Any) -> Any:
        rest = iter(dynamic)
        args = [value if _is_fixed(i, value, fixed) else next(rest) for i, value in enumerate(bound.args)]
        return record(*args, **bound.kwargs)

    run.__name__ = record.__name__
    return run


def run_once(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Trace a function and run it: each call sees the Python values of that moment, as eager code does.

    The compiled program is found by the Graph's text, so that a call like an earlier one compiles nothing.
    """
    owner = jit(function)
    entry, leaves = owner._find(args, {}, AMBIENT.get())
    recorded = entry.recorded(entry.signature(leaves))
    plan = make_plan(recorded, owner.name, owner.options)
    return plan._replace(program=_known(recorded.simplified, plan.program)).run(leaves)


def _known(graph: Graph, new: Any) -> Any:
    """Return the program of an earlier Graph of the same text, or keep the new one."""
    text, programs = print_graph(graph, locations=False), _table(graph)
    program = programs.pop(text, new)
    programs[text] = program  # the newest last
    while len(programs) > _KEPT:
        programs.popitem(last=False)
    return program


def _table(graph: Graph) -> OrderedDict[str, Any]:
    """Return the table in which a Graph's program is kept; with a JAX function of the user's, for as long as that."""
    for operation in graph.walk():
        callee = operation.attributes.get("function")
        if isinstance(callee, Callee):
            return callee.call.programs
    return _programs
