"""Many calls: from eight threads at once, ten thousand in a row, and from functions that are made and dropped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import sample
from tracejit import Parameter, Tensor, jit, ops
from tracejit.bounded import Bounded

ROOT = Path(__file__).resolve().parent.parent
FULL = len(sample(range(10), 5)) == 10
#: How often things are done: all of what is asked for under --full, enough to see a trend by default.
CALLS, STEPS, LAMBDAS = (10_000, 10_000, 1_000) if FULL else (4_000, 4_000, 150)


def run(code: str, *arguments: Any) -> Any:
    """Run code in a process of its own, whose memory is that of nobody else, and read the JSON that it prints."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_CHECK_TRACER_LEAKS": "0", "TRACEJIT_VERIFY": "0"}
    command = [sys.executable, "-c", MEASURE + textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# Eight threads


def in_threads(work: Callable[[int], None], threads: int = 8) -> None:
    """Run work(number) in threads that start together; raises what any of them raised."""
    barrier = threading.Barrier(threads)

    def begin(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(begin, number) for number in range(threads)]:
            future.result()


def test_ten_thousand_calls_of_the_same_and_of_different_functions():
    total, own = Parameter(np.int64(0), name="total"), [Parameter(np.int64(0), name=f"own{i}") for i in range(8)]
    one = Tensor(np.int64(1))
    shared = jit(lambda x: ops.assign_add(total, x))
    pure = jit(lambda x, y: x * 2 + y)
    each = [jit(lambda x, p=p: [ops.assign_add(p, x), ops.assign_add(total, x)]) for p in own]
    calls = CALLS // 8 // 4

    def work(number: int) -> None:
        mine = Tensor(np.full(1 + number % 4, number, np.float32))
        for _ in range(calls):
            shared(one)
            each[number](one)
            ops.assign_add(total, one)
            assert pure(mine, mine).tolist() == [3.0 * number] * (1 + number % 4)

    in_threads(work)
    assert [p.item() for p in own] == [calls] * 8
    assert total.item() == 8 * calls * 3
    assert shared.cache_info().traces <= 8
    assert all(function.cache_info().traces == 1 for function in each)
    assert pure.cache_info().signatures == 4 and pure.cache_info().traces <= 8 + 4


def test_first_calls_of_new_functions_in_all_threads():
    total = Parameter(np.int64(0), name="total")

    def work(number: int) -> None:
        for i in range(6):
            jit(lambda x, i=i: ops.assign_add(total, x * i))(Tensor(np.int64(1)))

    in_threads(work)
    assert total.item() == 8 * sum(range(6))


# Memory

MEASURE = """
import gc, json, os, sys
import jax, numpy as np, tracejit
from tracejit import Parameter, Tensor, jit, nn, ops

def sizes():
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1]) if os.path.exists("/proc/self/statm") else 0
    return {"live": len(jax.live_arrays()), "objects": len(gc.get_objects()),
            "megabytes": pages * os.sysconf("SC_PAGE_SIZE") / 1e6}

def trend(work, times):
    for i in range(times // 2):  # what is kept once, and what allocators take
        work(i)
    before = sizes()
    for i in range(times // 2, times):
        work(i)
    after = sizes()
    print(json.dumps({name: after[name] - before[name] for name in before}))

x = Tensor(np.ones(4, np.float32))
"""

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell the memory")

IN_PLACE = {
    "jitted": """
        w = Parameter(np.zeros(10_000, np.float32), name="w")
        add, y = jit(lambda a: ops.assign_add(w, a)), Tensor(np.ones(10_000, np.float32))
        work = lambda i: add(y)
        """,
    "eager": """
        w, y = Parameter(np.zeros(10_000, np.float32), name="w"), Tensor(np.ones(10_000, np.float32))
        work = lambda i: ops.assign_add(w, y)
        """,
    "a scalar that changes": """
        w = Parameter(np.zeros(10_000, np.float32), name="w")
        add = jit(lambda a, rate: ops.assign_add(w, a * rate))
        y = Tensor(np.ones(10_000, np.float32))
        work = lambda i: add(y, float(i))
        """,
    "an exported program": """
        w, y = Parameter(np.zeros(10_000, np.float32), name="w"), Tensor(np.ones(10_000, np.float32))
        program = jit(lambda a: ops.assign_add(w, a)).export(y)
        work = lambda i: program(y)
        """,
}


@needs_proc
@pytest.mark.parametrize("way", IN_PLACE)
def test_a_loop_in_place_is_flat(way: str):
    grown = run(textwrap.dedent(IN_PLACE[way]) + "\ntrend(work, int(sys.argv[1]))", STEPS)
    assert grown["live"] == 0
    assert grown["objects"] < 50
    assert grown["megabytes"] < 5


DROPPED = {
    "pure lambdas": "work = lambda i: jit(lambda a: a * 2.0 + i)(x)",
    "lambdas that write": """
        w = Parameter(np.zeros(4, np.float32), name="w")
        work = lambda i: jit(lambda a: ops.assign_add(w, a * i))(x)
        """,
    "lambdas that capture": "work = lambda i: (lambda t: jit(lambda a: a + t)(x))(Tensor(np.full(4, i, np.float32)))",
    "Parameters as arguments": """
        add = jit(lambda p, a: ops.assign_add(p, a), max_traces=10**6)
        work = lambda i: add(Parameter(np.zeros(4, np.float32), name="w"), x)
        """,
    "objects with methods": """
        class Model:
            def __init__(self):
                self.w = Parameter(np.zeros(4, np.float32), name="w")
            @jit
            def step(self, a):
                return ops.assign_add(self.w, a)
        work = lambda i: Model().step(x)
        """,
    "Cells": """
        class Model(nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = Parameter(np.zeros(4, np.float32))
            @jit
            def construct(self, a):
                return ops.assign_add(self.w, a)
        work = lambda i: Model()(x)
        """,
}


@needs_proc
@pytest.mark.parametrize("kind", DROPPED)
def test_what_is_made_and_dropped_is_gone(kind: str):
    grown = run(textwrap.dedent(DROPPED[kind]) + "\ntrend(work, int(sys.argv[1]))", LAMBDAS)
    assert grown["live"] == 0
    assert grown["objects"] < 10 * LAMBDAS  # a line for explain_retraces() stays of each trace; a program has hundreds
    assert grown["megabytes"] < 0.1 * LAMBDAS  # a program takes more than one


def test_errors_leave_nothing_behind():
    grown = run(
        """
        add = jit(lambda a, b: a + b)
        def work(i):
            try:
                add(x, Tensor(np.ones(3, np.float32)))
            except ValueError:
                pass
        trend(work, 400)
        """
    )
    assert grown["live"] == 0 and grown["objects"] < 50


# Tables


def test_the_table_of_eager_programs_is_bounded(monkeypatch: pytest.MonkeyPatch):
    import tracejit.eager

    table: Bounded[Any] = Bounded(4)
    monkeypatch.setattr(tracejit.eager, "_programs", table)
    x = Tensor(np.arange(20, dtype=np.float32))
    for i in range(12):
        assert ops.reshape(x, ((1,) * i + (20,))).shape == (1,) * i + (20,)
    assert len(table) == 4
    assert ops.reshape(x, (20,)).shape == (20,)  # one that was forgotten is made again


def test_a_bounded_table_forgets_what_was_not_asked_for_longest():
    table: Bounded[int] = Bounded(4)
    for i in range(4):
        table.keep(i, i)
    assert table.get(0) == 0
    table.keep(4, 4)
    assert [table.get(i) for i in range(5)] == [0, None, 2, 3, 4]
    assert table.keep(4, 5) == 4


def test_a_bounded_table_in_threads():
    table: Bounded[int] = Bounded(8)

    def work(number: int) -> None:
        for i in range(2_000):
            found = table.get(i % 20)
            assert found in (None, i % 20)
            table.keep(i % 20, i % 20)

    in_threads(work)
    assert len(table) <= 8


def test_entries_of_dead_parameters_are_dropped():
    add = jit(lambda p, a: ops.assign_add(p, a))
    x, kept = Tensor([1.0]), Parameter([1.0], name="kept")
    add(kept, x)
    for _ in range(3):
        add(Parameter([1.0], name="dropped"), x)
    assert add.cache_info().entries == 1
    assert add(kept, x).tolist() == [3.0]
