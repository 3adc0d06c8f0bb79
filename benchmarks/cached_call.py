"""A cached call of a two-operand function, Tensor in and Tensor out, against `jax.jit` on arrays."""

from __future__ import annotations

import numpy as np

from benchmarks import harness

SIZE = 16


def two_operands(quick: bool) -> harness.Timings:
    """Time `x * y + x` on small vectors, so that the call itself is what costs."""
    import jax

    from benchmarks.workloads import device_arrays
    from tracejit import Tensor, jit

    operands = [np.linspace(1, 2, SIZE, dtype=np.float32), np.linspace(2, 3, SIZE, dtype=np.float32)]

    def function(x, y):
        return x * y + x

    ours, theirs = jit(function), jax.jit(function)
    x, y = (Tensor(operand) for operand in operands)
    a, b = device_arrays(operands)

    def our_batch(calls: int) -> Tensor | None:
        result = None
        for _ in range(calls):
            result = ours(x, y)
        return result

    def their_batch(calls: int) -> jax.Array | None:
        result = None
        for _ in range(calls):
            result = theirs(a, b)
        return result

    return harness.compare(
        harness.Side(our_batch, Tensor.block_until_ready),
        harness.Side(their_batch, jax.block_until_ready),
        rounds=100 if quick else 400,
    )


def measure(quick: bool) -> list[harness.Row]:
    """Measure with the user's 64-bit mode on and off: off, each call has to enter a 64-bit scope if it needs one."""
    target = "benchmarks.cached_call:two_operands"
    return [
        harness.elsewhere(target, quick, x64=True).row("cached call, 64-bit mode on", bar=1.35),
        harness.elsewhere(target, quick, x64=False).row("cached call, 64-bit mode off", bar=1.70),
    ]


if __name__ == "__main__":
    harness.main("cached_call", measure, __doc__)
