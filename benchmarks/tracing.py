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


def _stages(operations: int) -> tuple[float, float]:
    """Time one trace and its promote pass; seconds per operation of each."""
    from tracejit import Tensor, jit, ops

    x = Tensor(np.full(16, 1.25, np.float32))
    function = jit(straight_line(operations, ops.maximum, ops.tanh))
    start = time.perf_counter()
    traced = function.trace(x, x)
    middle = time.perf_counter()
    traced.promoted  # noqa: B018 (made when first read)
    return (middle - start) / operations, (time.perf_counter() - middle) / operations


def _jax_trace(operations: int) -> float:
    """Time JAX's own trace of the same function; seconds per operation."""
    import jax
    import jax.numpy as jnp

    x = jnp.full(16, 1.25, jnp.float32)
    function = jax.jit(straight_line(operations, jnp.maximum, jnp.tanh))
    start = time.perf_counter()
    function.trace(x, x)
    return (time.perf_counter() - start) / operations


def _medians(quick: bool) -> dict[int, tuple[float, float, float]]:
    """Give, for each size, the median cost of an operation: traced, promoted, and traced by JAX."""
    rounds, order = (5 if quick else 15), random.Random(0)
    samples: dict[int, list[tuple[float, float, float]]] = {size: [] for size in SIZES}
    for turn in range(rounds + 1):
        for size in order.sample(SIZES, len(SIZES)):
            sample = (*_stages(size), _jax_trace(size))
            if turn:  # the first turn warms up
                samples[size].append(sample)
    return {size: tuple(map(statistics.median, zip(*taken, strict=True))) for size, taken in samples.items()}  # type: ignore[misc]


def measure(quick: bool) -> list[harness.Row]:
    """Report the cost of an operation at each size, and the dearest over the cheapest."""
    medians = _medians(quick)
    rows = [
        harness.Row(
            f"trace and promote, {size:,} operations",
            (trace + promote) * 1e6,
            unit="µs/op",
            ours=f"{trace * 1e6:.3g} + {promote * 1e6:.3g} µs",
            theirs=f"{theirs * 1e6:.3g} µs",
        )
        for size, (trace, promote, theirs) in medians.items()
    ]
    totals = [trace + promote for trace, promote, _ in medians.values()]
    growth = totals[-1] / min(totals)
    note = "an operation's cost at 10,000 operations over the cheapest; theirs is jax.jit's trace alone"
    return [*rows, harness.Row("growth of an operation's cost, 100 to 10,000", growth, bar=FLAT, note=note)]


if __name__ == "__main__":
    harness.main("tracing", measure, __doc__)
