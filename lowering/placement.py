"""Where arrays lie: devices and shardings, in the one form in which a call after a call finds its program.

A sharding is written with Auto axes (types do not carry it, XLA places what is between) and at full rank: JAX's cache
takes `P("data")` and `P("data", None)` for two things.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from lowering.arrays import ArrayType, copy, is_tracer, x64_scope
from tracejit.errors import AttributeTypeError, PlacementError


class Placements:
    """Counts the times that a Parameter was placed: programs made at an earlier count look at its place again."""

    def __init__(self) -> None:
        self.version = 0

    def changed(self) -> None:
        """Note that a Parameter, or what a program is called with, lies somewhere else than by default."""
        self.version += 1


placements = Placements()


def sharding_of(place: Any, shape: Sequence[int]) -> Sharding:
    """Return the sharding that a device, its name (`"cpu:1"`) or a sharding of JAX's means for an array.

    Raises PlacementError for one that does not fit the shape, AttributeTypeError for what is none of these.
    """
    if isinstance(place, str):
        place = _device(place)
    if isinstance(place, jax.Device):
        return SingleDeviceSharding(place)
    if isinstance(place, NamedSharding):
        return _full_rank(place, tuple(shape))
    if isinstance(place, Sharding):
        return place
    raise AttributeTypeError(
        f"{place!r} ({type(place).__name__}) is no place for an array",
        fix='give a device of jax.devices(), its name such as "cpu:0", or a sharding such as '
        "jax.sharding.NamedSharding(mesh, PartitionSpec(...))",
    )


def _device(name: str) -> jax.Device:  # pyright: ignore[reportInvalidTypeForm]
    platform, _, number = name.partition(":")
    try:
        return jax.devices(platform)[int(number or 0)]
    except (RuntimeError, ValueError, IndexError):
        known = ", ".join(f"{device.platform}:{device.id}" for device in jax.devices())
        raise PlacementError(f"there is no device {name!r}", fix=f"the devices here: {known}") from None


@functools.lru_cache(maxsize=1024)
def _full_rank(sharding: NamedSharding, shape: tuple[int, ...]) -> NamedSharding:
    spec, mesh = sharding.spec, sharding.mesh
    if not isinstance(mesh, Mesh):
        raise PlacementError(f"{sharding} is over an abstract mesh", fix="make a mesh of devices: jax.make_mesh")
    if len(spec) > len(shape):
        raise PlacementError(
            f"PartitionSpec{tuple(spec)} has more axes than an array of the shape {list(shape)}",
            fix="name one mesh axis, or None, for each axis of the array",
        )
    parts = (*spec, *[None] * (len(shape) - len(spec)))
    _check_divisible(parts, mesh, shape)
    auto = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    return NamedSharding(auto, PartitionSpec(*parts), memory_kind=sharding.memory_kind)


def _check_divisible(parts: Sequence[Any], mesh: Mesh, shape: Sequence[int]) -> None:
    for axis, (part, length) in enumerate(zip(parts, shape)):
        names = part if isinstance(part, tuple) else () if part is None else (part,)
        if any(not isinstance(name, str) for name in names):
            raise PlacementError(f"axis {axis} is UNCONSTRAINED", fix="name a mesh axis, or None")
        pieces = int(np.prod([mesh.shape[name] for name in names]))
        if length % pieces:
            raise PlacementError(
                f"axis {axis} of the shape {list(shape)} cannot be cut into {pieces} equal pieces",
                rule=f"the sharding puts it on the mesh axes {', '.join(names)}",
                fix="use a length that is a multiple, or another axis",
            )


def with_auto_axes(array: Any) -> Any:
    """Return an array of the user's as one whose type does not carry its sharding; nothing is copied.

    `jax.make_mesh` makes meshes of Explicit axes, over which JAX refuses what it could decide by itself.
    """
    sharding = array.sharding if array.__class__ is ArrayType else None
    if sharding.__class__ is SingleDeviceSharding or not isinstance(sharding, NamedSharding):
        return array
    if all(kind == AxisType.Auto for kind in sharding.mesh.axis_types) or not isinstance(sharding.mesh, Mesh):
        return array
    return put(array, sharding_of(sharding, array.shape))


def broadcast_places(prefix: Any, tree: Any, what: str) -> list[Any]:
    """Return one place per leaf of a tree: those of a prefix of it, in which None stands for no place."""
    try:
        full = jax.tree.broadcast(prefix, tree, is_leaf=lambda place: place is None)
    except ValueError as error:
        raise AttributeTypeError(
            f"jit: {what} is no prefix of the tree that it is for",
            rule=str(error).partition("\n")[0],
            fix="give one sharding for all, or containers as those of the arguments or results; None leaves it to XLA",
        ) from None
    return jax.tree.leaves(full, is_leaf=lambda place: place is None)


def constrained(arrays: Sequence[Any], places: Sequence[Any]) -> list[Any]:
    """Return arrays of a traced program that come out in some places; None leaves one to XLA."""
    return [
        array if place is None else jax.lax.with_sharding_constraint(array, sharding_of(place, array.shape))
        for array, place in zip(arrays, places)
    ]


def put(array: Any, sharding: Sharding) -> Any:
    """Return an array (or NumPy array) on a place; what lies there already is not copied."""
    with jax.ensure_compile_time_eval(), x64_scope():
        here = not isinstance(array, jax.Array) or array.is_fully_addressable
        if sharding.is_fully_addressable or not here:
            return jax.device_put(array, sharding)
        values = np.asarray(array)  # every process has all of it, and gives its devices their parts
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])


def placed(values: np.ndarray, like: Any) -> Any:
    """Return host values as a device array that lies as another one does, in a buffer of its own."""
    if like.committed:
        return put(np.array(values, copy=True), like.sharding)
    with jax.ensure_compile_time_eval(), x64_scope():
        return jax.device_put(np.array(values, copy=True))


def owned(array: Any, like: Any = None) -> Any:
    """Return an array in a buffer of its own, in the place of another one if there is one."""
    if like is not None and (like.committed or array.committed):
        return copy(put(array, like.sharding)) if like.committed else placed(np.asarray(array), like)
    array = copy(array)
    if not is_spread(array):
        return array
    placements.changed()
    return put(array, sharding_of(array.sharding, array.shape))


def place_of(array: Any) -> Any:
    """Return the sharding of an array that was placed, or of what stands for one; None if it has none."""
    if isinstance(array, jax.Array) and not is_tracer(array):
        return array.sharding if array.committed else None
    return getattr(array, "sharding", None)


def is_spread(array: Any) -> bool:
    """Say whether an array lies on more than one device."""
    return not is_tracer(array) and isinstance(array, jax.Array) and len(array.sharding.device_set) > 1


def kept(places: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the shardings in which a program is to give new values for what lies there; None if it needs none."""
    shardings = [place if place is not None and len(place.device_set) > 1 else None for place in places]
    return tuple(shardings) if any(sharding is not None for sharding in shardings) else None


def spread(arrays: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return arrays of which those that were never placed lie, whole, on every device that the others are on.

    JAX would place them so at each call, and leave open how what is computed of them lies.
    """
    mesh = next((x.sharding.mesh for x in (*others, *arrays) if is_spread(x) and _has_mesh(x)), None)
    if mesh is None or all(is_tracer(array) or array.committed for array in arrays):
        return list(arrays)
    placements.changed()

    def everywhere(array: Any) -> Any:
        if is_tracer(array) or array.committed:
            return array
        return put(array, sharding_of(NamedSharding(mesh, PartitionSpec()), array.shape))

    return [everywhere(array) for array in arrays]


def _has_mesh(array: Any) -> bool:
    return isinstance(array.sharding, NamedSharding) and isinstance(array.sharding.mesh, Mesh)


def describe(array: Any) -> str:
    """Say in words where an array lies."""
    devices = sorted(array.sharding.device_set, key=lambda device: device.id)
    names = [f"{device.platform}:{device.id}" for device in devices]
    shown = ", ".join(names if len(names) <= 4 else [*names[:2], "…", names[-1]])
    return f"on {shown}" if array.committed else f"on no device in particular (now {shown})"
