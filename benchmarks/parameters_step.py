"""A step that writes 100 Parameters, against a hand-written `jax.jit` that donates a list of 100 arrays."""

from __future__ import annotations

import numpy as np

from benchmarks import harness

COUNT = 100
BARS = {16: 1.15, 128: 1.15}


def _values(size: int) -> tuple[list[np.ndarray], np.ndarray]:
    random = np.random.default_rng(0)
    weights = [random.standard_normal((size, size)).astype(np.float32) for _ in range(COUNT)]
    return weights, random.standard_normal((size, size)).astype(np.float32)


def _ours(size: int) -> harness.Side:
    from tracejit import Parameter, Tensor, jit

    weights, goal = _values(size)
    parameters = [Parameter(Tensor(weight), name=f"w{i}") for i, weight in enumerate(weights)]
    x = Tensor(goal)

    @jit
    def step(x: Tensor) -> None:
        for parameter in parameters:
            parameter += 0.1 * (x - parameter)

    def batch(calls: int) -> list[Parameter]:
        for _ in range(calls):
            step(x)
        return parameters

    def drain(parameters: list[Parameter]) -> None:
        for parameter in parameters:
            parameter.block_until_ready()

    return harness.Side(batch, drain)


def _theirs(size: int) -> harness.Side:
    import jax

    from benchmarks.workloads import device_arrays

    weights, goal = _values(size)
    state = {"arrays": device_arrays(weights)}
    (x,) = device_arrays([goal])

    def update(arrays, x):
        return [array + 0.1 * (x - array) for array in arrays]

    step = jax.jit(update, donate_argnums=0)

    def batch(calls: int) -> list[jax.Array]:
        arrays = state["arrays"]
        for _ in range(calls):
            arrays = step(arrays, x)
        state["arrays"] = arrays
        return arrays

    return harness.Side(batch, jax.block_until_ready)


def _compare(size: int, quick: bool) -> harness.Timings:
    return harness.compare(_ours(size), _theirs(size), rounds=50 if quick else 200, batch_seconds=0.02)


def small(quick: bool) -> harness.Timings:
    """Time Parameters of 16 × 16, where the call costs most."""
    return _compare(16, quick)


def large(quick: bool) -> harness.Timings:
    """Time Parameters of 128 × 128, where the arithmetic does."""
    return _compare(128, quick)


def measure(quick: bool) -> list[harness.Row]:
    """Measure both sizes, each in processes of its own."""
    rows = []
    for function, size in ((small, 16), (large, 128)):
        timings = harness.elsewhere(f"benchmarks.parameters_step:{function.__name__}", quick)
        rows.append(timings.row(f"step writing {COUNT} Parameters of {size} × {size}", bar=BARS[size]))
    return rows


if __name__ == "__main__":
    harness.main("parameters_step", measure, __doc__)
