"""The compiled program itself: run time, HLO operations and bytes of a chain and of a training step."""

from __future__ import annotations

import re
from typing import Any

from benchmarks import harness
from benchmarks.workloads import (
    CHAIN_STEPS,
    chain,
    chain_inputs,
    device_arrays,
    first_weights,
    images_and_labels,
    jax_step,
    tracejit_step,
)

_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)


def chain_time(quick: bool) -> harness.Timings:
    """Time the chain on a million elements."""
    import jax

    from tracejit import Tensor, jit

    inputs = chain_inputs()
    ours, theirs = jit(chain), jax.jit(chain)
    x, y = (Tensor(array) for array in inputs)
    a, b = device_arrays(inputs)
    return harness.compare(
        harness.one_by_one(lambda: ours(x, y), Tensor.block_until_ready),
        harness.one_by_one(lambda: theirs(a, b), jax.block_until_ready),
        rounds=50 if quick else 200,
        batch_seconds=0.02,
    )


def step_time(quick: bool) -> harness.Timings:
    """Time the training step."""
    import jax

    from tracejit import Tensor

    ours, theirs = tracejit_step(), jax_step()
    images, labels = map(Tensor, images_and_labels())
    a, b = device_arrays(images_and_labels())
    state = device_arrays(first_weights())

    def their_step() -> jax.Array:
        nonlocal state
        state, loss = theirs(state, a, b)
        return loss

    return harness.compare(
        harness.one_by_one(lambda: ours(images, labels), Tensor.block_until_ready),
        harness.one_by_one(their_step, jax.block_until_ready),
        rounds=50 if quick else 200,
        batch_seconds=0.02,
    )


def facts(compiled: Any) -> tuple[int, float]:
    """Count a compiled program's HLO instructions, and the bytes that its cost analysis says it moves."""
    analysis = compiled.cost_analysis()
    if isinstance(analysis, list):
        analysis = analysis[0]
    return len(_INSTRUCTION.findall(compiled.as_text())), float(analysis["bytes accessed"])


def _chain_programs() -> tuple[Any, Any]:
    import jax

    from tracejit import Tensor, jit

    ours = jit(chain).trace(*map(Tensor, chain_inputs())).lower().compile()
    return ours, jax.jit(chain).lower(*chain_inputs()).compile()


def _step_programs() -> tuple[Any, Any]:
    from tracejit import Tensor

    ours = tracejit_step().trace(*map(Tensor, images_and_labels())).lower().compile()
    return ours, jax_step().lower(first_weights(), *images_and_labels()).compile()


def _fact_rows(label: str, ours: Any, theirs: Any) -> list[harness.Row]:
    rows = []
    for fact, our, their in zip(("HLO operations", "bytes"), facts(ours), facts(theirs), strict=True):
        rows.append(harness.Row(f"{label}: {fact}", our / their, "=", 1.0, ours=f"{our:,.0f}", theirs=f"{their:,.0f}"))
    return rows


def _time_rows(label: str, target: str, quick: bool) -> list[harness.Row]:
    rows = []
    for x64, mode in ((True, "on"), (False, "off")):
        timings = harness.elsewhere(f"benchmarks.compiled:{target}", quick, x64=x64)
        rows.append(timings.row(f"{label}: run time, 64-bit mode {mode}", bar=1.03))
    return rows


def measure(quick: bool) -> list[harness.Row]:
    """Measure run times in processes of their own, and read the programs here.

    With the user's 64-bit mode off each call enters a 64-bit scope, which costs more when the program has taken the
    processor's caches than it does in a bare loop of calls.
    """
    chain_label, step_label = f"{CHAIN_STEPS}-step chain on 1M float32", "two-layer training step"
    return [
        *_time_rows(chain_label, "chain_time", quick),
        *_fact_rows(chain_label, *_chain_programs()),
        *_time_rows(step_label, "step_time", quick),
        *_fact_rows(step_label, *_step_programs()),
    ]


if __name__ == "__main__":
    harness.main("compiled", measure, __doc__)
