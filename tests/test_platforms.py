"""Every operator lowers for all of JAX's platforms, on a machine that has one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.test_operators import call, host_values, operands_of, samples_of
from tracejit import Parameter, Tensor, jit, ops
from tracejit.errors import PlatformError
from tracejit.ops.record import RECORDS, Op, Sample

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
OPERATORS = [name for name, op in RECORDS.items() if not op.hidden]
#: The samples behind an operator's first.
MORE = [(name, i) for name in OPERATORS for i in range(1, len(samples_of(RECORDS[name])))]


def export_sample(op: Op, sample: Sample) -> Any:
    """Export a function that calls an operator as a sample says; Tensors are its arguments."""
    operands = operands_of(op, host_values(op, sample))
    places = [i for i, x in enumerate(operands) if isinstance(x, Tensor) and not isinstance(x, Parameter)]

    def function(*tensors: Tensor) -> Any:
        given = list(operands)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        return call(op, given, sample.attributes)

    return jit(function).export(*[operands[i] for i in places], platforms=PLATFORMS)


@pytest.mark.sweep(60)
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_lowers_for_every_platform(name: str):
    program = export_sample(RECORDS[name], samples_of(RECORDS[name])[0])
    assert program.platforms == PLATFORMS
    assert "module @jit_function" in program.as_stablehlo()


@pytest.mark.sweep(60)
@pytest.mark.parametrize(("name", "number"), MORE)
def test_every_sample_lowers_for_every_platform(name: str, number: int):
    assert export_sample(RECORDS[name], samples_of(RECORDS[name])[number]).platforms == PLATFORMS


x, square = Tensor(np.float32([1, 2, 3, 4])), Tensor(np.eye(4, dtype=np.float32))
w = Parameter(np.float32([1, 2, 3, 4]), name="w")


def scanned(a: Tensor) -> Any:
    def body(carry: Tensor, item: Tensor) -> Any:
        ops.assign_add(w, a)
        return carry + item, carry * item

    return tracejit.scan(body, Tensor(0.0), a)


#: What has regions or stands for a function is no operator of the records' samples.
STRUCTURED: dict[str, Callable[[Tensor], Any]] = {
    "cond": lambda a: tracejit.cond(a.sum() > 0, lambda: a, lambda: -a),
    "switch": lambda a: tracejit.switch(Tensor(1), [lambda: a, lambda: -a]),
    "while_loop": lambda a: tracejit.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, a),
    "fori_loop": lambda a: tracejit.fori_loop(0, 5, lambda i, c: c * 2 + i, a),
    "scan": scanned,
    "grad": lambda a: tracejit.grad(lambda b: (ops.exp(b) * w).sum())(a),
    "vmap": lambda a: tracejit.vmap(lambda b: b * 2)(a),
    "checkpoint": lambda a: tracejit.grad(lambda b: tracejit.checkpoint(ops.exp)(b).sum())(a),
    "getitem": lambda a: a[1:3],
    "jax": lambda a: tracejit.from_jax(lambda b: b**2)(a),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_regions_lower_for_every_platform(name: str):
    assert jit(STRUCTURED[name]).export(x, platforms=PLATFORMS).platforms == PLATFORMS


def test_64_bit_types_lower_for_every_platform():
    def function(a: Tensor, b: Tensor) -> Any:
        return a // b + 2**40, (a / b).astype("float64").sum(), ops.sort(a), a.argmax()

    wide = Tensor(np.int64([2**50, -3])), Tensor(np.int64([7, 2]))
    assert jit(function).export(*wide, platforms=PLATFORMS).platforms == PLATFORMS


def test_each_refusal_names_the_platform_and_the_operator():
    import jax

    schur = tracejit.from_jax(lambda a: jax.lax.linalg.schur(a)[0])

    def function(a: Tensor) -> Any:
        return tracejit.fori_loop(0, 2, lambda i, c: schur(c), a) + ops.exp(a)

    with pytest.raises(
        PlatformError, match=r"function cannot be lowered: jax_call of .* for cuda, rocm, tpu"
    ) as caught:
        jit(function).export(square, platforms=PLATFORMS)
    assert "exp" not in caught.value.what
