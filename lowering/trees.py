"""Pytrees: Tensors as nodes of JAX's trees, and trees of arguments and results taken apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import tree_util
from jax.extend.source_info_util import register_exclusion

from tracejit.errors import AttributeValueError, TracejitError, hide_frames
from tracejit.ir import Value
from tracejit.locations import INTERNAL_FOLDERS, hide_folder

_tensor_type: Any = ()
#: The structure of a tree that is one leaf.
LEAF = tree_util.tree_structure(0)


def bind(tensor_type: type, parameter_types: Sequence[type], wrap: Callable[[Any], Any]) -> None:
    """Make the Tensor class a pytree node with its array as leaf, and those of Parameters ones without leaves.

    A Parameter's node holds its storage, which holds the Parameter weakly: JAX's caches keep metadata alive.
    """
    global _tensor_type
    _tensor_type = tensor_type
    for folder in INTERNAL_FOLDERS:
        register_exclusion(folder)  # in JAX's messages, profiles and metadata too the lines are the user's
    hide_folder(os.path.dirname(jax.__file__))
    tree_util.register_pytree_node(tensor_type, _array_of, lambda _, children: wrap(children[0]))
    for parameter_type in parameter_types:
        tree_util.register_pytree_node(parameter_type, lambda p: ((), p._storage), lambda held, _: held.parameter())


def register_tuple(kind: type) -> None:
    """Make a class of tuples a pytree node; made of other leaves than its own it is a plain tuple."""
    tree_util.register_pytree_node(kind, lambda items: (tuple(items), None), lambda _, items: tuple(items))


def _array_of(tensor: Any) -> tuple[tuple[Any, ...], None]:
    data = tensor._data
    if data.__class__ is Value:  # tracejit is tracing, or was: no function of JAX's can do anything with it
        try:
            tensor._leaf()
        except TracejitError as error:
            hide_frames(error)
            raise
    return (data,), None


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Take a tree apart: leaves are arrays of Tensors and whatever else is no container; hashable structure."""
    try:
        return tree_util.tree_flatten(tree)
    except ValueError as error:
        raise _explained(error) from None


def _explained(error: ValueError) -> ValueError:
    if "sorting pytree dictionary keys" not in str(error):
        return error
    return AttributeValueError(
        "a dict among the arguments or results has keys that cannot be sorted",
        rule="leaves of a dict are taken in the order of its keys",
        fix="use keys of one type",
    )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _tensor_type)


def flatten_named(tree: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Take a tree apart with Tensors and Parameters as leaves, each with its path, as in `batch.0`."""
    try:
        leaves, structure = tree_util.tree_flatten_with_path(tree, is_leaf=_is_tensor)
    except ValueError as error:
        raise _explained(error) from None
    return [(".".join(map(_step, path)), leaf) for path, leaf in leaves], structure


def _step(key: Any) -> str:
    for name in ("key", "name", "idx"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def unflatten(structure: Any, leaves: Any) -> Any:
    """Put a tree together."""
    return tree_util.tree_unflatten(structure, leaves)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf."""
    return tree_util.tree_map(function, tree)


def map_tensors(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf, Tensors and Parameters being leaves."""
    return tree_util.tree_map(function, tree, is_leaf=_is_tensor)


def compile_time() -> Any:
    """Return a context in which JAX computes at once, so that no outer tracer gets into what is traced."""
    return jax.ensure_compile_time_eval()
