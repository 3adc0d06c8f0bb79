"""Counting and explaining traces: how often a jitted function was traced, and what was different each time."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.arguments import Static
from tracejit.errors import RetraceLimitError, RetraceWarning
from tracejit.freshness import spelled
from tracejit.locations import Location, user_location

#: So many traces of one function draw a warning, once.
WARN_AT = 5


class CacheInfo(NamedTuple):
    """How often a function was traced, and for how many arrangements of arguments and signatures it has programs."""

    traces: int
    entries: int
    signatures: int


class Aspect(NamedTuple):
    """One thing that a trace was made for: its text, and an identity where equal texts can mean different things."""

    text: str
    identity: int = 0


class TraceKey(NamedTuple):
    """What a trace was made for: aspects by name (an argument's type, a static value, the policy)."""

    aspects: dict[str, Aspect]
    #: The tree of the arguments, which is named only where nothing else differs.
    arrangement: str

    def changes(self, other: TraceKey) -> list[tuple[str, str, str]]:
        """Return the name of each aspect that differs from another key's, and both texts, the other's first."""
        found = []
        for name in {**other.aspects, **self.aspects}:
            before, now = other.aspects.get(name), self.aspects.get(name)
            if before is not None and now is not None and before != now and before.text == now.text:
                found.append((name, before.text, "another one"))
            elif before != now:
                found.append((name, before.text if before else "absent", now.text if now else "absent"))
        if not found and self.arrangement != other.arrangement:
            found.append(("the arguments, positional and named", other.arrangement, self.arrangement))
        return found

    def distance(self, other: TraceKey) -> float:
        """Return how much differs from another key; that only the arrangement does is the least."""
        aspects = {*self.aspects.items()} ^ {*other.aspects.items()}
        return len({name for name, _ in aspects}) + 0.5 * (self.arrangement != other.arrangement)

    def differences(self, other: TraceKey) -> list[str]:
        """Return what differs from another key, in words."""
        return [f"{name}: {before} became {now}" for name, before, now in self.changes(other)]


class Started(NamedTuple):
    """A trace under way: what it is made for, and when it began."""

    key: TraceKey
    at: float


class History:
    """The traces of one function, in order, with the time each took."""

    def __init__(self, name: str, limit: int | None):
        self.name, self.limit = name, limit
        self._keys: list[TraceKey] = []
        self._seconds: list[float] = []
        self._warned = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._seconds)

    def start(self, key: TraceKey) -> Started:
        """Note that a trace begins; raises RetraceLimitError if it would be one too many."""
        if self.limit is not None and len(self) >= self.limit:
            raise RetraceLimitError(
                f"{self.name} would be traced again, and max_traces is {self.limit}",
                rule=_reason(key, self._keys),
                fix="call it with arguments of the same dtypes and shapes, or raise max_traces",
            )
        return Started(key, time.perf_counter())

    def finish(self, started: Started) -> None:
        """Count a trace; warns once when there were many."""
        seconds = time.perf_counter() - started.at
        with self._lock:
            reason = _reason(started.key, self._keys)
            self._keys.append(started.key)
            self._seconds.append(seconds)
            due = len(self) >= WARN_AT and not self._warned and self.limit is None
            self._warned = self._warned or due
        if due:
            warn_at(
                user_location(),
                f"{self.name} has been traced {len(self)} times ({sum(self._seconds):.2f} s in all); the last time "
                f"because of {reason}. explain_retraces() lists all; keep dtypes and shapes fixed, and pass numbers "
                "that change as arguments that are not static",
                RetraceWarning,
            )

    def explain(self) -> str:
        """Word, for each trace but the first, what differs from the closest earlier one."""
        lines = [f"{self.name} was traced {len(self)} time{'s' if len(self) != 1 else ''}"]
        for number, (key, seconds) in enumerate(zip(list(self._keys), list(self._seconds))):
            lines.append(f"  {number + 1}. ({seconds * 1e3:.1f} ms) {_reason(key, self._keys[:number])}")
        return "\n".join(lines)


def _reason(key: TraceKey, earlier: Sequence[TraceKey]) -> str:
    if not earlier:
        return "first call"
    closest = min(reversed(earlier), key=key.distance)
    known = "the same arguments: the earlier trace could not be kept, or the cache was cleared"
    return "; ".join(key.differences(closest)) or known


def warn_at(location: Location | None, message: str, category: type[Warning]) -> None:
    """Warn of the user's line, however deep in tracejit (and JAX) this is called."""
    if location is None:
        warnings.warn(message, category, stacklevel=3)
    else:
        warnings.warn_explicit(message, category, location.file, location.line)


def describe(entry: Any, signature: Any) -> TraceKey:
    """Return the key of a trace: types by argument name, static values, Parameters, policy, checks."""
    arguments = entry.arguments
    aspects = {f"argument {name}": Aspect(str(type_)) for name, type_ in zip(arguments.names, signature)}
    for name, storage in arguments.parameters:
        aspects[f"argument {name}"] = Aspect(_spelled(storage.parameter()), id(storage))
    for slot in arguments.slots:
        if isinstance(slot, Static):
            aspects[f"argument {slot.name}"] = Aspect(f"{slot.value!r} ({type(slot.value).__name__})")
    for _, name, value in arguments.statics:
        aspects[f"static argument {name}"] = Aspect(f"{value!r} ({type(value).__name__})")
    for name, text, identity in spelled(entry.state):
        aspects[f"attribute {name}"] = Aspect(text, identity)
    aspects["policy"] = Aspect(entry.policy.name)
    aspects["check_indices"] = Aspect(str(entry.checks))
    return TraceKey(aspects, str(arguments.structure).removeprefix("PyTreeDef(").removesuffix(")"))


def _spelled(parameter: Any) -> str:
    return "a Parameter that is gone" if parameter is None else f"Parameter {parameter.name!r} {parameter._type}"
