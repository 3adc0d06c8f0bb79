"""Running a program that writes Parameters, so that nothing is lost.

A Parameter changes only after the call succeeded. Its old buffer is donated, so three things can go wrong, and each
has its answer here: an interrupt between the call and the write-back (results are kept in a list by one step of C
code, and the write-back is another, repeated if an exception comes between); a failure in a signature's first run,
when most out-of-memory errors come (host copies are kept until it succeeded); a failure later (StateLostError).
A program that does not donate is awaited before the write-back, so that whatever fails, nothing is lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import starmap
from typing import Any

from tracejit.bridge import backend
from tracejit.errors import StateError, StateLostError
from tracejit.storage import STATE_LOCK, Storage, Written, gather

#: What a program is called with: inputs, the old values of what is written, and what is only read.
Raw = tuple[Sequence[Any], list[Any], list[Any]]


def run_stateful(
    program: Any,
    inputs: Sequence[Any],
    written: Written,
    read: Sequence[Storage],
    check: Callable[[Any], None] | None = None,
) -> Any:
    """Run a program and commit what it wrote; returns its outputs.

    `check` looks at the outputs before the commit and may raise (only for a program that does not donate). Raises
    StateError under somebody else's JAX transformation, before anything runs, and StateLostError if a failure took
    donated buffers with it.
    """
    transformed = backend.under_transformation()
    if transformed and written.storages:
        raise _transformed(written.storages)
    scope = backend.wide(transformed)
    with STATE_LOCK:
        raw: Raw = (inputs, written.take(), gather(read) if read else [])
        if transformed:
            program.check(raw[0], raw[2])
        ready = check is None and (not written.storages or program.ready_at == backend.placements.version)
        try:
            if ready:
                return _run(program, raw, written, scope)
            return _run_with_care(program, raw, written, scope, check)
        except BaseException as error:
            _check_lost(written, error)
            raise


def _run_with_care(program: Any, raw: Raw, written: Written, scope: Any, check: Any) -> Any:
    """Run a program that does not donate, has not run before, or has its arrays in new places."""
    if written.storages and program.arranged_at != backend.placements.version:
        raw = program.arranged(*raw)
    if check is not None or (written.storages and not program.donates):
        return _run_awaited(program, raw, written, scope, check)
    if written.storages and not program.has_run(raw[0], raw[1]):
        return _first_run(program, raw, written, scope)
    with deferred_interrupt() if program.interruptible else nullcontext():
        return _run(program, raw, written, scope)


def _run(program: Any, raw: Raw, written: Written, scope: Any) -> Any:
    """Call and write back; each is one step of C code, so that an interrupt finds nothing half done."""
    box: list[Any] = []
    try:
        if scope is None:
            box.extend(starmap(program.compiled, (raw,)))
        else:
            with scope:
                box.extend(starmap(program.compiled, (raw,)))
        outputs, new = box[0]
        written.put(new)
        return outputs
    except BaseException:
        if box:
            written.put(box[0][1])
        if scope is not None:
            backend.leave(scope)
        raise


def _run_awaited(program: Any, raw: Raw, written: Written, scope: Any, check: Any) -> Any:
    """Run a program that leaves the old buffers alone, and write back once it is known to have succeeded."""
    assert not program.donates
    with scope or nullcontext():
        outputs, new = program.compiled(*raw)
    if check is not None:
        check(outputs)
    backend.wait(new)
    written.put(new)
    return outputs


def _first_run(program: Any, raw: Raw, written: Written, scope: Any) -> Any:
    """Run a signature for the first time: interrupts wait, and host copies outlive the old buffers."""
    with deferred_interrupt():
        saved = [backend.host_copy(array) for array in raw[1]]
        try:
            outputs = _run(program, raw, written, scope)
            backend.wait([storage.array for storage in written.storages])  # None for a Parameter deleted meanwhile
        except BaseException:
            for storage, copy in zip(written.storages, saved, strict=True):
                if storage.array is not None and backend.has_failed(storage.array):
                    storage.array = backend.restore(copy)
            raise
        program.mark_run(raw[0], raw[1])
        if program.ready_at is not None:
            written.unite()
        return outputs


def _check_lost(written: Written, error: BaseException) -> None:
    lost = [_name(storage) for storage in written.storages if _is_lost(storage)]
    if lost:
        raise StateLostError(
            f"the call failed after the buffers of {', '.join(lost)} had been given to the device: {error}",
            rule="a donated buffer is gone when the call fails at run time",
            fix="load the Parameters again; jit(donate=False) keeps the old buffers until a call has succeeded",
        ) from error


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done (in the main thread; no other thread receives it)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    try:
        previous = signal.signal(signal.SIGINT, lambda number, frame: pending.append(number))
    except ValueError:  # not the main interpreter: it gets no signals either
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if previous is None else previous)
        if pending:
            signal.raise_signal(signal.SIGINT)


def _is_lost(storage: Storage) -> bool:
    return storage.array is not None and backend.is_deleted(storage.array)


def _name(storage: Storage) -> str:
    return getattr(storage.parameter(), "name", None) or "(unnamed)"


def _transformed(written: Sequence[Storage]) -> StateError:
    names = ", ".join(map(_name, written))
    return StateError(
        f"Parameter {names} would be written under a JAX transformation (jax.jit, jax.grad, jax.vmap, ...)",
        rule="a write inside somebody else's trace would be lost or kept as a dead tracer",
        fix="use tracejit's own transforms (tracejit.jit, grad, scan), or f.functional(params, ...) of the jitted "
        "function, which takes and returns the Parameters' values",
    )
