"""Running a program that writes Parameters, so that nothing is lost.

A Parameter changes only after the call succeeded. Its old buffer is donated, so three things can go wrong, and each
has its answer here: an interrupt between the call and the write-back (results are kept in a list by one step of C
code, and the write-back is another, repeated if an exception comes between); a failure in a signature's first run,
when most out-of-memory errors come (host copies are kept until it succeeded); a failure later (StateLostError).
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracejit.bridge import backend
from tracejit.errors import StateError, StateLostError
from tracejit.parameter import STATE_LOCK, Parameter
from tracejit.tensor import Tensor

_set_data = Tensor._data.__set__  # type: ignore[attr-defined]  # the slot's own setter: C code, no interrupt inside


def run_stateful(
    program: Any,
    inputs: Callable[[], list[Any]],
    written: Sequence[Parameter],
    read: Sequence[Parameter],
    check: Callable[[Any], None] | None = None,
) -> Any:
    """Run a program and commit what it wrote; returns its outputs.

    `inputs` is called under the lock, since it may read Parameters. `check` looks at the outputs before the commit
    and may raise (only for a program that does not donate). Raises StateError under somebody else's JAX
    transformation, before anything runs.
    """
    if written and backend.under_transformation():
        raise _transformed(written)
    with STATE_LOCK:
        arrays = [parameter._data for parameter in written]
        others = [parameter._data for parameter in read]
        given = inputs()
        if check is not None:
            return _checked_run(program, given, arrays, others, written, check)
        if not written or program.has_run(given, arrays):
            return _run(program, given, arrays, others, written)
        return _first_run(program, given, arrays, others, written)


def _run(program: Any, inputs: list[Any], arrays: list[Any], others: list[Any], written: Sequence[Parameter]) -> Any:
    box: list[Any] = []
    try:
        box.extend(map(program.call, (inputs,), (arrays,), (others,)))
        outputs, new = box[0]
        deque(map(_set_data, written, new), 0)
        return outputs
    except BaseException as error:
        if box:
            deque(map(_set_data, written, box[0][1]), 0)
            raise
        _check_lost(written, error)
        raise


def _checked_run(program: Any, inputs: Any, arrays: Any, others: Any, written: Any, check: Any) -> Any:
    assert not program.donates
    outputs, new = program.call(inputs, arrays, others)
    check(outputs)
    deque(map(_set_data, written, new), 0)
    return outputs


def _check_lost(written: Sequence[Parameter], error: BaseException) -> None:
    lost = [parameter.name or "(unnamed)" for parameter in written if backend.is_deleted(parameter._data)]
    if lost:
        raise StateLostError(
            f"the call failed on the device after the buffers of {', '.join(lost)} had been donated to it: {error}",
            rule="a donated buffer is gone when the call fails at run time",
            fix="load the Parameters again; jit(donate=False) keeps the old buffers until a call has succeeded",
        ) from error


def _first_run(program: Any, inputs: list[Any], arrays: list[Any], others: list[Any], written: Any) -> Any:
    """Run a signature for the first time: the interrupt waits, and host copies outlive the old buffers."""
    with deferred_interrupt():
        saved = [backend.host_copy(array) for array in arrays] if program.donates else []
        try:
            outputs = _run(program, inputs, arrays, others, written)
            if program.donates:
                backend.wait([parameter._data for parameter in written])
            program.mark_run(inputs, arrays)
            return outputs
        except BaseException:
            for parameter, copy in zip(written, saved):
                if backend.is_deleted(parameter._data) or backend.has_failed(parameter._data):
                    parameter._replace(backend.restore(copy))
            raise


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done (in the main thread; no other thread receives it)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[Any] = []
    try:
        previous = signal.signal(signal.SIGINT, lambda number, frame: pending.append((number, frame)))
    except ValueError:  # an embedded interpreter has no signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if pending and callable(previous):
            previous(*pending[0])


def _transformed(written: Sequence[Parameter]) -> StateError:
    names = ", ".join(parameter.name or "(unnamed)" for parameter in written)
    return StateError(
        f"Parameter {names} would be written under a JAX transformation (jax.jit, jax.grad, jax.vmap, ...)",
        rule="a write inside somebody else's trace would be lost or kept as a dead tracer",
        fix="use tracejit's own transform (tracejit.jit, grad, vmap), or f.functional(params, *args), which returns "
        "the new values",
    )
