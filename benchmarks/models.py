"""The training steps of the three example models against hand-written, donated `jax.jit`, and a first call."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks import harness

sys.path.insert(0, str(harness.ROOT / "examples"))
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)
LABELS = {"mlp": "MLP", "convnet": "convolutional network", "transformer": "transformer of 1M weights"}
#: The bars: times of a step, and HLO operations more or fewer than the hand-written one's, in percent.
STEP, OPERATIONS, FIRST = 1.05, 2.0, 1.10


class Pair(NamedTuple):
    """A model's step twice: ours with its batch, and the hand-written one with its state, which ends with the rate."""

    step: Any
    batch: list[np.ndarray]
    theirs: Callable[..., Any]
    state: tuple[Any, ...]


def make(name: str) -> Pair:
    """Make a model and its step, and the hand-written step from the same weights."""
    return {"mlp": _mlp, "convnet": _convnet, "transformer": _transformer}[name]()


def _weights(net: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is trained and what is not."""
    from benchmarks.workloads import device_arrays

    trained: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name, parameter in net.parameters_dict().items():
        trained[not parameter.requires_grad][name] = device_arrays([parameter.asnumpy()])[0]
    return trained


def _zeros(weights: dict[str, Any]) -> dict[str, Any]:
    import jax.numpy as jnp

    return {name: jnp.zeros_like(value) for name, value in weights.items()}


def _mlp() -> Pair:
    import mlp

    from benchmarks.jax_models import mlp_loss

    return _digits(mlp.MLP(), mlp_loss, lambda pixels: pixels)


def _convnet() -> Pair:
    import convnet

    from benchmarks.jax_models import convnet_loss

    return _digits(convnet.ConvNet(), convnet_loss, convnet.as_images)


def _digits(net: Any, loss: Callable[..., Any], prepare: Callable[[np.ndarray], np.ndarray]) -> Pair:
    import jax.numpy as jnp
    import mlp

    from benchmarks.jax_models import momentum_step
    from tracejit import nn

    pixels, _, labels, _ = mlp.load()
    trained, statistics = _weights(net.set_train())
    step = mlp.make_step(net, nn.Momentum(net.trainable_params(), 0.05, 0.9))
    state = (trained, statistics, _zeros(trained), jnp.float32(0.05))
    return Pair(step, [prepare(pixels[: mlp.BATCH]), labels[: mlp.BATCH]], momentum_step(loss, 0.9), state)


def _transformer() -> Pair:
    import jax.numpy as jnp
    import transformer

    from benchmarks.jax_models import adamax_step, transformer_loss
    from tracejit import nn

    size = transformer.Size()
    net = transformer.Transformer(size).set_train()
    trained, _ = _weights(net)
    step = transformer.make_step(net, nn.AdaMax(net.trainable_params(), 1e-3, eps=1e-4))
    text = transformer.read_text(16 * (size.window + 1)).reshape(16, -1)
    loss = functools.partial(transformer_loss, layers=size.layers, heads=size.heads)
    state = (trained, _zeros(trained), _zeros(trained), jnp.float32(1.0), jnp.float32(1e-3))
    return Pair(step, [text], adamax_step(loss, 0.9, 0.999, 1e-4), state)


# Measuring


def sides(pair: Pair) -> tuple[harness.Side, harness.Side]:
    """Make the two sides of a pair, each of which awaits every step."""
    import jax

    from benchmarks.workloads import device_arrays
    from tracejit import Tensor

    ours, theirs = [Tensor(array) for array in pair.batch], device_arrays(pair.batch)
    *state, rate = pair.state

    def their_step() -> jax.Array:
        nonlocal state
        *state, loss = pair.theirs(*state, rate, *theirs)
        return loss

    return (
        harness.one_by_one(lambda: pair.step(*ours), Tensor.block_until_ready),
        harness.one_by_one(their_step, jax.block_until_ready),
    )


def _step_times(name: str, quick: bool) -> harness.Timings:
    heavy = name == "transformer"
    return harness.compare(
        *sides(make(name)),
        rounds=(10 if quick else 40) if heavy else (30 if quick else 150),
        batch_seconds=0.05,
        calls=1 if heavy else None,
    )


def mlp_time(quick: bool) -> harness.Timings:
    """Time the MLP's step."""
    return _step_times("mlp", quick)


def convnet_time(quick: bool) -> harness.Timings:
    """Time the convolutional network's step."""
    return _step_times("convnet", quick)


def transformer_time(quick: bool) -> harness.Timings:
    """Time the transformer's step."""
    return _step_times("transformer", quick)


def first_call(quick: bool) -> harness.Timings:
    """Time the transformer's first step: trace, lowering, compilation and run."""
    import jax

    from benchmarks.workloads import device_arrays
    from tracejit import Tensor

    pairs: list[Pair] = []

    def batch(run: Callable[[Pair], object]) -> Callable[[int], object]:
        def one(calls: int) -> object:
            assert calls == 1
            return run(pairs.pop())

        return one

    rounds = 2 if quick else 8
    pairs += [make("transformer") for _ in range(2 * (rounds + 1))]
    return harness.compare(
        harness.Side(batch(lambda pair: pair.step(*map(Tensor, pair.batch))), Tensor.block_until_ready),
        harness.Side(batch(lambda pair: pair.theirs(*pair.state, *device_arrays(pair.batch))), jax.block_until_ready),
        rounds=rounds,
        calls=1,
    )


def operations(name: str) -> tuple[int, int]:
    """Count the HLO operations of both compiled steps."""
    from benchmarks.workloads import device_arrays
    from tracejit import Tensor

    pair = make(name)
    ours = pair.step.trace(*map(Tensor, pair.batch)).lower().compile()
    theirs = pair.theirs.lower(*pair.state, *device_arrays(pair.batch)).compile()
    return tuple(len(_INSTRUCTION.findall(compiled.as_text())) for compiled in (ours, theirs))


def _operations_row(name: str) -> harness.Row:
    ours, theirs = operations(name)
    off = 100 * (ours / theirs - 1)
    label = f"{LABELS[name]}: HLO operations, off by"
    return harness.Row(label, abs(off), "<=", OPERATIONS, "%", ours=f"{ours:,}", theirs=f"{theirs:,}")


def measure(quick: bool) -> list[harness.Row]:
    """Measure times in processes of their own, and read the programs here."""
    rows = []
    for name, label in LABELS.items():
        timings = harness.elsewhere(f"benchmarks.models:{name}_time", quick, processes=2)
        rows += [timings.row(f"{label}: training step", bar=STEP), _operations_row(name)]
    timings = harness.elsewhere("benchmarks.models:first_call", quick, processes=2)
    return [*rows, timings.row("transformer: first call", bar=FIRST)]


if __name__ == "__main__":
    harness.main("models", measure, __doc__)
