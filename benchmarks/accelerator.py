"""What the accelerator at hand computes and how fast, in one command; without one, it measures the CPU and says so.

Correctness: every operator's samples in several dtypes against NumPy in float64 (random numbers against the CPU), and
the example models' losses against the hand-written steps on the CPU. Speed: the figures that need one device, against
hand-written JAX. Everything runs in this process, since a process takes a GPU's memory for itself. The samples and
references are the tests', so that it takes a development environment.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks import cached_call, compiled, eager, harness, models, parameters_step

FLOATS = ("f32", "f16", "bf16", "f64")
DTYPES = (*FLOATS, "i32", "i64", "u8")
#: How far floats may lie from the reference, relative to 1 or to it; integers and bool must be equal.
#: A TPU computes float64 in software, and every platform but the CPU multiplies matrices in fewer bits.
TOLERANCES = {
    "cpu": {"f32": 1e-5, "f16": 5e-3, "bf16": 3e-2, "f64": 1e-10, "product": 1e-5, "steps": 1e-4},
    "gpu": {"f32": 3e-5, "f16": 5e-3, "bf16": 3e-2, "f64": 1e-10, "product": 5e-3, "steps": 2e-2},
    "tpu": {"f32": 3e-4, "f16": 1e-2, "bf16": 3e-2, "f64": 1e-6, "product": 3e-2, "steps": 1e-1},
}
#: Operators with another result in another dtype, beyond rounding.
BY_DTYPE = ("bitcast", "binary_cross_entropy")
PRODUCTS = ("matmul", "bmm", "dot", "outer", "einsum", "tensor_dot", "conv", "interpolate")
STEPS = 10


class Case(NamedTuple):
    """An operator called as a sample says."""

    op: Any
    sample: Any

    def __str__(self) -> str:
        return f"{self.op.name} {self.sample.operands} {dict(self.sample.attributes) or ''}".rstrip()

    def near(self, bars: dict[str, float]) -> float:
        """Return how far floats may lie off: as the least exact dtype among the operands, and the operator, have it."""
        codes = [word.partition("[")[0] for word in self.sample.operands.split()]
        product = bars["product"] if self.op.name.startswith(PRODUCTS) and "f64" not in codes else 0.0
        return max([bars[code] for code in codes if code in FLOATS] + [product], default=bars["f32"])


def _in_dtype(sample: Any, code: str) -> Any:
    """Return a sample with its floats in another dtype."""
    words = [
        word.replace(word.partition("[")[0], code) if word.partition("[")[0] in FLOATS else word
        for word in sample.operands.split()
    ]
    return type(sample)(" ".join(words), sample.attributes)


def _cases(quick: bool) -> Iterator[list[Case]]:
    """Yield the cases of one operator after another: its samples as they are, and the first in other dtypes."""
    from tests.test_operators import PUBLIC, samples_of
    from tracejit.ops.record import RECORDS

    for name in PUBLIC[:: 6 if quick else 1]:
        op = RECORDS[name]
        first, *more = samples_of(op)
        codes = ("f32", "f16", "i32") if quick else DTYPES
        tried = [Case(op, sample) for sample in (*[_in_dtype(first, code) for code in codes], *more)]
        found = {str(case): case for case in tried}
        yield [case for case in found.values() if _is_accepted(case)]


def _is_accepted(case: Case) -> bool:
    from tests.test_operators import attributes_of, declare, host_values, operands_of
    from tracejit.errors import TracejitError

    attributes = attributes_of(case.op, case.sample)
    if case.op.dialect_matters:
        attributes["dialect"] = "r1.1"
    try:
        declare(case.op, operands_of(case.op, host_values(case.op, case.sample)), attributes)
    except TracejitError:
        return False
    return True


def _functions(cases: Sequence[Case]) -> list[tuple[Callable[..., Any], list[Any]]]:
    from tests.test_operators import host_values, on_tensors

    return [on_tensors(case.op, host_values(case.op, case.sample), case.sample.attributes) for case in cases]


def _results(cases: Sequence[Case]) -> list[Any]:
    """Run cases in one compiled program, or, if that fails, each in its own; an exception stands for its result."""
    from tests.test_operators import host
    from tracejit import jit

    functions = _functions(cases)
    try:
        together = jit(lambda operands: [function(*given) for (function, _), given in zip(functions, operands)])
        return [host(result) for result in together([given for _, given in functions])]
    except Exception as error:
        return [error] if len(cases) == 1 else [_results([case])[0] for case in cases]


def _expected(case: Case) -> tuple[np.ndarray, ...]:
    """Return NumPy's values: of float64 operands, if the operator takes them; of random numbers, the CPU's."""
    import jax

    from tests.test_operators import expected_values, host, host_values

    if case.op.takes_key:
        with jax.default_device(jax.devices("cpu")[0]):
            ((function, given),) = _functions([case])
            return host(function(*given))
    wide = Case(case.op, _in_dtype(case.sample, "f64"))
    chosen = wide if case.op.name not in BY_DTYPE and _is_accepted(wide) else case
    return expected_values(chosen.op, host_values(chosen.op, chosen.sample), chosen.sample)


def _difference(result: Any, case: Case, platform: str) -> str | None:
    """Say how a result differs from the reference; None if it does not."""
    if isinstance(result, Exception):
        return f"{type(result).__name__}: {str(result).partition(chr(10))[0][:200]}"
    near = case.near(TOLERANCES[platform])
    for actual, expected in zip(result, _expected(case), strict=True):
        if actual.shape != expected.shape:
            return f"the shape is {actual.shape}, not {expected.shape}"
        if actual.dtype.kind in "biu":
            wrong = actual != expected.astype(actual.dtype)
        else:
            kind = "c16" if np.iscomplexobj(actual) else "f8"
            wrong = ~np.isclose(actual.astype(kind), expected.astype(kind), near, near, equal_nan=True)
        if wrong.any():
            place = np.unravel_index(np.argmax(wrong), wrong.shape)
            return f"{actual[place]} instead of {expected[place]} ({wrong.sum()} of {wrong.size} differ)"
    return None


def _correctness(platform: str, quick: bool) -> harness.Row:
    count, differences = 0, []
    for cases in _cases(quick):
        for case, result in zip(cases, _results(cases)):
            count += 1
            difference = _difference(result, case, platform)
            differences += [] if difference is None else [f"{case}: {difference}"]
    label = f"samples of operators that differ from NumPy, of {count}"
    return harness.Row(label, len(differences), "=", 0, "", note="; ".join(differences))


def _losses(name: str) -> tuple[list[float], list[float]]:
    """Return the losses of some steps here, and of the hand-written steps on the CPU, from the same weights."""
    import jax

    from tracejit import Tensor

    pair, cpu = models.make(name), jax.devices("cpu")[0]
    *state, rate = jax.device_put(pair.state, cpu)
    batch, theirs = jax.device_put(pair.batch, cpu), []
    for _ in range(STEPS):
        *state, loss = pair.theirs(*state, rate, *batch)
        theirs.append(float(loss))
    ours = [pair.step(*map(Tensor, pair.batch)).item() for _ in range(STEPS)]
    return ours, theirs


def _step_row(name: str, platform: str) -> harness.Row:
    ours, theirs = _losses(name)
    off = max(abs(mine / other - 1) for mine, other in zip(ours, theirs))
    label = f"{models.LABELS[name]}: losses of {STEPS} steps, off by"
    return harness.Row(label, 100 * off, "<=", 100 * TOLERANCES[platform]["steps"], "%", ours=f"{ours[-1]:.5g}",
                       theirs=f"{theirs[-1]:.5g}")  # fmt: skip


SPEED: dict[str, tuple[Callable[[bool], harness.Timings], float]] = {
    "cached call": (cached_call.two_operands, 1.70),
    "eager operator": (eager.add, 1.20),
    "chain of 20 steps": (compiled.chain_time, 1.05),
    "step writing 100 small Parameters": (parameters_step.small, 1.15),
    "MLP: training step": (models.mlp_time, models.STEP),
    "convolutional network: training step": (models.convnet_time, models.STEP),
    "transformer: training step": (models.transformer_time, models.STEP),
}


def measure(quick: bool) -> list[harness.Row]:
    """Compare, then measure, on the device that JAX takes by default."""
    import jax

    platform = jax.default_backend()
    kind = jax.devices()[0].device_kind
    found = f"{len(jax.devices())} × {kind}" if platform != "cpu" else "no accelerator: this is the CPU"
    rows = [harness.Row(f"platform {platform}", float(len(jax.devices())), unit="devices", note=found)]
    rows.append(_correctness(platform, quick))
    rows += [_step_row(name, platform) for name in itertools.islice(models.LABELS, 1 if quick else None)]
    for label, (time, bar) in itertools.islice(SPEED.items(), 5 if quick else None):
        rows.append(time(quick).row(label, bar=bar))
    return rows


if __name__ == "__main__":
    harness.main("accelerator", measure, __doc__)
