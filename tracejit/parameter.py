"""The Parameter: a Tensor that operators may write."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ambient import AMBIENT
from tracejit.bridge import backend, when_loaded
from tracejit.dtypes import as_dtype
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    ParameterError,
    ShapeError,
    StateError,
)
from tracejit.ir import TensorType, Value
from tracejit.ops import checks
from tracejit.storage import STATE_LOCK, Storage
from tracejit.tensor import Tensor, is_dtype, new_data, public, wrap
from tracejit.tracer import Builder, Slot, escaped


class Parameter(Tensor):
    """A Tensor that operators may write, with a buffer of its own. Shape and dtype never change.

    Args:
        default_input: what a Tensor can be made of; always copied.
        name: for messages, printed Graphs and saved files.
        requires_grad: whether `trainable_params` lists it.

    >>> import tracejit
    >>> step = tracejit.Parameter(0, name="step")
    >>> step += 1
    >>> step
    Parameter(1, dtype=int64, name='step')
    """

    __slots__ = ("_held_type", "_storage", "name", "requires_grad")

    @public
    def __init__(self, default_input: Any, name: str | None = None, requires_grad: bool = True, dtype: Any = None):
        builder = _current_builder()
        if builder is not None:
            raise ParameterError(
                f"{named(name)} is made inside {builder.name}, which is being traced",
                rule="a Parameter outlives the call; one made while tracing would be made once and then be lost",
                fix="make it outside of the jitted function",
            )
        data = new_data(default_input, None if dtype is None else as_dtype(dtype))
        if data.__class__ is Value:
            raise escaped(data)
        if backend.is_tracer(data):
            raise _tracer_given(name, data)
        owned = backend.owned(data)
        self._held_type = backend.type_of(owned)
        self._storage = Storage(self, owned)
        self.name = name
        self.requires_grad = requires_grad

    @property
    def _data(self) -> Any:
        return self._storage.array

    @_data.setter
    def _data(self, array: Any) -> None:
        self._storage.array = array

    @property
    def _type(self) -> TensorType:
        return self._held_type

    def _slot(self, builder: Builder) -> Slot:
        return builder.slot(self._storage, self._held_type, self.name)

    def snapshot(self) -> Any:
        """Return a copy of the buffer that later updates leave alone; inside a trace, the value at this point."""
        builder = _current_builder()
        if builder is not None:
            return self._slot(builder).current
        with STATE_LOCK:
            return backend.copy(self._data)

    @public
    def value(self) -> Any:
        """Return the value at this moment as a JAX array: a copy, which updates never reach."""
        return self._concrete("value()")

    def copy(self) -> Tensor:
        """Return the value at this moment as a Tensor."""
        return wrap(self.snapshot())

    def _concrete(self, what: str) -> Any:
        """Return a copy: the next update takes the buffer itself away, and a view of it keeps it from being donated."""
        self._check_not_tracing(what)
        return self.snapshot()

    def _check_not_tracing(self, what: str) -> None:
        if _current_builder() is not None:
            wrap(self.snapshot())._not_while_tracing(what)

    @public
    def block_until_ready(self) -> Parameter:
        """Wait until the last update has been computed; returns the Parameter."""
        self._check_not_tracing("block_until_ready()")
        with STATE_LOCK:
            self._data.block_until_ready()
        return self

    @public
    def set_data(self, data: Any) -> Parameter:
        """Replace the value. It is never converted: another dtype is a TypeError, another shape a ValueError."""
        builder = _current_builder()
        if builder is not None:
            raise ParameterError(
                f"set_data on {named(self.name)} inside {builder.name}, which is being traced",
                rule="it would happen once, while tracing, and at no later call",
                fix="write it with ops.assign, which becomes part of the function",
            )
        new = new_data(data, None)
        if new.__class__ is Value:
            raise escaped(new)
        if backend.is_tracer(new):
            raise _tracer_given(self.name, new)
        type_ = backend.type_of(new)
        if type_.dtype is not self.dtype:
            raise DTypeError(
                f"set_data: {named(self.name)} holds {self.dtype.name} and was given {type_.dtype.name}",
                types={"parameter": self._type, "data": type_},
                fix=f"convert it, as in ops.cast(data, tracejit.{self.dtype.name})",
            )
        if type_.shape != self.shape:
            raise ShapeError(
                f"set_data: {named(self.name)} has the shape {list(self.shape)}",
                types={"parameter": self._type, "data": type_},
            )
        with STATE_LOCK:
            self._data = backend.owned(new, self._data)
        return self

    @property
    def sharding(self) -> Any:
        """The JAX sharding of the buffer, which every new value keeps."""
        with STATE_LOCK:
            return self._data.sharding

    @public
    def to(self, place: Any) -> Parameter:
        """Move the Parameter itself to a device or sharding, where every later value stays; returns the Parameter.

        Programs that write it are compiled anew for the place. A dtype is refused: a Parameter's never changes.
        """
        self._check_not_tracing("to()")
        if is_dtype(place):
            raise ParameterError(
                f"to({place}): the dtype of Parameter {self.name!r} never changes",
                fix="make a Parameter of that dtype, or a Tensor with p.astype(dtype)",
            )
        sharding = backend.sharding_of(place, self.shape)
        with STATE_LOCK:
            self._data = backend.put(self._data, sharding)
            backend.placements.changed()
        return self

    def __copy__(self) -> Parameter:
        return self.clone()

    @public
    def clone(self) -> Parameter:
        """Return a Parameter of its own with the same value, name and requires_grad."""
        return Parameter(self.copy(), self.name, self.requires_grad)

    def __repr__(self) -> str:
        if _current_builder() is not None:
            return f"Parameter<{self._type}, name={self.name!r}>"
        body = repr(self.copy())[len("Tensor(") : -1]
        return f"Parameter({body}, name={self.name!r})"

    @public
    def __reduce__(self) -> Any:
        return Parameter, (self._read("pickle").copy(), self.name, self.requires_grad)

    def __deepcopy__(self, memo: Any) -> Parameter:
        return self.clone()


class Generator(Parameter):
    """A stream of random numbers: an operator that takes a key draws one from it, which writes its next state.

    So traced code draws new numbers at each call, in the order of the program. The state is a uint32[2], as that of
    JAX's threefry; it is saved and loaded as any Parameter.

    Args:
        seed: an int from 0 to 2**64 - 1; equal seeds make equal streams.
        name: for messages, printed Graphs and saved files.

    >>> import tracejit
    >>> generator = tracejit.Generator(7)
    >>> first, second = (tracejit.ops.standard_normal((2,), generator) for _ in range(2))
    >>> bool((first == second).any())
    False
    """

    __slots__ = ()

    def __init__(self, seed: int = 0, name: str | None = "generator"):
        super().__init__(_state_of(seed), name, requires_grad=False)

    @public
    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream of a seed; returns the Generator."""
        self.set_data(_state_of(seed))
        return self

    @public
    def clone(self) -> Generator:
        """Return a Generator of its own that goes on as this one would."""
        twin = Generator(name=self.name)
        twin.set_data(self.copy())
        return twin

    def __repr__(self) -> str:
        return f"Generator{super().__repr__().removeprefix('Parameter')}"

    @public
    def __reduce__(self) -> Any:
        return _restored, (self._read("pickle").copy(), self.name)


def _restored(state: Any, name: str | None) -> Generator:
    return Generator(name=name).set_data(state)  # type: ignore[return-value]


def _state_of(seed: Any) -> np.ndarray:
    """Return the state with which a stream begins: the seed's high and low 32 bits."""
    try:
        number = checks.integer(seed)
    except TypeError as error:
        raise AttributeTypeError(f"Generator: seed {error}, got {seed!r} ({type(seed).__name__})") from None
    if not 0 <= number < 2**64:
        raise AttributeValueError(f"Generator: seed must be from 0 to 2**64 - 1, got {number}")
    return np.array([number >> 32, number & 0xFFFFFFFF], np.uint32)


def named(name: str | None) -> str:
    """Refer to a Parameter in a message."""
    return "a Parameter without a name" if name is None else f"Parameter {name!r}"


def _current_builder() -> Builder | None:
    ambient = AMBIENT.get()
    return None if ambient is None else ambient.builder


def _tracer_given(name: str | None, tracer: Any) -> StateError:
    return StateError(
        f"{named(name)} was given a tracer of a JAX transformation as its value",
        types={"value": backend.type_of(tracer)},
        rule="a Parameter outlives jax.jit, jax.grad, jax.vmap, ...; their tracers do not",
        fix="return the value from the transformed function, and put it into the Parameter outside",
    )


@when_loaded
def _bind(lowering: Any) -> None:
    lowering.bind(Tensor, (Parameter, Generator), wrap)
