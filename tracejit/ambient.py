"""What surrounds a call: the trace that is going on, the policy and the checks of `with` blocks.

All of it is one ContextVar, None by default, so that a call outside of everything asks one question; a new thread
starts without a trace and without a policy block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from tracejit import policies
from tracejit.policies import Policy


class Ambient(NamedTuple):
    """The trace (its builder), the policy and the index checks in force; None where nothing was said."""

    builder: Any = None
    policy: Policy | None = None
    check_indices: bool | None = None


AMBIENT: ContextVar[Ambient | None] = ContextVar("tracejit", default=None)
NOTHING = Ambient()
DEFAULT_POLICY = policies.get("mindspore")


def current_policy() -> Policy:
    """Return the policy in force: that of the innermost `with tracejit.promotion(...)`, else `mindspore`."""
    ambient = AMBIENT.get()
    return DEFAULT_POLICY if ambient is None or ambient.policy is None else ambient.policy


@contextmanager
def surroundings(**changes: Any) -> Iterator[None]:
    """Run a block with some of the ambient state replaced."""
    token = AMBIENT.set((AMBIENT.get() or NOTHING)._replace(**changes))
    try:
        yield
    finally:
        AMBIENT.reset(token)


@contextmanager
def promotion(policy: str | Policy) -> Iterator[Policy]:
    """Promote by another policy inside the block (DESIGN: policies are arguments, never process-wide state).

    >>> import tracejit
    >>> with tracejit.promotion("numpy2"):
    ...     tracejit.result_type("int8", "uint8")
    tracejit.int16
    """
    chosen = policies.get(policy)
    with surroundings(policy=chosen):
        yield chosen


@contextmanager
def check_indices(check: bool) -> Iterator[None]:
    """Check every index inside the block at run time (True), or none (False); see DECISIONS on bad indices."""
    with surroundings(check_indices=check):
        yield
