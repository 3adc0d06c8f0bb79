"""Counting and explaining traces: how often a jitted function was traced, and what was different each time."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any, NamedTuple

from tracejit.errors import RetraceLimitError, RetraceWarning

#: So many traces of one function draw a warning, once.
WARN_AT = 5


class CacheInfo(NamedTuple):
    """How often a function was traced, and for how many arrangements of arguments and signatures it has programs."""

    traces: int
    entries: int
    signatures: int


class TraceKey(NamedTuple):
    """What a trace was made for: aspects by name (an argument's type, a static value, the policy)."""

    aspects: dict[str, str]

    def differences(self, other: TraceKey) -> list[str]:
        """Return what differs from another key, in words."""
        lines = []
        for name in {**other.aspects, **self.aspects}:
            before, now = other.aspects.get(name), self.aspects.get(name)
            if before != now:
                lines.append(f"{name}: {before or 'absent'} became {now or 'absent'}")
        return lines


class History:
    """The traces of one function, in order, with the time each took."""

    def __init__(self, name: str, limit: int | None):
        self.name, self.limit = name, limit
        self._keys: list[TraceKey] = []
        self._seconds: list[float] = []
        self._warned = False
        self._lock = threading.Lock()
        self._started = threading.local()

    def __len__(self) -> int:
        return len(self._seconds)

    def start(self, key: TraceKey) -> None:
        """Note that a trace begins; raises RetraceLimitError if it would be one too many."""
        if self.limit is not None and len(self) >= self.limit:
            raise RetraceLimitError(
                f"{self.name} would be traced for the {len(self) + 1}. time; max_traces is {self.limit}",
                rule=self._reason(key) or "first trace",
                fix="call it with arguments of the same dtypes and shapes, or raise max_traces",
            )
        self._started.at = (key, time.perf_counter())

    def finish(self) -> None:
        """Note that the trace is done; warns once when there were many."""
        key, since = self._started.at
        with self._lock:
            reason = self._reason(key)
            self._keys.append(key)
            self._seconds.append(time.perf_counter() - since)
            due = len(self) >= WARN_AT and not self._warned and self.limit is None
            self._warned = self._warned or due
        if due:
            warnings.warn(
                f"{self.name} has been traced {len(self)} times ({sum(self._seconds):.2f} s in all); "
                f"the last time because {reason or 'its arguments changed'}. "
                f"explain_retraces() lists all; keep dtypes and shapes fixed, or pass changing numbers as Tensors",
                RetraceWarning,
                stacklevel=6,
            )

    def _reason(self, key: TraceKey) -> str:
        earlier = [key.differences(other) for other in self._keys]
        return "; ".join(min(earlier, key=len)) if earlier else ""

    def explain(self) -> str:
        """Word, for each trace but the first, what differs from the closest earlier one."""
        lines = [f"{self.name} was traced {len(self)} time{'s' if len(self) != 1 else ''}"]
        for number, key in enumerate(self._keys):
            closest = min([key.differences(other) for other in self._keys[:number]], key=len, default=None)
            reason = "first call" if closest is None else "; ".join(closest) or "nothing that is known differs"
            lines.append(f"  {number + 1}. ({self._seconds[number] * 1e3:.1f} ms) {reason}")
        return "\n".join(lines)


def describe(entry: Any, signature: Any) -> TraceKey:
    """Return the key of a trace: types by argument name, static values, Parameters, policy, checks."""
    arguments = entry.arguments
    aspects = {f"argument {name}": str(type_) for name, type_ in zip(arguments.names, signature)}
    for where, value in arguments.statics:
        aspects[f"static argument {where}"] = f"{value!r} ({type(value).__name__})"
    for number, slot in enumerate(slot for slot in arguments.slots if hasattr(slot, "parameter")):
        parameter = slot.parameter()
        aspects[f"Parameter argument {number}"] = f"{getattr(parameter, 'name', None) or 'unnamed'} at {id(slot):#x}"
    aspects["structure of the arguments"] = str(arguments.structure)
    aspects["policy"] = entry.policy.name
    aspects["check_indices"] = str(entry.checks)
    return TraceKey(aspects)
