"""Rows of a large table updated in place, against hand-written `jax.jit` that donates its state.

Each call names rows that no call before it named for long, as a model's batches do, so that they come from memory.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.batches import NAMED, ROWS, WIDTH, gradient, index_batches
from benchmarks.optimizers import parameters, step

FEW_ROWS = 10_000
MIB = 2**20
NAMES = ("FusedSparseLazyAdam", "SparseApplyFtrl", "ScatterAdd")
#: The bars: time by time of hand-written JAX, by time on the small table, and memory by the table's.
TIME, SMALL, SHARE = 1.10, 1.8, 0.01


def _our_step(name: str, rows: int) -> tuple[Any, Any, list[Any], Any]:
    from benchmarks.jax_optimizers import SPARSE
    from tracejit import Tensor

    state = parameters(name, [rows, WIDTH])
    indices = [Tensor(batch) for batch in index_batches(rows)]
    return step(name, state, dict(SPARSE[name][1])), state, indices, Tensor(gradient(NAMED, WIDTH))


def our_side(name: str, rows: int) -> harness.Side:
    """Make our side; a call has the Parameters of the call before it, so that calls can queue up."""
    run, state, batches, given = _our_step(name, rows)
    indices: Iterator[Any] = itertools.cycle(batches)

    def batch(calls: int) -> Any:
        for _ in range(calls):
            run(next(indices), given)
        return state[0]

    return harness.Side(batch, lambda parameter: parameter.block_until_ready())


def their_side(name: str, rows: int) -> harness.Side:
    """Make the hand-written side."""
    import jax
    import jax.numpy as jnp

    from benchmarks.jax_optimizers import sparse_step
    from benchmarks.workloads import device_arrays

    run = sparse_step(name)
    state = tuple([jnp.ones((rows, WIDTH), jnp.float32) for _ in parameters(name, [1, 1])])
    indices, (given,) = itertools.cycle(device_arrays(index_batches(rows))), device_arrays([gradient(NAMED, WIDTH)])

    def batch(calls: int) -> Any:
        nonlocal state
        for _ in range(calls):
            state = run(state, next(indices), given)
        return state

    return harness.Side(batch, jax.block_until_ready)


def time_of(name: str, quick: bool) -> harness.Timings:
    """Time a step on the large table."""
    return _compare(our_side(name, ROWS), their_side(name, ROWS), quick)


def growth_of(name: str, quick: bool) -> harness.Timings:
    """Time a step on the large table and on the small one."""
    return _compare(our_side(name, ROWS), our_side(name, FEW_ROWS), quick)


def their_growth_of(name: str, quick: bool) -> harness.Timings:
    """Time the hand-written step likewise: how much of the growth is the machine's."""
    return _compare(their_side(name, ROWS), their_side(name, FEW_ROWS), quick)


def _compare(ours: harness.Side, theirs: harness.Side, quick: bool) -> harness.Timings:
    return harness.compare(ours, theirs, rounds=30 if quick else 150, batch_seconds=0.02)


# Memory


def temporaries(name: str) -> int:
    """Return the bytes that the compiled step takes beside its operands and results, which share their buffers."""
    run, _, indices, given = _our_step(name, ROWS)
    analysis = run.trace(indices[0], given).lower().compile().memory_analysis()
    return analysis.temp_size_in_bytes + analysis.output_size_in_bytes - analysis.alias_size_in_bytes


def peak(name: str) -> int:
    """Return by how much the process grows, at most, in steps from the second one on; 0 where Linux does not tell."""
    run, state, indices, given = _our_step(name, ROWS)
    for _ in range(2):
        run(indices[0], given)
    state[0].block_until_ready()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
    before = _resident("VmRSS")
    for batch in indices:
        run(batch, given)
        state[0].block_until_ready()
    return max(0, _resident("VmHWM") - before)


def _resident(what: str) -> int:
    found = re.search(rf"^{what}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found, what
    return int(found[1]) * 1024


def _memory_rows(name: str) -> list[harness.Row]:
    table, batch = ROWS * WIDTH * 4, NAMED * (WIDTH + 1) * 4
    bar = (SHARE * table + batch) / MIB
    label = f"{name}: memory over table and state"
    rows = [harness.Row(f"{label}, of the compiled step", temporaries(name) / MIB, "<=", bar, "MiB")]
    if not Path("/proc/self/clear_refs").exists():
        return [*rows, harness.Row(f"{label}, of the process", None, "<=", bar, "MiB", note="only Linux tells")]
    return [*rows, harness.Row(f"{label}, of the process", peak(name) / MIB, "<=", bar, "MiB")]


def measure(quick: bool) -> list[harness.Row]:
    """Measure times in processes of their own, and memory here."""
    rows = []
    for name in NAMES:
        memory = _memory_rows(name)
        time = harness.elsewhere(f"benchmarks.sparse:time_of:{name}", quick, processes=2)
        growth = harness.elsewhere(f"benchmarks.sparse:growth_of:{name}", quick, processes=2)
        theirs = harness.elsewhere(f"benchmarks.sparse:their_growth_of:{name}", quick, processes=2)
        label = f"{name}, 1,024 indices"
        rows += [
            time.row(f"{label} into 1M × 64: time", bar=TIME),
            growth.row(f"{label}: time at 1M rows by time at 10k rows", bar=SMALL),
            theirs.row(f"{label}: the same of hand-written JAX"),
            *memory,
        ]
    return rows


if __name__ == "__main__":
    harness.main("sparse", measure, __doc__)
