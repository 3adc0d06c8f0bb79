"""An eager `x + y` on Tensors against the same on `jnp` arrays."""

from __future__ import annotations

import numpy as np

from benchmarks import harness


def add(quick: bool) -> harness.Timings:
    """Time one addition of small vectors outside any jit."""
    import jax

    from benchmarks.workloads import device_arrays
    from tracejit import Tensor

    operands = [np.linspace(1, 2, 16, dtype=np.float32), np.linspace(2, 3, 16, dtype=np.float32)]
    x, y = (Tensor(operand) for operand in operands)
    a, b = device_arrays(operands)

    def our_batch(calls: int) -> Tensor | None:
        result = None
        for _ in range(calls):
            result = x + y
        return result

    def their_batch(calls: int) -> jax.Array | None:
        result = None
        for _ in range(calls):
            result = a + b
        return result

    return harness.compare(
        harness.Side(our_batch, Tensor.block_until_ready),
        harness.Side(their_batch, jax.block_until_ready),
        rounds=100 if quick else 400,
    )


def measure(quick: bool) -> list[harness.Row]:
    """Measure with the user's 64-bit mode off and on."""
    return [
        harness.elsewhere("benchmarks.eager:add", quick, x64=x64).row(f"eager x + y, 64-bit mode {mode}", bar=1.2)
        for x64, mode in ((False, "off"), (True, "on"))
    ]


if __name__ == "__main__":
    harness.main("eager", measure, __doc__)
