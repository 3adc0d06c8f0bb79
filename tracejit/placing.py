"""Where the arguments and results of a jitted function lie: `jit(in_shardings=..., out_shardings=...)`, as in JAX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tracejit.bridge import backend
from tracejit.errors import PlacementError

if TYPE_CHECKING:
    from tracejit.arguments import Arguments


def input_places(shardings: Any, arguments: Arguments) -> list[Any] | None:
    """Return the sharding of each input, None where none is given; `shardings` is a prefix of the positional ones."""
    if shardings is None:
        return None
    args, _ = backend.unflatten(arguments.structure, range(len(arguments.slots)))
    places = backend.broadcast_places(shardings, tuple(args), "in_shardings")
    places += [None] * (len(arguments.slots) - len(places))  # those given by name come last
    return [place for place, slot in zip(places, arguments.slots) if slot.__class__ is int]


def output_places(shardings: Any, structure: Any) -> list[Any] | None:
    """Return the sharding of each result, None where none is given; `shardings` is a prefix of the results' tree."""
    if shardings is None:
        return None
    results = backend.unflatten(structure, range(structure.num_leaves))
    return backend.broadcast_places(shardings, results, "out_shardings")


def place_all(leaves: Sequence[Any], places: Sequence[Any]) -> list[Any]:
    """Bring arrays to their places; Python scalars stay what they are."""
    return [
        leaf if place is None or not backend.is_array(leaf) or backend.is_tracer(leaf) else _put(leaf, place)
        for leaf, place in zip(leaves, places)
    ]


def _put(array: Any, place: Any) -> Any:
    return backend.put(array, backend.sharding_of(place, array.shape))


_SIGNS = ("incompatible devices", "disagree with the shardings")


def check_places(error: ValueError, what: str, named: Iterable[tuple[str, Any]]) -> None:
    """Raise PlacementError if an error is JAX's about arrays that lie on devices that do not go together."""
    if any(sign in str(error) for sign in _SIGNS):
        places = [f"{name} is {backend.describe_place(array)}" for name, array in named if backend.is_array(array)]
        raise PlacementError(
            f"{what}: {'; '.join(places)}",
            rule="what computes together lies on the same devices; what was never placed goes where the others are",
            fix="bring it there: x.to(place), and once for a Parameter: p.to(place)",
        ) from None


def named_arrays(names: Sequence[str], inputs: Sequence[Any], parameters: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return the arrays of a call with the names of arguments and Parameters."""
    state = [(parameter.name or "a Parameter", parameter._data) for parameter in parameters]
    return [*zip(names, inputs), *state]
