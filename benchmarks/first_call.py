"""Time to the first result of a function of 1,000 operations, against `jax.jit` of it written with `jnp`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import harness
from benchmarks.workloads import device_arrays, straight_line

OPERATIONS = 1000
SIZE = 128


def _batch(make: Callable[[], Callable], arguments: list) -> Callable[[int], object]:
    """Call a new function at each turn, so that tracing, lowering and compiling are all in the time."""

    def batch(calls: int) -> object:
        return [make()(*arguments) for _ in range(calls)][-1]

    return batch


def first_call(quick: bool) -> harness.Timings:
    """Time trace, lowering, compilation and first run."""
    import jax
    import jax.numpy as jnp

    from tracejit import Tensor, jit, ops

    operands = [np.full(SIZE, 1.25, np.float32), np.full(SIZE, 0.5, np.float32)]
    ours = _batch(lambda: jit(straight_line(OPERATIONS, ops.tanh)), [Tensor(x) for x in operands])
    theirs = _batch(lambda: jax.jit(straight_line(OPERATIONS, jnp.tanh)), device_arrays(operands))
    return harness.compare(  # many rounds: the times of compilation scatter by a third
        harness.Side(ours, Tensor.block_until_ready),
        harness.Side(theirs, jax.block_until_ready),
        rounds=5 if quick else 30,
        calls=1,
    )


def measure(quick: bool) -> list[harness.Row]:
    """Measure in processes of its own, with nothing compiled before but the warm-up."""
    timings = harness.elsewhere("benchmarks.first_call:first_call", quick, processes=4)
    return [timings.row(f"first call, {OPERATIONS:,} operations", bar=1.05)]


if __name__ == "__main__":
    harness.main("first_call", measure, __doc__)
