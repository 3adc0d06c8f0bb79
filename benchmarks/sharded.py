"""A data-parallel step of the MLP on eight host devices against a hand-written, sharded and donated `jax.jit`."""

from __future__ import annotations

import os

from benchmarks import harness, models

DEVICES = 8
BAR = 1.10


def _sharded(pair: models.Pair) -> models.Pair:
    """Place both sides alike: weights and the optimizer's state whole on each device, the batch in equal parts."""
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((DEVICES,), ("data",), axis_types=(AxisType.Auto,))
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    for parameter in pair.step.export(*pair.batch).parameters.values():
        parameter.to(whole)
    *changing, rate = jax.device_put(pair.state, whole)
    theirs = jax.jit(pair.theirs, donate_argnums=tuple(range(len(changing))), out_shardings=whole)
    return models.Pair(pair.step, jax.device_put(pair.batch, rows), theirs, (*changing, rate))


def step_time(quick: bool) -> harness.Timings:
    """Time the step on the devices that this process has."""
    ours, theirs = models.sides(_sharded(models.make("mlp")))
    return harness.compare(ours, theirs, rounds=30 if quick else 150, batch_seconds=0.1)


def measure(quick: bool) -> list[harness.Row]:
    """Measure in processes that have the devices."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    timings = harness.elsewhere("benchmarks.sharded:step_time", quick)
    return [timings.row(f"MLP: data-parallel training step on {DEVICES} host devices", bar=BAR)]


if __name__ == "__main__":
    harness.main("sharded", measure, __doc__)
