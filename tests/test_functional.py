"""`f.functional(params, *args)`: a jitted function as a pure one, for JAX's own transformations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, jit, ops
from tracejit.errors import (
    DTypeError,
    ParameterAliasError,
    ParameterError,
    ShapeError,
    StateError,
    TraceError,
    X64Error,
)

X = np.array([1, 1], np.float32)


class Model:
    """A step that reads `b` and writes `w`."""

    def __init__(self) -> None:
        self.w, self.b = Parameter([1.0, 2.0], name="w"), Parameter(0.5, name="b")

        @jit
        def step(x: Any) -> Any:
            loss = ops.reduce_sum((self.w * x + self.b) ** 2)
            ops.assign_add(self.w, x * 2)
            return {"loss": loss}

        self.step = step

    def values(self) -> dict[str, Any]:
        return {"w": self.w.value(), "b": self.b.value()}


def loss(model: Model, params: Any, x: Any) -> Any:
    return model.step.functional(params, x)[0]["loss"].value()


def test_values_come_in_and_go_out_and_no_parameter_changes():
    model = Model()
    result, after = model.step.functional({"w": jnp.array([3, 4], np.float32)}, Tensor(X))
    assert result["loss"].item() == 3.5**2 + 4.5**2
    assert after.keys() == {"w"} and after["w"].tolist() == [5, 6]
    np.testing.assert_array_equal(model.w.asnumpy(), [1, 2])
    assert model.step(Tensor(X))["loss"].item() == 1.5**2 + 2.5**2
    assert model.step.cache_info().traces == 1
    assert model.step.functional(model.values(), X)[0]["loss"].item() == 3.5**2 + 4.5**2


def test_under_jax_transformations():
    model = Model()
    params = model.values()
    gradient = jax.jit(jax.grad(lambda p, x: loss(model, p, x)))(params, X)
    assert gradient["w"].tolist() == [3, 5] and gradient["b"].item() == 8
    batched = jax.vmap(lambda p, x: loss(model, p, x), in_axes=(None, 0))(params, jnp.stack([X, 2 * X]))
    assert batched.tolist() == [8.5, 2.5**2 + 4.5**2]

    def step(params: Any, x: Any) -> Any:
        result, params = model.step.functional(params, x)
        return params, result["loss"].value()

    after, losses = jax.lax.scan(step, params, jnp.stack([X, X]))
    assert losses.tolist() == [8.5, 3.5**2 + 4.5**2] and after["w"].tolist() == [5, 6]
    np.testing.assert_array_equal(model.w.asnumpy(), [1, 2])


def test_a_parameter_that_is_only_read_keeps_its_value():
    model = Model()
    ops.assign(model.b, 1.5)
    assert loss(model, {"w": model.w.value()}, X).item() == 2.5**2 + 3.5**2


def test_random_numbers_are_a_function_of_the_generator():
    generator = tracejit.Generator(3, name="noise")
    draw = jit(lambda: ops.standard_normal((2,), generator))
    first, after = draw.functional({"noise": generator.value()})
    second, _ = draw.functional(after)
    assert first.tolist() == draw().tolist() and second.tolist() == draw().tolist()


@pytest.mark.parametrize(
    ("params", "kind", "words"),
    [
        ({}, StateError, "no value for w, which step writes"),
        ({"w": X, "z": X}, ParameterError, "'z', which step does not use"),
        ({"w": np.ones(3, np.float32)}, ShapeError, r"is f32\[2\] and was given f32\[3\]"),
        ({"w": np.ones(2, np.int32)}, DTypeError, r"is f32\[2\] and was given i32\[2\]"),
    ],
    ids=["missing", "unknown", "shape", "dtype"],
)
def test_values_that_do_not_fit(params: Any, kind: type[Exception], words: str):
    model = Model()
    for _ in range(2):
        with pytest.raises(kind, match=words):
            model.step.functional(params, X)
        with pytest.raises(kind, match=words):
            jax.jit(lambda p: loss(model, p, X))(params)
    np.testing.assert_array_equal(model.w.asnumpy(), [1, 2])


def test_two_parameters_of_one_name():
    twins = [Parameter(1.0, name="w"), Parameter(2.0, name="w")]
    f = jit(lambda: ops.assign_add(twins[0], twins[1]))
    with pytest.raises(ParameterAliasError, match="several Parameters named 'w'"):
        f.functional({"w": 1.0})


def test_not_inside_a_trace_of_tracejit():
    model = Model()

    @jit
    def outer(x: Any) -> Any:
        return model.step.functional({}, x)[0]["loss"]

    with pytest.raises(TraceError, match="functional was called inside outer"):
        outer(Tensor(X))


def test_64_bits():
    total = Parameter([1.0], dtype="float64", name="total")
    f = jit(lambda x: ops.assign_add(total, x))
    with jax.enable_x64(False):
        assert f.functional({"total": total.value()}, 0.5)[1]["total"].dtype == np.float64
        with pytest.raises(X64Error):
            jax.jit(lambda p: f.functional(p, 0.5)[1])({"total": total.value()})
    with jax.enable_x64(True):
        assert jax.jit(lambda p: f.functional(p, 0.5)[1])({"total": total.value()})["total"].tolist() == [1.5]


def test_of_a_bound_method_and_with_arguments_that_are_parameters():
    class Counter:
        def __init__(self) -> None:
            self.count = Parameter(0, name="count")

        @jit
        def add(self, by: Any) -> Any:
            return ops.assign_add(self.count, by)

    counter = Counter()
    assert counter.add.functional({"count": counter.count.value()}, 2)[1]["count"].item() == 2
    given = Parameter([1.0], name="given")
    double = jit(lambda p: ops.assign(p, p * 2))
    result, after = double.functional({"given": jnp.array([4], np.float32)}, given)
    assert result.tolist() == after["given"].tolist() == [8] and given.tolist() == [1]
