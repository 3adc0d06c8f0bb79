"""Arrays in and out: what counts as a device array, its abstract type, and copies that nobody else holds."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import find_top_trace

from tracejit.dtypes import DType, as_dtype
from tracejit.errors import PlacementError
from tracejit.ir import TensorType

with jax.ensure_compile_time_eval():  # this may be loaded by the first Tensor in a function that jax.jit is tracing
    #: The class of concrete arrays (it has no public name), for the one test of the hot path.
    ArrayType: type = type(jax.device_put(np.zeros((), np.float32)))
_DTYPES: dict[Any, DType] = {}


def dtype_of(numpy_dtype: Any) -> DType:
    """Return tracejit's dtype for an array's."""
    found = _DTYPES.get(numpy_dtype)
    if found is None:
        found = _DTYPES[numpy_dtype] = as_dtype(numpy_dtype)
    return found


def type_of(array: Any) -> TensorType:
    """Return the abstract type of a JAX array or tracer."""
    return TensorType(dtype_of(array.dtype), array.shape)


def is_array(value: Any) -> bool:
    """Say whether a value is a JAX array or tracer."""
    return isinstance(value, jax.Array)


def is_tracer(value: Any) -> bool:
    """Say whether a value is a JAX tracer."""
    return isinstance(value, Tracer)


def _top_level() -> Any:
    """Return JAX's trace outside of every transformation (a new thread has no other)."""
    traces: list[Any] = []
    thread = threading.Thread(target=lambda: traces.append(find_top_trace(())))
    thread.start()
    thread.join()
    return traces[0]


_config: Any = jax.config
_TOP_LEVEL = _top_level()


def under_transformation() -> bool:
    """Say whether this code runs under a JAX transformation (`jax.jit`, `jax.grad`, `jax.vmap`, …)."""
    return find_top_trace(()) is not _TOP_LEVEL


def x64() -> bool:
    """Say whether JAX's 64-bit mode is on."""
    return _config.jax_enable_x64


class _Outside(threading.local):
    """What a thread needs to enter a 64-bit scope at little cost, once at a time."""

    def __init__(self) -> None:
        #: Whether tracejit has entered the scope, so that the user's setting is what it is outside: off.
        self.narrow = False
        self.scope = jax.enable_x64(True)  # making one costs more than entering it


outside = _Outside()


def user_x64() -> bool:
    """Say whether the user has JAX's 64-bit mode on."""
    return _config.jax_enable_x64 and not outside.narrow


def x64_scope() -> Any:
    """Return a context in which 64-bit dtypes exist; the user's setting is never changed."""
    return jax.enable_x64(True)


def wide(transformed: bool) -> Any:
    """Return the context in which a program is to be called once; None if it is the one that there is.

    64-bit dtypes exist at top level. Under a transformation of the user's, the user's setting holds.
    """
    if transformed or _config.jax_enable_x64:
        return None
    return jax.enable_x64(True) if outside.narrow else outside.scope


def leave(scope: Any) -> None:
    """Leave a 64-bit scope once more, after an exception: an interrupt may have come while it was entered or left."""
    with contextlib.suppress(AttributeError):  # it was never entered
        scope.__exit__(None, None, None)
    if _config.jax_enable_x64:  # it was interrupted before it knew what to go back to; a scope is entered from off only
        jax.enable_x64(False).__enter__()


def from_numpy(array: np.ndarray) -> Any:
    """Return a device array of host data that nobody else holds (it may be used without another copy)."""
    if _config.jax_enable_x64 or array.dtype.itemsize < 8:
        with jax.ensure_compile_time_eval():
            return jax.device_put(array)
    with jax.ensure_compile_time_eval(), x64_scope():
        return jax.device_put(array)


def to_numpy(array: Any, name: str = "the Tensor") -> np.ndarray:
    """Return an array's values for reading; the result may be a read-only view."""
    try:
        return np.asarray(array)
    except RuntimeError:
        if not isinstance(array, jax.Array) or array.is_fully_addressable:
            raise
        raise PlacementError(
            f"{name} lies in parts on several processes",
            rule="a process can only read what lies on its own devices",
            fix="bring it together first, in every process: x.to(NamedSharding(mesh, PartitionSpec()))",
        ) from None


def copy(array: Any) -> Any:
    """Return a device array with the same values in a buffer of its own."""
    if is_tracer(array):
        return array
    with jax.ensure_compile_time_eval(), x64_scope():
        return jnp.array(array, copy=True)


def host_copy(array: Any) -> tuple[Any, Any]:
    """Return the values in host memory, with the sharding to restore them to (None: it was never placed)."""
    if array.is_fully_addressable:
        return np.array(array, copy=True), array.sharding if array.committed else None
    # Of an array that other processes hold parts of, each keeps its own.
    parts = [(np.array(shard.data, copy=True), shard.device) for shard in array.addressable_shards]
    return (array.shape, parts), array.sharding


def restore(saved: tuple[Any, Any]) -> Any:
    """Return a device array of what `host_copy` kept."""
    values, sharding = saved
    with x64_scope():
        if isinstance(values, np.ndarray):
            return jax.device_put(np.array(values, copy=True), sharding)
        shape, parts = values
        shards = [jax.device_put(part, device) for part, device in parts]
        return jax.make_array_from_single_device_arrays(shape, sharding, shards)


def is_deleted(array: Any) -> bool:
    """Say whether the array's buffer was given away."""
    return not is_tracer(array) and array.is_deleted()


def has_failed(array: Any) -> bool:
    """Say whether the computation of an array failed."""
    try:
        array.block_until_ready()
    except Exception:
        return True
    return False


def wait(arrays: Any) -> None:
    """Wait until arrays are computed."""
    jax.block_until_ready(arrays)
