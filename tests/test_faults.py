"""What fails while compiling and running: every Parameter is as it was, and the next call is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, jit, ops
from tracejit.errors import StateLostError

x = Tensor(np.float32([1, 2, 3]))


class Failing:
    """A Python function that runs with the program, and fails when it is told to."""

    def __init__(self) -> None:
        self.fails = False
        self.calls = 0

    def __call__(self, values: Any) -> np.ndarray:
        self.calls += 1
        if self.fails:
            raise RuntimeError("the callback failed")
        return np.asarray(values) * 2


@pytest.fixture
def failing() -> Failing:
    return Failing()


def doubled(failing: Failing) -> Any:
    """Return an operator that runs it."""

    def call(a: Any) -> Any:
        return jax.pure_callback(failing, jax.ShapeDtypeStruct(a.shape, a.dtype), a)

    return tracejit.from_jax(call, callback=True)


def bits(*parameters: Parameter) -> list[bytes]:
    return [parameter.asnumpy().tobytes() for parameter in parameters]


# Callbacks


@pytest.mark.parametrize("first", [True, False], ids=["in the first run", "later"])
@pytest.mark.parametrize("size", [3, 100_000])
def test_a_callback_that_fails(failing: Failing, first: bool, size: int):
    w, count = Parameter(np.ones(size, np.float32), name="w"), Parameter(np.int64(0), name="count")
    double, y = doubled(failing), Tensor(np.ones(size, np.float32))

    @jit
    def step(a: Tensor) -> Tensor:
        ops.assign_add(count, 1)
        ops.assign_add(w, double(a))
        return w.sum()

    if not first:
        step(y)
    before = bits(w, count)
    failing.fails = True
    for _ in range(2):
        with pytest.raises(Exception, match="the callback failed") as caught:
            step(y)
        assert not isinstance(caught.value, StateLostError)
        assert bits(w, count) == before
    failing.fails = False
    assert step(y).item() == size * (5 if not first else 3)
    assert count.item() == (2 if not first else 1)


def test_a_callback_in_a_branch_or_loop_that_fails(failing: Failing):
    w, double = Parameter(np.ones(3, np.float32), name="w"), doubled(failing)

    @jit
    def step(a: Tensor) -> Tensor:
        ops.assign_add(w, a)
        return tracejit.fori_loop(0, 3, lambda i, c: double(c), a)

    step(x)
    before = bits(w)
    failing.fails = True
    with pytest.raises(Exception, match="the callback failed"):
        step(x)
    assert bits(w) == before
    failing.fails = False
    assert step(x).tolist() == [8, 16, 24]


def test_a_function_with_a_callback_keeps_its_old_buffers(failing: Failing):
    """It runs undonated, and is awaited before anything is written back."""
    w, double = Parameter(np.ones(4096, np.float32), name="w"), doubled(failing)
    step = jit(lambda a: ops.assign_add(w, double(a)))
    y = Tensor(np.ones(4096, np.float32))
    step(y)
    buffer = w._data
    step(y)
    assert not buffer.is_deleted()
    assert failing.calls == 2


# Out of memory


OUT = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17592186044416 bytes."


@contextmanager
def failing_programs(kind: Any, fails: Callable[..., Any]) -> Iterator[None]:
    """Let every program that is made meanwhile fail when it is called."""
    patch = pytest.MonkeyPatch()
    original = kind._compile

    def compile_(self: Any, body: Any, name: str, donate: bool) -> None:
        original(self, body, name, donate)
        good = self.compiled
        state = {"fail": True}

        def compiled(inputs: Any, written: Any, read: Any) -> Any:
            if state["fail"]:
                state["fail"] = False
                return fails(inputs, written, read)
            return good(inputs, written, read)

        self.compiled = compiled
        self._variants[None] = compiled

    patch.setattr(kind, "_compile", compile_)
    try:
        yield
    finally:
        patch.undo()


def while_compiling(inputs: Any, written: Any, read: Any) -> Any:
    raise jax.errors.JaxRuntimeError(OUT)


def while_running(inputs: Any, written: Any, read: Any) -> Any:
    for array in written:
        array.delete()
    raise jax.errors.JaxRuntimeError(OUT)


@pytest.mark.parametrize("fails", [while_compiling, while_running])
def test_out_of_memory_in_a_first_call(fails: Callable[..., Any]):
    from lowering.programs import StatefulProgram

    w, half = Parameter(np.float32([1, 2, 3]), name="w"), Parameter(Tensor([1.5], "bfloat16"), name="half")

    @jit
    def step(a: Tensor) -> Tensor:
        ops.assign_add(w, a)
        ops.assign_add(half, ops.ones((1,), "bfloat16"))
        return w.sum()

    before = bits(w, half)
    with failing_programs(StatefulProgram, fails):
        with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED") as caught:
            step(x)
        assert not isinstance(caught.value, StateLostError)
        assert bits(w, half) == before
        assert step(x).item() == 12
    assert (w.tolist(), half.tolist()) == ([2, 4, 6], [2.5])


def test_out_of_memory_in_another_signatures_first_call():
    from lowering.programs import StatefulProgram

    w = Parameter(np.float32([1, 2, 3]), name="w")
    step = jit(lambda a: ops.assign_add(w, a))
    step(x)
    before = bits(w)
    with failing_programs(StatefulProgram, while_running):
        with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
            step(Tensor(np.int8([1, 1, 1])))
        assert bits(w) == before
    assert step(x).tolist() == [3, 6, 9]


def test_a_real_allocation_that_is_too_large():
    """Nothing is injected: the result would have 2**50 bytes."""
    w = Parameter(np.float32([1, 2, 3]), name="w")

    @jit
    def step(a: Tensor) -> Tensor:
        ops.assign_add(w, a)
        return ops.broadcast_to(a[0], (2**48,)) + a[1]

    before = bits(w)
    with pytest.raises(Exception, match=r"RESOURCE_EXHAUSTED|[Oo]ut of memory|allocate"):
        step(x)
    assert bits(w) == before
    assert jit(lambda a: ops.assign_add(w, a))(x).tolist() == [2, 4, 6]


# Later


def test_a_later_failure_names_the_parameters_and_saving_is_the_way_back(tmp_path: Any):
    w, b = Parameter(np.float32([1, 2, 3]), name="w"), Parameter(np.float32([1]), name="b")
    step = jit(lambda a: [ops.assign_add(w, a), ops.assign_add(b, 1.0)])
    step(x)
    tracejit.save_parameters(tmp_path / "state", [w, b])
    (program,) = [plan.program for entry in step._entries.values() for plan in entry.plans.values()]
    good, program.compiled = program.compiled, while_running
    with pytest.raises(StateLostError, match="the buffers of w, b") as caught:
        step(x)
    assert "donate=False" in caught.value.fix
    program.compiled = good
    w.set_data(Tensor(np.zeros(3, np.float32)))
    b.set_data(Tensor(np.zeros(1, np.float32)))
    tracejit.load_parameters(tmp_path / "state", [w, b])
    step(x)
    assert (w.tolist(), b.tolist()) == ([3, 6, 9], [3])


def test_lost_parameters_can_be_loaded_at_once(tmp_path: Any):
    w = Parameter(np.float32([1, 2, 3]), name="w")
    tracejit.save_parameters(tmp_path / "state", [w])
    w._data.delete()
    tracejit.load_parameters(tmp_path / "state", [w])
    assert ops.assign_add(w, x).tolist() == [2, 4, 6]


def test_the_safe_mode_loses_nothing_later():
    w = Parameter(np.float32([1, 2, 3]), name="w")
    step = jit(lambda a: ops.assign_add(w, a), donate=False)
    step(x)
    (program,) = [plan.program for entry in step._entries.values() for plan in entry.plans.values()]
    good, program.compiled = program.compiled, while_compiling
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        step(x)
    program.compiled = good
    assert step(x).tolist() == [3, 6, 9]


# Tracing


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_error_in_the_users_code_while_tracing(error: type[BaseException]):
    w, fails = Parameter(np.float32([1, 2, 3]), name="w"), [True]

    @jit
    def step(a: Tensor) -> Tensor:
        ops.assign_add(w, a)
        if fails:
            raise error("mine")
        return w.sum()

    before = bits(w)
    with pytest.raises(error, match="mine"):
        step(x)
    assert bits(w) == before
    fails.clear()
    assert step(x).item() == 12
