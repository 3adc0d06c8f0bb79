"""What traces depend on beside arguments: the attributes of the Cells that were called while tracing.

A Cell tells those who watch it that an attribute was set, so that a call of a jitted function asks nothing. Only
afterwards are the attributes looked at again: if they are as they were at an earlier time (a flag that went back, as
train and eval mode do), the traces of that time are used again.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from tracejit.ambient import AMBIENT
from tracejit.dtypes import DType

#: So many states of the attributes are remembered, with the traces that belong to each.
REMEMBERED = 16

_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes, DType))
_numbers = itertools.count(1)


class Watched(Protocol):
    """An object on whose attributes traces can depend."""

    def observe(self, watch: Watch) -> Iterable[tuple[str, Any]]:
        """Let a watch know of changes from now on; returns a mark for each attribute, by its dotted name."""
        ...


class State:
    """The marks of all watched attributes at one time; one object for equal marks, so that it is a cheap key."""

    __slots__ = ("marks",)

    def __init__(self, marks: tuple[tuple[str, Any], ...]):
        self.marks = marks


_NOTHING = State(())


class Watch:
    """The objects on whose attributes the traces of one function depend. It holds them weakly."""

    def __init__(self) -> None:
        self._subjects: list[weakref.ref[Watched]] = []
        self._known: dict[tuple[tuple[str, Any], ...], State] = {}
        self._state: State | None = _NOTHING
        self._changes = 0
        #: Called at every change, without arguments; set by the owner, which it must not keep alive.
        self.on_change: Callable[[], None] | None = None

    def state(self) -> State:
        """Return the state of the attributes now."""
        state = self._state
        return self._look() if state is None else state

    def add(self, subjects: Iterable[Watched]) -> bool:
        """Watch further objects; says whether any of them is new."""
        known = {id(reference()) for reference in self._subjects}
        new = [weakref.ref(subject) for subject in subjects if id(subject) not in known]
        if new:
            self._subjects += new
            self.changed()
        return bool(new)

    def changed(self) -> None:
        """Note that an attribute was set."""
        self._changes += 1
        self._state = None
        if self.on_change is not None:
            self.on_change()

    def _look(self) -> State:
        before = self._changes
        marks: list[tuple[str, Any]] = []
        for reference in self._subjects:
            subject = reference()
            marks += [("", None)] if subject is None else subject.observe(self)
        key = tuple(marks)
        state = self._known.pop(key, None) or State(key)
        self._known[key] = state  # the newest last
        if self._changes == before:  # no other thread has set an attribute meanwhile
            self._state = state
        return state

    def forgotten(self) -> list[State]:
        """Forget the states that are too many, the oldest first, and return them."""
        surplus = list(self._known)[: max(0, len(self._known) - REMEMBERED)]
        return [self._known.pop(key) for key in surplus]


class Record:
    """What an object that can be watched keeps: who watches it, and when attributes of no plain value were set."""

    __slots__ = ("__weakref__", "_observers", "_set_at")

    def __init__(self) -> None:
        self._observers: weakref.WeakSet[Watch] = weakref.WeakSet()
        self._set_at: dict[str, int] = {}

    def observe(self, watch: Watch) -> None:
        """Let a watch know of changes."""
        self._observers.add(watch)

    def changed(self, attribute: str) -> None:
        """Note that an attribute was set. What a trace sets while it runs is a part of it, and changes nothing."""
        if tracing():
            return
        self._set_at[attribute] = next(_numbers)
        for watch in list(self._observers):
            watch.changed()

    def mark(self, attribute: str, value: Any) -> Any:
        """Return what stands for an attribute's value in a State: a plain value itself, else when it was set."""
        return plain_key(value) if is_plain(value) else ("set", self._set_at.get(attribute, 0))


def is_plain(value: Any) -> bool:
    """Say whether two values of this kind that are equal mean the same to a trace."""
    kind = value.__class__
    return kind in _PLAIN or (kind is tuple and all(map(is_plain, value)))


def plain_key(value: Any) -> Any:
    """Return a plain value with its type: 1, 1.0 and True differ, and 0.0 from -0.0."""
    kind = value.__class__
    if kind is tuple:
        return kind, tuple([plain_key(item) for item in value])
    return kind, repr(value) if kind is float or kind is complex else value


def same(a: Any, b: Any) -> bool:
    """Say whether setting an attribute from one value to another changes nothing for a trace."""
    return a is b or (is_plain(a) and is_plain(b) and plain_key(a) == plain_key(b))


def tracing() -> bool:
    """Say whether a trace is going on."""
    ambient = AMBIENT.get()
    return ambient is not None and ambient.builder is not None


def depend_on(subject: Any) -> None:
    """Note that the trace that is going on, if any, depends on an object's attributes."""
    ambient = AMBIENT.get()
    if ambient is not None and ambient.builder is not None and hasattr(subject, "observe"):
        ambient.builder.depend_on(subject)


def spelled(state: State) -> Iterator[tuple[str, str, int]]:
    """Yield the attributes' names, each with its value in words, and an identity where equal words can differ."""
    seen: dict[str, int] = {}
    for name, mark in state.marks:
        seen[name] = seen.get(name, 0) + 1
        shown = name if seen[name] == 1 else f"{name} (no. {seen[name]})"
        kind, value = mark if mark is not None else ("none", "gone")
        if kind == "set":
            yield shown, "an object", value  # pyright: ignore[reportReturnType]
        elif kind in ("Cell", "Parameter"):
            yield shown, f"a {kind}", id(value)
        else:
            yield shown, str(value), 0
