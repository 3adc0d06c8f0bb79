"""The dense optimizers on ten million elements, against hand-written `jax.jit` that donates its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.batches import gradient
from benchmarks.compiled import facts

SIZE = 10_000_000
GRADIENTS = ("gradient", "grad", "delta", "updates")


def parameters(name: str, shape: Sequence[int]) -> list[Any]:
    """Make the Parameters that an operator writes, all of them ones."""
    from tracejit import Parameter, float32, ops

    op = record(name)
    return [Parameter(ops.ones(tuple(shape), float32), name=op.operands[i].name) for i in op.writes]


def record(name: str) -> Any:
    """Find the Op record of a class."""
    from tracejit.ops import RECORDS

    return next(op for op in RECORDS.values() if op.class_name == name)


def step(name: str, state: Sequence[Any], hyper: dict[str, Any]) -> Any:
    """Make the jitted step that writes the state: of a gradient, or of indices and a gradient."""
    from tracejit import jit, ops

    op = record(name)
    function = getattr(ops, op.name)
    given = next(operand.name for operand in op.operands if operand.name in GRADIENTS)
    known = {parameter.name: parameter for parameter in state} | hyper

    @jit
    def step(*batch: Any) -> None:
        function(**known, **dict(zip(("indices", given)[-len(batch) :], batch, strict=True)))

    return step


def time_of(name: str, quick: bool) -> harness.Timings:
    """Time an optimizer's step."""
    import jax

    from benchmarks.jax_optimizers import DENSE, dense_step
    from benchmarks.workloads import device_arrays
    from tracejit import Tensor

    state = parameters(name, [SIZE])
    ours, given = step(name, state, dict(DENSE[name][1])), Tensor(gradient(SIZE))
    theirs, (array,) = dense_step(name), device_arrays([gradient(SIZE)])
    arrays = tuple(device_arrays([np.ones(SIZE, np.float32)] * len(state)))

    def our_step() -> Any:
        ours(given)
        return state[0]

    def their_step() -> Any:
        nonlocal arrays
        arrays = theirs(arrays, array)
        return arrays

    return harness.compare(
        harness.one_by_one(our_step, lambda parameter: parameter.block_until_ready()),
        harness.one_by_one(their_step, jax.block_until_ready),
        rounds=10 if quick else 60,
        batch_seconds=0.05,
    )


def bytes_of(name: str) -> tuple[float, float]:
    """Return how many bytes each side's compiled step moves, by XLA's own count."""
    import jax

    from benchmarks.jax_optimizers import DENSE, dense_step
    from tracejit import Tensor

    state = parameters(name, [SIZE])
    array = jax.ShapeDtypeStruct((SIZE,), np.float32)
    ours = step(name, state, dict(DENSE[name][1])).trace(Tensor(gradient(SIZE))).lower().compile()
    theirs = dense_step(name).lower((array,) * len(state), array).compile()
    return facts(ours)[1], facts(theirs)[1]


def measure(quick: bool) -> list[harness.Row]:
    """Measure times in processes of their own, and read the programs here."""
    from benchmarks.jax_optimizers import DENSE

    rows = []
    for name in DENSE:
        timings = harness.elsewhere(f"benchmarks.optimizers:time_of:{name}", quick, processes=3)
        ours, theirs = bytes_of(name)
        rows.append(timings.row(f"{name} on 10M float32: time", bar=1.05))
        label = f"{name} on 10M float32: bytes"
        rows.append(harness.Row(label, ours / theirs, "=", 1.0, ours=f"{ours:,.0f}", theirs=f"{theirs:,.0f}"))
    return rows


if __name__ == "__main__":
    harness.main("optimizers", measure, __doc__)
