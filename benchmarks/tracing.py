"""Tracing and promotion alone, from 100 to 10,000 operations: the cost of one operation must stay flat."""

from __future__ import annotations

import random
import statistics
import time

import numpy as np

from benchmarks import harness
from benchmarks.workloads import straight_line

SIZES = (100, 300, 1000, 3000, 10_000)
FLAT = 1.3


def _trace(operations: int) -> float:
    """Time one trace with its promote pass; seconds per operation."""
    from tracejit import Tensor, jit, ops

    x = Tensor(np.full(16, 1.25, np.float32))
    function = jit(straight_line(operations, ops.tanh))
    start = time.perf_counter()
    function.trace(x, x).promoted  # noqa: B018 (reading it makes sure that it is made)
    return (time.perf_counter() - start) / operations


def _jax_trace(operations: int) -> float:
    """Time JAX's own trace of the same function; seconds per operation."""
    import jax
    import jax.numpy as jnp

    x = jnp.full(16, 1.25, jnp.float32)
    function = jax.jit(straight_line(operations, jnp.tanh))
    start = time.perf_counter()
    function.trace(x, x)
    return (time.perf_counter() - start) / operations


def _medians(quick: bool) -> dict[int, tuple[float, float]]:
    """Give, for each size, the median cost of an operation, ours and JAX's."""
    rounds, order = (5 if quick else 15), random.Random(0)
    samples: dict[int, list[tuple[float, float]]] = {size: [] for size in SIZES}
    for turn in range(rounds + 1):
        for size in order.sample(SIZES, len(SIZES)):
            sample = _trace(size), _jax_trace(size)
            if turn:  # the first turn warms up
                samples[size].append(sample)
    medians = {}
    for size, taken in samples.items():
        ours, theirs = zip(*taken, strict=True)
        medians[size] = statistics.median(ours), statistics.median(theirs)
    return medians


def measure(quick: bool) -> list[harness.Row]:
    """Report the cost of an operation at each size, and that at the largest over the cheapest."""
    medians = _medians(quick)
    rows = []
    for size, (ours, theirs) in medians.items():
        times = {"ours": harness.seconds(ours), "theirs": harness.seconds(theirs)}
        rows.append(harness.Row(f"trace and promote {size:,} operations, each", ours * 1e6, unit="µs", **times))
    growth = medians[SIZES[-1]][0] / min(ours for ours, _ in medians.values())
    note = "an operation's cost at 10,000 operations over the cheapest; theirs, above, is jax.jit's trace alone"
    return [*rows, harness.Row("growth of an operation's cost, 100 to 10,000", growth, bar=FLAT, note=note)]


if __name__ == "__main__":
    harness.main("tracing", measure, __doc__)
