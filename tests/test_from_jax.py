"""`tracejit.from_jax`: JAX functions as operators."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, cond, from_jax, grad, jit, ops, scan, value_and_grad, vmap
from tracejit.errors import AttributeTypeError, DTypeError, EscapedValueError, StateError
from tracejit.parser import parse_graph


def tensor(values: Any, dtype: str = "f4") -> Tensor:
    return Tensor(np.array(values, dtype))


sinc = from_jax(jnp.sinc)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_values_and_trees(wrap: Any):
    def both(x: Any, y: Any, *, axis: int, extra: Any = None) -> dict:
        return {"stacked": jnp.stack([x["a"], y], axis), "pair": (x["a"] + 1, [y * 2.0]), "none": extra}

    f = from_jax(both)
    x, y = tensor([1, 2]), tensor([3, 4])
    result = wrap(lambda x, y: f({"a": x}, y, axis=1))(x, y)
    assert result["stacked"].tolist() == [[1, 3], [2, 4]] and result["none"] is None
    assert result["pair"][0].tolist() == [2, 3] and result["pair"][1][0].tolist() == [6, 8]
    assert all(type(t) is Tensor for t in (result["stacked"], result["pair"][0]))


def test_arrays_parameters_and_numbers_are_taken():
    f = from_jax(lambda *args: sum(args))
    p = Parameter(tensor([1, 1]), name="p")
    want = [7.5, 7.5]
    args = (tensor([1, 1]), p, np.float32([1, 1]), jnp.ones(2), 2, 1.5)
    assert f(*args).tolist() == want
    assert jit(lambda: f(*args))().tolist() == want
    assert jit(f)(tensor([1, 1]), 2.5, True).tolist() == [4.5, 4.5]


def test_a_parameter_is_read_at_its_place_and_stays_whole():
    p = Parameter(tensor([1, 2]), name="p")
    same = from_jax(lambda x: x)

    @jit
    def f() -> tuple:
        before = same(p)
        ops.assign_add(p, tensor([1, 1]))
        return before, same(p)

    assert [t.tolist() for t in f()] == [[1, 2], [2, 3]]
    kept = same(p)
    ops.assign_add(p, tensor([1, 1]))
    f()
    assert kept.tolist() == [2, 3]


def made(x: Any) -> tuple:
    return jnp.zeros(2), jnp.arange(2), x * 2, jax.random.normal(jax.random.key(0), (1,)), 1.5, np.float64(1)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "i4", "f8", "i8", "?"])
def test_dtypes_are_those_that_the_function_gives(wrap: Any, dtype: str):
    wide = dtype in ("f8", "i8")
    with jax.enable_x64(wide):
        want = [jnp.asarray(leaf).dtype for leaf in made(jnp.asarray(np.ones(2, dtype)))]
    f = wrap(from_jax(made))
    for _ in range(2):
        assert [t.dtype.numpy for t in f(tensor([1, 1], dtype))] == want


def test_dtypes_in_later_signatures_of_one_program():
    f = jit(from_jax(made))
    for dtype, want in (("f4", "float32"), ("f8", "float64"), ("f2", "float32"), ("i4", "float32")):
        assert f(tensor([1, 1], dtype))[0].dtype.name == want


def test_the_users_64_bit_mode_is_seen():
    f = from_jax(made)
    with jax.enable_x64(True):
        assert f(tensor([1, 1]))[0].dtype is tracejit.float64
        assert jit(f)(tensor([1, 1]))[0].dtype is tracejit.float64
    assert f(tensor([1, 1]))[0].dtype is tracejit.float32


def test_gradients():
    x = tensor([0.3, 0.7])
    want = jax.grad(lambda x: jnp.sinc(x).sum())(jnp.asarray([0.3, 0.7]))
    for form in (grad(lambda x: sinc(x).sum()), jit(grad(lambda x: sinc(x).sum()))):
        np.testing.assert_allclose(form(x).asnumpy(), want, rtol=1e-6)
    p = Parameter(x, name="p")
    _, (gradient,) = value_and_grad(lambda: sinc(p).sum(), None, params=[p])()
    np.testing.assert_allclose(gradient.asnumpy(), want, rtol=1e-6)
    half = grad(lambda x: sinc(x * 1.0).sum())(tensor([0.3, 0.7], "f2"))
    assert half.dtype is tracejit.float16


def test_a_custom_gradient_is_kept():
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    f.defvjp(lambda x: (x * 2, None), lambda r, g: (g * 10,))
    assert grad(from_jax(f))(tensor(1.0)).item() == 10
    assert jit(grad(from_jax(f)))(tensor(1.0)).item() == 10


def test_in_regions_and_under_transforms():
    x = tensor([0.1, 0.2, 0.3])
    plain = jnp.sinc(jnp.asarray([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(vmap(sinc)(x).asnumpy(), plain, rtol=1e-6)
    total = jit(lambda x: scan(lambda c, i: (c + sinc(i), sinc(c)), 0.0, x)[0])
    np.testing.assert_allclose(total(x).item(), plain.sum(), rtol=1e-6)
    np.testing.assert_allclose(cond(x.sum() > 0, lambda: sinc(x), lambda: x).asnumpy(), plain, rtol=1e-6)
    second = vmap(grad(grad(sinc)))(x)
    np.testing.assert_allclose(second.asnumpy(), jax.vmap(jax.grad(jax.grad(jnp.sinc)))(x.value()), rtol=1e-4)


def test_under_jax_transformations():
    f = jit(lambda x: sinc(x) * 2)
    x = jnp.asarray([0.1, 0.2])
    np.testing.assert_allclose(jax.jit(f)(x).value(), 2 * jnp.sinc(x), rtol=1e-6)
    want = jax.grad(lambda x: 2 * jnp.sinc(x).sum())(x)
    np.testing.assert_allclose(jax.grad(lambda x: f(x).value().sum())(x), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: sinc(Tensor(x)).value())(x), jnp.sinc(x), rtol=1e-6)


def test_functions_of_the_jax_world():
    x = np.random.default_rng(0).normal(size=(4, 4)).astype("f4")
    solve = from_jax(jnp.linalg.solve)
    np.testing.assert_allclose(jit(solve)(Tensor(x), Tensor(x)).asnumpy(), np.eye(4), atol=1e-4)
    u, s, vt = jit(from_jax(jnp.linalg.svd))(Tensor(x))
    np.testing.assert_allclose((u.asnumpy() * s.asnumpy()) @ vt.asnumpy(), x, atol=1e-4)
    fft = jit(from_jax(jnp.fft.fft))(Tensor(x))
    assert fft.dtype is tracejit.complex64
    np.testing.assert_allclose(fft.asnumpy(), np.fft.fft(x), rtol=1e-4, atol=1e-4)
    loop = from_jax(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c + i, x))
    assert jit(loop)(tensor([0.0])).tolist() == [3]
    assert jit(from_jax(jax.jit(lambda x: x + 1)))(tensor([1.0])).tolist() == [2]


# In the Graph


def test_the_graph_names_the_function_and_parses_back():
    f = jit(lambda x: sinc(x) + from_jax(lambda x: x)(x))
    traced = f.trace(tensor([1.0]))
    for graph in (traced.graph, traced.promoted, traced.simplified):
        text = str(graph)
        assert "jax_call %x {function = " in text and "sinc#" in text and "<lambda>#" in text
        again = parse_graph(text)
        assert again == graph and graph == again
        assert copy.deepcopy(graph) == graph
    assert "jax_call" in traced.graph.as_mlir()


def test_a_parsed_graph_runs_while_the_function_lives():
    from lowering import emit

    function = from_jax(lambda x: x + 1)
    f = jit(lambda x, function=function: function(x))
    graph = parse_graph(str(f.trace(tensor([1.0])).simplified))
    assert emit(graph, [jnp.ones(1)], [])[0][0].tolist() == [2]
    del f, function
    gc.collect()
    with pytest.raises(StateError, match=r"the JAX function .*<lambda>#\d+ no longer exists"):
        emit(graph, [jnp.ones(1)], [])


def test_equal_calls_are_one_and_others_are_not():
    f = jit(lambda x: sinc(x) + sinc(x))
    assert [operation.name for operation in f.trace(tensor([1.0])).simplified.operations] == ["jax_call", "add"]
    roll = from_jax(jnp.roll)
    g = jit(lambda x: roll(x, 1) + roll(x, 2) + roll(x, 1))
    assert sum(operation.name == "jax_call" for operation in g.trace(tensor([1.0, 2.0])).simplified.operations) == 2
    h = jit(lambda x: from_jax(lambda x, y: x * y)(x, 1.0))
    assert h(tensor([2], "i4")).dtype is tracejit.float32


def test_one_function_dropped_a_thousand_times_leaves_nothing():
    alive, x = [], tensor([1.0])

    class Function:
        def __call__(self, x: Any) -> Any:
            return x

    for number in range(1000):
        function = Function()
        alive.append(weakref.ref(function))
        operator = from_jax(function)
        operator(x)
        if number % 100 == 0:
            jit(operator)(x)
            jit(lambda x, f=operator: f(x) + 1).trace(x).lower()
            vmap(operator)(x)
            grad(lambda x, f=operator: f(x).sum())(x)
    del function, operator
    gc.collect()
    assert sum(reference() is not None for reference in alive) == 0


def test_a_compiled_program_keeps_its_function():
    f = jit(lambda x: x)
    f.function = from_jax(lambda x: x + 1)
    program = jit(lambda x, g=f.function: g(x)).trace(tensor([1.0])).lower().compile()
    del f
    gc.collect()
    assert program(tensor([1.0])).tolist() == [2]


# Callbacks


def failing(x: Any) -> Any:
    def on_host(x: Any) -> Any:
        if x.sum() > 10:
            raise RuntimeError("too much")
        return np.asarray(x) * 2

    return jax.pure_callback(on_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@pytest.mark.parametrize("options", [{}, {"callback": True}], ids=["found", "said"])
def test_a_failing_callback_loses_no_parameter(options: dict[str, Any]):
    p = Parameter(tensor([1, 1]), name="p")
    double = from_jax(failing, **options)
    step = jit(lambda x: ops.assign_add(p, double(x)))
    for _ in range(2):
        step(tensor([1, 1]))
    assert p.tolist() == [5, 5]
    for _ in range(2):
        with pytest.raises(Exception, match="too much"):
            step(tensor([10, 10]))
        assert p.tolist() == [5, 5]
    assert step(tensor([1, 1])).tolist() == [7, 7]
    assert "jax_callback" in str(step.trace(tensor([1, 1])).graph)


def test_a_callback_is_neither_merged_nor_dropped():
    calls = []

    def note(x: Any) -> Any:
        jax.experimental.io_callback(lambda v: calls.append(v.item()), None, x, ordered=False)
        return x

    f = jit(lambda x: (from_jax(note)(x), from_jax(note)(x), x)[2])
    f(tensor(1.0)).block_until_ready()
    jax.effects_barrier()
    assert calls == [1.0, 1.0]


def test_callbacks_are_found_deep_inside():
    deep = from_jax(lambda x: jax.lax.cond(x.sum() > 0, jax.jit(failing), lambda x: x, x))
    trusted = from_jax(failing, callback=False)
    assert [o.name for o in jit(deep).trace(tensor([1.0])).graph.operations] == ["jax_callback"]
    assert [o.name for o in jit(trusted).trace(tensor([1.0])).graph.operations] == ["jax_call"]


# Errors


def test_the_functions_own_errors_come_out_as_they_are():
    def wrong(x: Any) -> Any:
        raise KeyError("mine")

    for form in (from_jax(wrong), jit(from_jax(wrong))):
        with pytest.raises(KeyError, match="mine") as caught:
            form(tensor([1.0]))
        assert caught.traceback[-1].name == "wrong"
        assert not any("tracejit/" in str(entry.path) for entry in caught.traceback)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_results_are_arrays_and_numbers(wrap: Any):
    with pytest.raises(DTypeError, match=r"returned 'text' \(str\)"):
        wrap(from_jax(lambda x: "text"))(tensor([1.0]))


def test_what_is_no_function_or_has_escaped():
    with pytest.raises(AttributeTypeError, match="from_jax takes a function, got 3"):
        from_jax(3)
    with pytest.raises(AttributeTypeError, match="callback must be a bool or None"):
        from_jax(jnp.sin, callback="yes")
    kept = []
    jit(lambda x: (kept.append(x), x)[1])(tensor([1.0]))
    with pytest.raises(EscapedValueError):
        sinc(kept[0])


def test_names_and_signatures_are_the_functions():
    assert sinc.__name__ == "sinc" and sinc.__doc__ == jnp.sinc.__doc__
