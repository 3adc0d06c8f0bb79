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
    jax_softmax_step,
    softmax_data,
    softmax_parameters,
    tracejit_softmax_step,
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
    )


def step_time(quick: bool) -> harness.Timings:
    """Time the training step."""
    import jax

    from tracejit import Tensor

    ours, theirs = tracejit_softmax_step(), jax_softmax_step()
    images, labels = (Tensor(array) for array in softmax_data())
    a, b = device_arrays(softmax_data())
    state = device_arrays(softmax_parameters())

    def their_step() -> jax.Array:
        state[0], state[1], loss = theirs(state[0], state[1], a, b)
        return loss

    return harness.compare(
        harness.one_by_one(lambda: ours(images, labels), Tensor.block_until_ready),
        harness.one_by_one(their_step, jax.block_until_ready),
        rounds=50 if quick else 200,
        batch_seconds=0.02,
    )


def _facts(compiled: Any) -> tuple[int, float]:
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

    ours = tracejit_softmax_step().trace(*map(Tensor, softmax_data())).lower().compile()
    return ours, jax_softmax_step().lower(*softmax_parameters(), *softmax_data()).compile()


def _fact_rows(label: str, ours: Any, theirs: Any) -> list[harness.Row]:
    (our_count, our_bytes), (their_count, their_bytes) = _facts(ours), _facts(theirs)
    return [
        harness.Row(
            f"{label}: HLO operations", our_count / their_count, "<=", 1.0, ours=str(our_count), theirs=str(their_count)
        ),
        harness.Row(
            f"{label}: bytes",
            our_bytes / their_bytes,
            "<=",
            1.0,
            ours=f"{our_bytes:,.0f}",
            theirs=f"{their_bytes:,.0f}",
        ),
    ]


def measure(quick: bool) -> list[harness.Row]:
    """Measure run times in processes of their own, and read the programs here."""
    chain_label, step_label = f"chain of {CHAIN_STEPS} steps x * y + 0.25 on 1M float32", "softmax training step"
    return [
        harness.elsewhere("benchmarks.compiled:chain_time", quick).row(f"{chain_label}: run time", bar=1.03),
        *_fact_rows(chain_label, *_chain_programs()),
        harness.elsewhere("benchmarks.compiled:step_time", quick).row(f"{step_label}: run time", bar=1.03),
        *_fact_rows(step_label, *_step_programs()),
    ]


if __name__ == "__main__":
    harness.main("compiled", measure, __doc__)
