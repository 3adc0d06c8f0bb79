"""JAX functions as operators: a table of calls, which Graphs name, and the rule that runs one.

A Graph's attributes are printable, so an operation names its call (`jax.numpy.sinc#3`); the name is a string that
also holds the call, which lives as long as some Graph or the user's own function. A Graph read from text finds it in
the table, which holds it weakly. Numbers are never used again.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import tree_util

from lowering.arrays import is_array, user_x64, x64
from lowering.jaxprs import primitives
from lowering.registry import lower
from tracejit.dtypes import as_dtype
from tracejit.errors import DTypeError, StateError
from tracejit.ir import Callee, TensorType, Type

_numbers = itertools.count()
_calls: weakref.WeakValueDictionary[str, ForeignCall] = weakref.WeakValueDictionary()


class Foreseen(NamedTuple):
    """What a call gives for operands of some types: the types and the tree of its results; whether it calls back."""

    types: tuple[Type, ...]
    structure: Any
    calls_back: bool


class ForeignCall:
    """A JAX function with the arrangement of its arguments: arrays are given at each call, all else is fixed here.

    `structure` is the tree of (args, kwargs); `fixed` has None where an array stands, and else the value in a tuple of
    its own. With `wide` the function runs with 64-bit dtypes.
    """

    def __init__(self, function: Callable[..., Any], name: str, structure: Any, fixed: Sequence[Any], wide: bool):
        self.function, self.structure, self.fixed, self.wide = function, structure, fixed, wide
        self.text = f"{name}#{next(_numbers)}"
        self._known: dict[tuple[TensorType, ...], Foreseen] = {}
        #: Programs that live as long as this call does.
        self.programs: OrderedDict[str, Any] = OrderedDict()
        _calls[self.text] = self

    @property
    def name(self) -> Callee:
        """The name in Graphs, which keeps the call."""
        name = Callee(self.text)
        name.call = self
        return name

    def __call__(self, arrays: Sequence[Any]) -> tuple[list[Any], Any]:
        """Run the function; returns the leaves of what it returned, arrays of the dtypes that it gave, and the tree."""
        given = iter(arrays)
        leaves = [next(given) if value is None else value[0] for value in self.fixed]
        args, kwargs = tree_util.tree_unflatten(self.structure, leaves)
        with scope(self.wide):
            results, structure = tree_util.tree_flatten(self.function(*args, **kwargs))
            return [_array(leaf, self.text) for leaf in results], structure

    def foresee(self, types: Sequence[TensorType]) -> Foreseen:
        """Return what the call gives for arrays of some types, without running anything."""
        known = self._known.get(tuple(types))
        if known is None:
            known = self._known[tuple(types)] = self._traced(types)
        return known

    def _traced(self, types: Sequence[TensorType]) -> Foreseen:
        structures: list[Any] = []

        def run(*arrays: Any) -> list[Any]:
            results, structure = self(arrays)
            structures.append(structure)
            return results

        specs = [jax.ShapeDtypeStruct(type_.shape, type_.dtype.numpy) for type_ in types]
        with scope(self.wide or any(type_.dtype.name in _WIDE for type_ in types)):
            jaxpr, found = jax.make_jaxpr(run, return_shape=True)(*specs)
        results = tuple([TensorType(as_dtype(spec.dtype), spec.shape) for spec in found])
        return Foreseen(results, structures[-1], _calls_back(jaxpr.jaxpr))


def scope(wide: bool) -> Any:
    """Return the context in which a foreign function runs: with 64-bit dtypes, or without."""
    return nullcontext() if x64() == wide else jax.enable_x64(wide)


def runs_wide(types: Sequence[TensorType]) -> bool:
    """Say whether a function of arrays of these types is to see 64-bit dtypes.

    It does if it is given any, and else as the user's setting says: so the dtypes of what it makes of its own accord
    are those that it would give in the user's own JAX program.
    """
    return user_x64() or any(type_.dtype.name in _WIDE for type_ in types)


_WIDE = frozenset(("int64", "uint64", "float64", "complex128"))


def _array(leaf: Any, name: str) -> Any:
    if is_array(leaf):
        weak = getattr(leaf, "weak_type", False)  # which would not keep its dtype
        return jax.lax.convert_element_type(leaf, leaf.dtype) if weak else leaf
    try:
        return jnp.asarray(leaf)
    except TypeError:
        raise DTypeError(
            f"{name.partition('#')[0]} returned {leaf!r} ({type(leaf).__name__})",
            rule="a JAX function that is used as an operator returns arrays and numbers, in any container",
        ) from None


def _calls_back(jaxpr: Any) -> bool:
    return any("callback" in name and name != "debug_callback" for name in primitives(jaxpr))


@lower("jax_call", "jax_callback")
def jax_call(*arrays: Any, function: str) -> list[Any]:
    """Run the JAX function that an operation names."""
    return named(function)(arrays)[0]


def named(function: str) -> ForeignCall:
    """Return the call that a Graph names."""
    call = getattr(function, "call", None) or _calls.get(function)
    if call is None:
        raise StateError(
            f"the JAX function {function} no longer exists",
            rule="a Graph that was read from text names its JAX functions, and does not keep them",
            fix="keep what tracejit.from_jax returned for as long as the text is used",
        )
    return call
