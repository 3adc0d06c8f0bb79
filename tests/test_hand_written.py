"""The hand-written JAX steps that benchmarks compare with do what the operators do."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import batches, mindspore_peer
from benchmarks.jax_optimizers import DENSE, SPARSE, dense_step, sparse_step
from benchmarks.optimizers import parameters, step
from tracejit import Parameter, Tensor


def check(state: list[Parameter], arrays: Any) -> None:
    for parameter, array in zip(state, arrays, strict=True):
        np.testing.assert_allclose(parameter.asnumpy(), array, rtol=2e-5, atol=1e-6, err_msg=parameter.name)


@pytest.mark.parametrize("name", DENSE)
def test_dense(name: str):
    state = parameters(name, [50])
    arrays = tuple([jnp.ones(50, jnp.float32) for _ in state])
    ours, theirs = step(name, state, dict(DENSE[name][1])), dense_step(name)
    for scale in (1, 0.1, 3):
        gradient = scale * batches.gradient(50)
        ours(Tensor(gradient))
        arrays = theirs(arrays, jnp.array(gradient))
    check(state, arrays)
    assert len(DENSE) == 10


@pytest.mark.parametrize("name", SPARSE)
def test_rows(name: str):
    state = parameters(name, [20, 4])
    arrays = tuple([jnp.ones((20, 4), jnp.float32) for _ in state])
    ours, theirs = step(name, state, dict(SPARSE[name][1])), sparse_step(name)
    for given in ([3, 3, 0, 19, 3], [7, 3, 7, 7, 20]):
        indices, gradient = np.array(given, "i4"), batches.gradient(5, 4)
        ours(Tensor(indices), Tensor(gradient))
        arrays = theirs(arrays, jnp.array(indices), jnp.array(gradient))
    check(state, arrays)
    assert not np.any(state[0].asnumpy()[[3, 7]] == 1) and np.all(state[0].asnumpy()[10:19] == 1)


@pytest.mark.parametrize("name", mindspore_peer.operators())
def test_the_description_for_mindspore_holds_every_operand(name: str):
    work = mindspore_peer.described(name)
    operands = mindspore_peer.record(name).operands
    assert len(work["state"] + work["before"] + work["batch"] + work["after"]) == len(operands)
