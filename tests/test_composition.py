"""tracejit inside the user's own JAX code, and beside NumPy: transformations, 64-bit mode, trees, DLPack."""

from __future__ import annotations

import gc
import json
import operator
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, jit, ops
from tracejit.errors import X64Error

ROOT = Path(__file__).resolve().parent.parent


def tensor(data: Any, dtype: str = "float32") -> Tensor:
    return Tensor(np.array(data, dtype))


TABLE = tensor([1, 2, 3])
WEIGHT = Parameter(np.float32([1, 10, 100]), name="weight")


def eager(x: Tensor) -> Tensor:
    return (x * x * TABLE + 1).sum()


def reading(x: Tensor) -> Tensor:
    return (x * x * WEIGHT).sum() + 3


#: tracejit functions of one vector, each with the same in JAX.
FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Any], Any]]] = {
    "eager": (eager, lambda a: (a * a * jnp.float32([1, 2, 3]) + 1).sum()),
    "jit": (jit(lambda x: (ops.tanh(x) * 2).sum()), lambda a: (jnp.tanh(a) * 2).sum()),
    "captures": (jit(eager), lambda a: (a * a * jnp.float32([1, 2, 3]) + 1).sum()),
    "reads": (jit(reading), lambda a: (a * a * jnp.float32([1, 10, 100])).sum() + 3),
    "scalars": (lambda x: jit(lambda x, s: (x * s).sum())(x, 2.5), lambda a: (a * 2.5).sum()),
    "nested": (jit(lambda x: jit(reading)(x) + eager(x)), lambda a: (a * a * jnp.float32([2, 12, 103]) + 1).sum() + 3),
    "matmul": (jit(lambda x: (x.reshape((1, 3)) @ x.reshape((3, 1))).sum()), lambda a: a @ a),
}

A = jnp.float32([0.5, 1.5, -2.0])


def scan(f: Callable[[Any], Any], a: Any) -> Any:
    return jax.lax.scan(lambda total, row: (total + f(row), f(row)), jnp.float32(0), jnp.stack([a, 2 * a]))


#: JAX's transformations, applied to a function of one array and called.
TRANSFORMS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "jit": lambda f, a: jax.jit(f)(a),
    "grad": lambda f, a: jax.grad(f)(a),
    "value_and_grad": lambda f, a: jax.value_and_grad(f)(a),
    "vmap": lambda f, a: jax.vmap(f)(jnp.stack([a, 2 * a])),
    "checkpoint": lambda f, a: jax.grad(jax.checkpoint(f))(a),
    "scan": scan,
    "cond": lambda f, a: jax.lax.cond(a[0] > 0, f, lambda b: b.sum(), a),
    "while_loop": lambda f, a: jax.lax.while_loop(lambda v: v < 100, lambda v: v * 2 + f(a), jnp.float32(1)),
    "jit of grad": lambda f, a: jax.jit(jax.grad(f))(a),
    "grad of jit": lambda f, a: jax.grad(jax.jit(f))(a),
    "vmap of grad": lambda f, a: jax.vmap(jax.grad(f))(jnp.stack([a, 2 * a])),
    "jit of vmap of grad": lambda f, a: jax.jit(jax.vmap(jax.grad(f)))(jnp.stack([a, 2 * a])),
    "jvp": lambda f, a: jax.jvp(f, (a,), (jnp.ones_like(a),)),
    "vjp": lambda f, a: jax.vjp(f, a)[1](jnp.float32(1)),
    "hessian": lambda f, a: jax.hessian(f)(a),
    "linearize": lambda f, a: jax.linearize(f, a)[1](jnp.ones_like(a)),
    "eval_shape": lambda f, a: jax.tree.map(lambda s: (s.shape, str(s.dtype)), jax.eval_shape(f, a)),
    "jacfwd": lambda f, a: jax.jacfwd(f)(a),
}


MAIN = ["jit", "grad", "value_and_grad", "vmap", "checkpoint", "scan", "cond"]


def check_transformation(name: str, transform: str) -> None:
    ours, theirs = FUNCTIONS[name]
    apply = TRANSFORMS[transform]
    expected = apply(theirs, A)
    for _ in range(2):
        actual = apply(lambda a: ours(Tensor(a)).value(), A)
        assert jax.tree.structure(actual) == jax.tree.structure(expected)
        for x, y in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            assert x == y if isinstance(x, str) else np.allclose(x, y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours(Tensor(A)).asnumpy(), theirs(A), rtol=1e-5)  # and the same outside, afterwards


@pytest.mark.parametrize("transform", MAIN)
def test_jax_transformations(transform: str):
    check_transformation("nested", transform)


@pytest.mark.sweep(25)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_more_jax_transformations(name: str, transform: str):
    check_transformation(name, transform)


def test_a_transformation_of_a_function_of_tensors():
    f = jit(lambda x: (x * x).sum())
    gradient = jax.grad(lambda x: f(x).value())(tensor([1, 2, 3]))
    assert type(gradient) is Tensor
    np.testing.assert_array_equal(gradient.asnumpy(), [2, 4, 6])
    doubled = jax.jit(lambda tree: {"x": tree["x"] * 2})({"x": tensor([1, 2, 3])})
    assert type(doubled["x"]) is Tensor
    np.testing.assert_array_equal(doubled["x"].asnumpy(), [2, 4, 6])
    rows = jax.vmap(lambda x: f(x))(tensor([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(rows.asnumpy(), [5, 25])


def test_one_trace_serves_inside_and_outside():
    runs = []
    f = jit(lambda x: (runs.append(1), x * 2)[1])
    f(Tensor(A))
    for transform in MAIN:
        TRANSFORMS[transform](lambda a: f(Tensor(a)).value().sum(), A)
    assert len(runs) == 1


def test_a_tracer_that_a_closure_captures():
    runs = []

    def outer(a: Any, b: Any) -> Any:
        captured = Tensor(b)
        inner = jit(lambda x: (runs.append(1), x + captured)[1])
        return inner(Tensor(a)).value() + inner(Tensor(a)).value()

    for apply in (jax.jit(outer), jax.vmap(outer), outer):
        np.testing.assert_array_equal(apply(A, A), A * 4)
    np.testing.assert_array_equal(jax.grad(lambda b: outer(A, b).sum())(A), [2, 2, 2])


def test_a_tracer_of_one_call_does_not_get_into_the_next():
    box: list[Any] = [tensor([1, 1, 1])]
    f = jit(lambda x: x + box[0])

    def outer(a: Any) -> Any:
        box[0] = Tensor(a)
        result = f(Tensor(a)).value()
        box[0] = None
        return result

    for _ in range(2):
        np.testing.assert_array_equal(jax.jit(lambda a: outer(a))(A), A * 2)
    box[0] = tensor([1, 1, 1])
    np.testing.assert_array_equal(f(Tensor(A)).asnumpy(), A + 1)


def test_python_scalars_under_a_transformation():
    f = jit(lambda x, s, n: x * s + n)
    result = jax.jit(lambda a: f(Tensor(a), 0.5, 1).value())(A)
    assert result.dtype == jnp.float32
    np.testing.assert_allclose(result, A * 0.5 + 1)
    result = jax.jit(lambda a: f(Tensor(a), 0.5, True).value())(jnp.int8([1, 2]))
    assert result.dtype == jnp.float32
    np.testing.assert_allclose(jax.jit(lambda a, s: f(Tensor(a), Tensor(s), 1).value())(A, 0.5), A * 0.5 + 1)


def test_a_function_is_inlined_in_the_users_program():
    f = jit(lambda x: x * TABLE + WEIGHT)
    text = jax.jit(lambda a: f(Tensor(a)).value()).lower(A).as_text()
    assert text.count("stablehlo.multiply") == 1 and text.count("stablehlo.add") == 1
    assert "custom_call" not in text


def used_in_jax() -> weakref.ref[Any]:
    """Use a captured array under `jax.jit`; gives a reference to it."""
    array = jnp.arange(5000.0)
    held = Tensor(array)
    inner = jit(lambda x: x + held)
    jax.jit(lambda a: inner(Tensor(a)).value())(jnp.ones(5000))
    return weakref.ref(array)


def test_nothing_leaks_from_the_users_program():
    reference = used_in_jax()
    jax.clear_caches()
    gc.collect()
    assert reference() is None


# 64-bit mode


@pytest.fixture(params=[False, True], ids=["x64 off", "x64 on"])
def wide(request: pytest.FixtureRequest) -> Iterator[bool]:
    with jax.enable_x64(request.param):
        yield request.param
        assert jax.config.jax_enable_x64 is request.param


def test_top_level_results_do_not_depend_on_the_setting(wide: bool):
    f = jit(lambda x, y, s: (x * y + s, x.astype("float64") * s, y + 2**40 if y.dtype == "int64" else y))
    x, y = tensor([1, 2, 3]), tensor([1, 2, 3], "int64")
    mixed, double, big = f(x, y, 0.1)
    assert [result.dtype.name for result in (mixed, double, big)] == ["float32", "float64", "int64"]
    np.testing.assert_array_equal(double.asnumpy(), np.array([1.0, 2.0, 3.0]) * 0.1)
    np.testing.assert_array_equal(big.asnumpy(), np.array([1, 2, 3]) + 2**40)
    assert (x + tensor([0.1], "float64")).dtype == tracejit.float64
    assert Tensor([2**40]).tolist() == [2**40] and Tensor(np.float64(0.1)).item() == 0.1
    assert f.trace(x, y, 0.1).lower().compile()(x, y, 0.1)[1].tolist() == double.tolist()
    assert Parameter(np.float64([0.1])).tolist() == [0.1]


def test_wide_state_at_top_level(wide: bool):
    p = Parameter(np.int64([2**40]), name="p")
    q = Parameter(np.float64([0.1]), name="q")
    step = jit(lambda: (ops.assign_add(p, tensor([1], "int64")), ops.assign_add(q, q)))
    step(), step()
    ops.assign_add(p, 1)
    assert p.tolist() == [2**40 + 3] and q.tolist() == [0.4]


def test_64_bits_under_a_transformation(wide: bool):
    f = jit(lambda x: x * tensor([1, 2, 3], "float64"))
    p = Parameter(np.float64([1, 2, 3]))
    g = jit(lambda x: x * p)
    f(Tensor(A)), g(Tensor(A))
    for function in (f, g):
        outer = jax.jit(lambda a, function=function: function(Tensor(a)).value())
        if wide:
            assert outer(A).dtype == jnp.float64
            np.testing.assert_array_equal(outer(A), np.float64(A) * [1, 2, 3])
        else:
            for _ in range(2):
                with pytest.raises(X64Error, match="has the 64-bit type"):
                    outer(A)
        assert function(Tensor(A)).dtype == tracejit.float64


def test_32_bits_under_a_transformation(wide: bool):
    f = jit(lambda x, i, s: ops.gather(x * s, i, 0) + 1)
    text = jax.jit(lambda a, i: f(Tensor(a), Tensor(i), 0.5).value()).lower(A, jnp.int32([0, 1])).as_text()
    assert "f64" not in text and "tensor<i64>" not in text if not wide else True
    result = jax.jit(lambda a, i: f(Tensor(a), Tensor(i), 0.5).value())(A, jnp.int32([0, 1]))
    assert result.dtype == jnp.float32
    np.testing.assert_array_equal(result, A[:2] * 0.5 + 1)


def test_the_setting_may_change_between_calls():
    f = jit(lambda x, s: x * s + tensor([1, 1, 1], "float64"))
    p = Parameter(np.float32([0, 0, 0]))
    step = jit(lambda x: ops.assign_add(p, x))
    for setting in (False, True, False, True):
        with jax.enable_x64(setting):
            np.testing.assert_array_equal(f(tensor([1, 2, 3]), 2).asnumpy(), [3, 5, 7])
            step(tensor([1, 1, 1]))
            assert jax.config.jax_enable_x64 is setting
    assert p.tolist() == [4, 4, 4]
    assert f.cache_info().traces == 1


FROM_THE_START = """
import jax, numpy as np
jax.config.update("jax_enable_x64", {setting})
import tracejit
from tracejit import Tensor, jit, ops, Parameter
f = jit(lambda x, s: x * s)
p = Parameter(np.float64([1.5]))
results = [f(Tensor([1]), 2), f(Tensor(1.5), 2.5), Tensor([2**40]) + 1, ops.assign_add(p, 1)]
print([(str(r.dtype), r.tolist()) for r in results], jax.config.jax_enable_x64, jax.numpy.arange(2).dtype)
"""


def test_the_setting_from_the_start():
    outputs = []
    for setting in (False, True):
        code = FROM_THE_START.format(setting=setting)
        environment = {**os.environ, "JAX_CHECK_TRACER_LEAKS": "0"}  # which makes everything slow
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        values, flag, dtype = done.stdout.strip().rsplit(" ", 2)
        assert (flag, dtype) == (str(setting), "int64" if setting else "int32")
        outputs.append(values)
    assert outputs[0] == outputs[1]


FIRST_USE = """
import json, jax, jax.numpy as jnp, numpy as np
from tracejit import Tensor, jit, ops
def f(a):
    table = Tensor(np.float32([1, 2, 3]))
    return jit(lambda x: ops.tanh(x) * table + 1)(Tensor(a)).value()
transforms = [lambda a: jax.{transform}(f)(a), f]
print(json.dumps([np.asarray(apply(jnp.ones((2, 3)))).tolist() for apply in transforms]))
"""


@pytest.mark.parametrize("transform", ["jit", "vmap", "checkpoint"])
def test_the_first_use_in_a_process_may_be_inside_a_transformation(transform: str):
    """What is loaded then is loaded in the middle of JAX's trace."""
    code = FIRST_USE.format(transform=transform)
    environment = {**os.environ, "JAX_CHECK_TRACER_LEAKS": "0"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    inside, outside = json.loads(done.stdout)
    np.testing.assert_allclose(inside, outside, rtol=1e-6)


# Trees


def test_tensors_are_nodes_of_jax_trees():
    tree = {"a": tensor([1, 2]), "b": [tensor(3), 4]}
    leaves = jax.tree.leaves(tree)
    assert [type(leaf).__name__ for leaf in leaves] == ["ArrayImpl", "ArrayImpl", "int"]
    doubled = jax.tree.map(lambda x: x * 2, tree)
    assert type(doubled["a"]) is Tensor and doubled["a"].tolist() == [2, 4]
    assert doubled["b"][0].tolist() == 6 and doubled["b"][1] == 8
    assert jax.tree.structure(tree) == jax.tree.structure(doubled)
    again = jax.tree.unflatten(jax.tree.structure(tree), leaves)
    assert again["a"].tolist() == [1, 2]


def test_parameters_are_nodes_without_leaves():
    p = Parameter([1.0], name="p")
    assert jax.tree.leaves({"p": p, "x": tensor(1)}) == jax.tree.leaves(tensor(1))
    assert jax.tree.map(lambda x: x, [p])[0] is p
    assert jax.tree.structure([p]) == jax.tree.structure([p])
    assert jax.tree.structure([p]) != jax.tree.structure([Parameter([1.0], name="p")])


def test_tree_map_while_tracing_sees_tensors_as_leaves_only_where_asked():
    def step(tree: Any) -> Any:
        return jax.tree.map(lambda x: x * 2, tree, is_leaf=lambda x: isinstance(x, Tensor))

    result = jit(step)({"a": tensor([1, 2]), "b": (tensor(3),)})
    assert result["a"].tolist() == [2, 4] and result["b"][0].tolist() == 6

    def step_without_leaves(tree: Any) -> Any:
        return jax.tree.map(lambda x: x * 2, tree)

    with pytest.raises(
        TypeError, match="given a tracejit Tensor needs a value, but step_without_leaves is being traced"
    ):
        jit(step_without_leaves)({"a": tensor(1)})


# Operators between the libraries

SYMBOLS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq, operator.pow]


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [np.float32, jnp.float32, lambda x: np.array(x, "float32")], ids=["np", "jnp", "list"])
def test_arrays_on_either_side(symbol: Callable[[Any, Any], Any], make: Callable[[Any], Any]):
    other, x = make([1, 2, 4]), tensor([1, 3, 2])
    expected = (symbol(np.float32([1, 2, 4]), x.asnumpy()), symbol(x.asnumpy(), np.float32([1, 2, 4])))
    for function in (lambda a, b: (symbol(a, b), symbol(b, a)), jit(lambda a, b: (symbol(a, b), symbol(b, a)))):
        for actual, value in zip(function(other, x), expected, strict=True):
            assert type(actual) is Tensor
            np.testing.assert_array_equal(actual.asnumpy(), value)


def test_mindspores_rules_hold_with_arrays_on_the_left():
    for left in (np.int32([1, 2]), jnp.int32([1, 2])):
        result = left + tensor([0.5, 0.5], "float16")
        assert type(result) is Tensor and result.dtype == tracejit.float16
    assert (np.float64(2) * tensor([1, 2], "float16")).dtype == tracejit.float16


def test_numpy_functions_on_tensors():
    x = tensor([[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(x), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.stack([x, x])[0], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(x, "int64"), [[1, 2], [3, 4]])
    assert np.array(x, copy=True).flags.writeable
    assert not np.asarray(x).flags.writeable
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(Tensor([1], "bfloat16")).dtype == jnp.bfloat16


def test_jax_functions_take_the_value():
    x = tensor([1, 2, 3])
    np.testing.assert_array_equal(jnp.asarray(x.value()), [1, 2, 3])
    np.testing.assert_array_equal(jnp.sum(x.value()), 6)
    for function in (jnp.stack, jnp.add):
        with pytest.raises(TypeError, match="Tensor"):
            function([x, x]) if function is jnp.stack else function(x, x)
    with pytest.raises(TypeError, match="a JAX function that is given a tracejit Tensor"):
        jit(lambda x: jnp.sum(x))(x)


# DLPack


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint16", "bool", "complex64"])
@pytest.mark.parametrize("size", [0, 3, 8192])
def test_dlpack_with_numpy(dtype: str, size: int):
    values = np.arange(size).astype(dtype)
    x = Tensor(values)
    np.testing.assert_array_equal(np.from_dlpack(x), values)
    assert x.__dlpack_device__()[0] == 1
    p = Parameter(values)
    view = np.from_dlpack(p)
    if dtype != "bool":
        ops.assign(p, Tensor(np.ones(size, dtype)))
    np.testing.assert_array_equal(view, values)


def test_dlpack_from_jax_shares_the_array():
    x = tensor([1, 2, 3])
    np.testing.assert_array_equal(jnp.from_dlpack(x), [1, 2, 3])
    array = jnp.float32([1, 2])
    assert Tensor(array).value() is array


class Exporter:
    """An array of another library."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values


def test_arrays_of_other_libraries_are_copied():
    values = np.arange(8192, dtype=np.float32)
    x, p = Tensor(Exporter(values)), Parameter(Exporter(values))
    values[:] = -1
    np.testing.assert_array_equal(x.asnumpy(), np.arange(8192))
    np.testing.assert_array_equal(p.asnumpy(), np.arange(8192))
