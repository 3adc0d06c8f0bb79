"""What looking costs: explaining and comparing 1,000 operations, in tracings of them; the shell's start to answer."""

from __future__ import annotations

import linecache
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import harness

OPERATIONS = 1000
EXPLAIN_BAR, COMPARE_BAR, START_BAR = 2.0, 1.5, 0.35
#: Policies under which the generated function runs to its end: tensorflow and strict stop at its first conversion.
POLICIES = ("mindspore", "mindspore2", "numpy1", "numpy2", "jax", "torch")
WORDS = ["result-type", "int8", "uint8"]


def generated(operations: int, seed: int = 0) -> Callable[..., Any]:
    """Make a function of so many lines, an operation and most of them a conversion each, known to linecache."""
    choose = random.Random(seed)
    lines = ["def generated(a, b, c):"]
    for _ in range(operations):
        operand = choose.choice(["a", "b", "c", "2", "0.5"])
        lines.append(f"    {choose.choice('abc')} = {choose.choice('abc')} {choose.choice('+-*')} {operand}")
    text = "\n".join([*lines, "    return a, b, c\n"])
    name = f"<generated {operations} {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    return namespace["generated"]


def _trace(function: Callable[..., Any], arguments: list[Any]) -> None:
    from tracejit import jit

    jit(function).trace(*arguments).promoted  # noqa: B018 (reading it makes sure that it is made)


def _trace_all(function: Callable[..., Any], arguments: list[Any]) -> None:
    from tracejit import jit

    for policy in POLICIES:
        jit(function, promotion=policy).trace(*arguments).promoted  # noqa: B018


def _explain(function: Callable[..., Any], arguments: list[Any]) -> None:
    from tracejit import explain_casts

    explain_casts(function)(*arguments).to_json()


def _compare(function: Callable[..., Any], arguments: list[Any]) -> None:
    from tracejit import compare

    compare(function, POLICIES)(*arguments).to_json()


def _ratio(ours: Callable[..., None], theirs: Callable[..., None], quick: bool) -> harness.Timings:
    """Time both in turns, on types alone; the first turn warms up."""
    from tracejit import TensorType, float16, float32, int32

    function, types = generated(OPERATIONS), [TensorType(dtype, (16,)) for dtype in (int32, float32, float16)]
    return harness.compare(
        harness.one_by_one(lambda: ours(function, types), lambda nothing: None),
        harness.one_by_one(lambda: theirs(function, types), lambda nothing: None),
        rounds=5 if quick else 20,
        calls=1,
    )


def start_to_answer(quick: bool) -> list[float]:
    """Time the command from its start to its end, in new processes; the first fills the disk's cache."""
    command = [sys.executable, "-m", "tracejit", *WORDS]
    times = []
    for _ in range((5 if quick else 20) + 1):
        start = time.perf_counter()
        done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - start)
        assert done.stdout.startswith("int16\n")
    return times[1:]


def measure(quick: bool) -> list[harness.Row]:
    """Report the ratios and the seconds."""
    explain = _ratio(_explain, _trace, quick)
    compare = _ratio(_compare, _trace_all, quick)
    times = start_to_answer(quick)
    low, middle, high = harness.quartiles(times)
    count = len(POLICIES)
    return [
        explain.row(
            f"explain_casts of {OPERATIONS:,} operations, as JSON", "<", EXPLAIN_BAR, "theirs is one trace and promote"
        ),
        compare.row(
            f"compare under {count} policies, as JSON", "<", COMPARE_BAR, f"theirs is {count} traces, one per policy"
        ),
        harness.Row(
            f"tracejit {' '.join(WORDS)}",
            min(times),
            "<",
            START_BAR,
            "s",
            low,
            high,
            ours=harness.seconds(statistics.median(times)),
            note=f"the whole process, best of {len(times)}; the median is {harness.seconds(middle)}",
        ),
    ]


if __name__ == "__main__":
    harness.main("explain", measure, __doc__)
